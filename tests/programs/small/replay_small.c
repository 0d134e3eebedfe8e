// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
int main(void) { free(malloc(10)); return 0; }
