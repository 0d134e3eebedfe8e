// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
static void *volatile keep[8];
static int nr;
// MOVED
__attribute__((noinline)) static void make(size_t size) { keep[nr++] = malloc(size); }
__attribute__((noinline)) static void both(void) {/* FIRST */ make(100);/* BETWEEN */ make(101); }
int main(void) { both(); return 0; }
