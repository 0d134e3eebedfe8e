// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

/*
#include <stdlib.h>
#include <string.h>
static void *c_alloc(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
static void c_free(void *p) { free(p); }
*/
import "C"
