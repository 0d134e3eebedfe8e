// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
#include "config.h"
int NAME(int n) { void *p = malloc(n); free(p); return n; }
