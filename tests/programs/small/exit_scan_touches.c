// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
void touch(void);
int main(void) { touch(); return 0; }
