// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
int main(void) { malloc(6400); return 5; }
