// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
#include <unistd.h>
void *volatile keep;
static void other(void) { keep = malloc(2000); }
int main(void) { for (int i = 0; i < 60; i++, usleep(20000)) { keep = malloc(1000); keep = malloc(3000); free(malloc(i));
    other(); } }
