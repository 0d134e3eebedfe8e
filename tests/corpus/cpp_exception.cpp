// SPDX-License-Identifier: BSD-2-Clause
// An exception in flight, and one that is kept: the object lies behind its header.
#include "corpus.h"
#include <atomic>
#include <exception>
#include <stdexcept>
#include <thread>

std::exception_ptr kept;
std::atomic<bool> is_caught;

struct Failure {
    long numbers[6] = {100003, 2, 3};
    struct node *reason = nullptr;
};

static void keep() {
    try {
        Failure failure;
        failure.reason = make(40); // EXPECT: reachable
        // VALGRIND: possible: it does not know the header
        throw failure; // EXPECT: reachable
        // VALGRIND: possible: as above
    } catch (...) {
        kept = std::current_exception();
    }
}

// Its thread has it caught: the C++ library keeps a pointer to the header.
static void catch_and_stay() {
    try {
        Failure failure;
        failure.reason = make(56); // EXPECT: reachable
        // VALGRIND: possible: it does not know the header
        throw failure; // EXPECT: reachable
        // VALGRIND: possible: as above
    } catch (const Failure &) {
        is_caught = true;
        for (;;)
            pause();
    }
}

static void caught() {
    std::thread thread(catch_and_stay); // EXPECT: 2 reachable
    // VALGRIND: 1 possible, 1 reachable: it does not know the thread's dtv
    thread.detach();
    while (!is_caught)
        usleep(100);
}

static void swallowed() {
    try {
        Failure failure;
        failure.reason = make(48); // EXPECT: lost
        throw failure;
    } catch (const Failure &) {
    }
}

int main() {
    play(keep);
    play(caught);
    play(swallowed);
    park();
}
