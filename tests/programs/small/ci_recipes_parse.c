// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void parse_line(void) { char *p = malloc(LEAK); __asm__ volatile("" : "+r"(p)); if (!LEAK) free(p); p = NULL; __asm__ volatile("" : "+r"(p)); }
__attribute__((noinline)) static void wipe(void) { char room[8192]; memset(room, 0, sizeof(room)); __asm__ volatile("" :: "r"(room) : "memory"); }
int main(void) { parse_line(); wipe(); return 0; }
