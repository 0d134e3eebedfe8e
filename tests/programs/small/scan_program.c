// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
char *held, *within;
__attribute__((noinline)) static void make(void) { held = malloc(1); within = (char *)malloc(100) + 50; }
__attribute__((noinline)) static void wipe(void) { volatile char room[9000]; for (int i = 0; i < 9000; i++) room[i] = 0; }
int main(void) { make(); wipe(); return 0; }
