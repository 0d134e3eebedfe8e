// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <stdlib.h>
        static void *volatile kept;
        __attribute__((noinline)) static void make(size_t size) { kept = malloc(size); }
        __attribute__((noinline)) static void two(void) { for (int i = 0; i < 20000; i++) make(i % 2 ? 10 : 1000); }
        __attribute__((noinline)) static void one(void) { for (int i = 0; i < 20000; i++) make(300); }
        int main(void) { two(); one(); return 0; }