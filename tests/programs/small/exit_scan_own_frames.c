// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
#include <unistd.h>
int main(void) { char *volatile p = malloc(3005); p = 0; _exit(0); }
