// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
void *volatile late_block;
__attribute__((constructor)) static void on_load(void) { late_block = malloc(11); free(late_block); }
void late(void) { for (int i = 0; i < 6; i++) late_block = malloc(60); }
