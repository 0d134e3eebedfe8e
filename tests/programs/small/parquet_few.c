// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
int main(void) { free(malloc(3)); free(calloc(2, 5)); return 0; }
