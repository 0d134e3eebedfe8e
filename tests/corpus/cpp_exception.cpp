// SPDX-License-Identifier: BSD-2-Clause
// An exception in flight, and one that is kept: the object lies behind its header.
#include "corpus.h"
#include <exception>
#include <stdexcept>

std::exception_ptr kept;

struct Failure {
    long numbers[6] = {100003, 2, 3};
    struct node *reason = nullptr;
};

static void keep() {
    try {
        Failure failure;
        failure.reason = make(40); // EXPECT: possible
        throw failure;             // EXPECT: possible
    } catch (...) {
        kept = std::current_exception();
    }
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
    play(swallowed);
    park();
}
