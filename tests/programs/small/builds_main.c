// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
int a(int), b(int), c(int);
int main(void) { return a(0) + b(0) + c(0); }
