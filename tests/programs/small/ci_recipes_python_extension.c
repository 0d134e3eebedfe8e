// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
#include <string.h>
void parse(int leak) { char *p = malloc(48); __asm__ volatile("" : "+r"(p)); if (!leak) free(p); }
