// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <string.h>
#define OUT __attribute__((noinline)) static void
#define USE(p) __asm__ volatile("" : "+r"(p))
OUT keep_name(int i) { char name[32]; memset(name, 'a' + i, 31); name[31] = 0; char *p = strdup(name); USE(p); }
OUT keep_table(void) { void *p = calloc(7, 100); USE(p); }
__attribute__((always_inline)) static inline void *keep_inlined(void) { return malloc(50); }
OUT around(void) { void *p = keep_inlined(); USE(p); }
/* Overwrites what the calls left on the stack. */
OUT wipe(void) { char room[4096]; memset(room, 0, sizeof(room)); __asm__ volatile("" :: "r"(room) : "memory"); }
OUT work(void) { for (int i = 0; i < 3; i++) keep_name(i); keep_table(); around(); }
int main(void) { work(); wipe(); return 0; }
