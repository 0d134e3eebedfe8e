// SPDX-License-Identifier: BSD-2-Clause
//
// C++ exceptions thrown through frames that allocate, whose destructors free; a leak in a catch
// block; exceptions nested in others.
// EXPECT:
// {
//   "others": true,
//   "sites": [
//     {"in": "Holder", "via": "operator new[]", "allocations": 8000, "frees": 8000, "live_blocks": 0},
//     {"in": "catcher", "via": "malloc", "size": 19, "allocations": 400, "live_blocks": 400, "live_bytes": 7600},
//     {"in": "thrower", "reaching": true, "by_library": true, "live_blocks": 0},
//     {"in": "nested", "reaching": true, "by_library": true, "live_blocks": 0}
//   ]
// }
#include "program.h"
#include <stdexcept>
#include <string>
#include <thread>

struct Holder {
    char *space;
    APART explicit Holder(size_t size) : space(new char[size]) {
        keep(space);
    }
    APART ~Holder() {
        delete[] space;
    }
};

APART static void thrower(int n) {
    throw std::runtime_error("a message that is too long for the small string buffer " + std::to_string(n));
}

APART static int climb(int depth, int n) {
    Holder holder(size_t(depth) + 10);
    if (depth == 1)
        thrower(n);
    return climb(depth - 1, n) + int(hide(1));
}

APART static void catcher(int n) {
    try {
        climb(20, n);
    } catch (const std::runtime_error &error) {
        keep(malloc(19));
    }
}

APART static void nested() {
    try {
        try {
            thrower(1);
        } catch (...) {
            std::throw_with_nested(std::logic_error("outer"));
        }
    } catch (const std::exception &) {
    }
}

APART static void in_thread() {
    for (int i = 0; i < 100; i++)
        catcher(i);
}

int main() {
    for (int i = 0; i < 200; i++)
        catcher(i);
    nested();
    std::thread first(in_thread), second(in_thread);
    first.join();
    second.join();
    return 0;
}
