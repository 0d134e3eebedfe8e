// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <string.h>
#define OUT __attribute__((noinline)) static
static char *inner;
static void *volatile sink;
OUT void *make(int n) { return malloc(n); }
OUT void first(void) { sink = make(100); }
OUT void second(void) { void **p = make(200); sink = p; p[0] = make(201); }
OUT void possibly(void) { inner = (char *)make(300) + 50; }
OUT void common(int n) { if (n == 1) sink = malloc(11); if (n == 2) sink = strdup("twelve bytes"); }
OUT void other(void) { common(2); sink = malloc(17); }
OUT void wipe(void) { char room[9000]; memset(room, 0, sizeof(room)); sink = room; sink = NULL; }
int main(void) { first(); second(); second(); possibly(); common(1); other(); wipe(); return inner == NULL; }
