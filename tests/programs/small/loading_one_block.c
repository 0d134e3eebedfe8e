// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
int main(void) { char *volatile p = malloc(10); *p = 1; return 0; }
