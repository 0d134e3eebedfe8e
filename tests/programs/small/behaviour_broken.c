// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
int main(void) { return x; }
