// SPDX-License-Identifier: BSD-2-Clause
//
// The order of the beginning and the end in C++, and exceptions that pass through C: "order", "through-c".
// With "thread", objects of threads whose destructors allocate when the thread is nearly gone.
#include "program.h"
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

APART static void in_constructor() {
    keep(malloc(51));
}

APART static void in_destructor() {
    free(keep(malloc(52)));
    keep(malloc(53));
}

struct Global {
    std::string text = std::string(100, 'x'); // freed by the destructor
    Global() {
        in_constructor();
    }
    ~Global() {
        in_destructor();
    }
};

__attribute__((init_priority(200))) static Global early;
static Global usual;

APART static void at_end() {
    keep(malloc(54));
}

static Global &late() {
    static Global one; // made in main, ended before the handlers that were registered before it
    return one;
}

struct OfThread {
    int *held = new int[14];
    APART ~OfThread() {
        delete[] held;
        keep(malloc(57));
    }
};
static thread_local OfThread of_thread;

APART static void in_thread() {
    keep(of_thread.held);
}

APART static void thrower() {
    throw std::runtime_error(std::string(200, 'y'));
}

static int compare(const void *left, const void *right) {
    if (*static_cast<const int *>(left) == 7 || *static_cast<const int *>(right) == 7)
        thrower();
    return *static_cast<const int *>(left) - *static_cast<const int *>(right);
}

// Out of qsort, which libc compiles so that exceptions may pass; its own block (it sorts large arrays in one)
// is lost then, with and without us.
APART static void through_c() {
    for (int i = 0; i < 50; i++) {
        int values[8] = {3, 9, 7, 1, 5, 2, 8, 4};
        try {
            qsort(values, 8, sizeof(values[0]), compare);
            abort();
        } catch (const std::runtime_error &error) {
            CHECK(error.what()[199] == 'y');
            keep(malloc(55));
        }
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    atexit(at_end);
    keep(late().text.data());
    if (std::string(argv[1]) == "through-c")
        through_c();
    if (std::string(argv[1]) == "thread")
        for (int i = 0; i < 10; i++)
            std::thread(in_thread).join();
    return 0;
}
