// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
struct First { virtual ~First() {} long a; };
struct Second { virtual ~Second() {} long b; };
struct Both : First, Second { char more[100]; };
struct Chain { Second *second; } *chain;
char *volatile middle;
static __attribute__((noinline)) void work() {
    chain = new Chain;
    chain->second = new Both;
    middle = (char *)malloc(300) + 16;
}
static __attribute__((noinline)) void scrub() { volatile char b[8192]; for (unsigned i = 0; i < sizeof b; i++) b[i] = 0; }
int main(int argc, char **) {
    work();
    scrub();
    if (argc > 1) abort();
    puts("ready");
    fflush(stdout);
    pause();
}
