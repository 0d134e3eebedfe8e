// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdio.h>
__attribute__((noipa)) void f(void) {
unsigned long *r = __builtin_frame_address(0); printf("%lx\n", r[1] >> 48); }
int main(void) { f(); return 0; }
