// SPDX-License-Identifier: BSD-2-Clause
// For an allocator with an operator new of its own: says "ready"; for the first line on its input calls new once
// from each of six places, for each other line a hundred times, and says "done".
//
// 24 bytes, an array of 60, 128 bytes with an alignment of 64 and 3,000,000 are kept, 32 bytes are deleted, and with an argument
// one call fails, is caught, and the program goes on.
#include <cstdio>
#include <cstdlib>
#include <new>

#define APART __attribute__((noinline))

void *volatile kept;
volatile size_t too_much = size_t(1) << 62;
int failures;

APART void plain() {
    kept = ::operator new(24);
}

APART void array() {
    kept = ::operator new[](60);
}

APART void balanced() {
    void *block = ::operator new(32);
    kept = block;
    ::operator delete(block);
}

APART void aligned() {
    kept = ::operator new(128, std::align_val_t(64));
}

APART void large() {
    kept = ::operator new(3000000);
}

APART void failing() {
    try {
        kept = ::operator new(too_much);
    } catch (const std::bad_alloc &) {
        failures++;
    }
}

int main(int argc, char **) {
    setvbuf(stdout, nullptr, _IONBF, 0);
    setvbuf(stdin, nullptr, _IONBF, 0);
    puts("ready");
    int times = 1, all = 0;
    for (; getchar() != EOF; times = 100) {
        for (int i = 0; i < times; i++) {
            plain();
            array();
            if (argc > 1)
                failing();
            balanced();
            aligned();
            large();
        }
        all += times;
        puts("done");
    }
    return failures == (argc > 1 ? all : 0) ? 0 : 1;
}
