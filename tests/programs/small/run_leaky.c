// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
int main(void) { return !malloc(1000); }
