// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
extern int run(void);
int main(void) { return run(); }
