// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
void *library_alloc(size_t size) { void *p = malloc(size); __asm__ volatile("" : "+r"(p)); return p; }
void library_free(void *p) { free(p); }
