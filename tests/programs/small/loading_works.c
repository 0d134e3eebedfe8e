// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
int work(void);
int main(void) { return work(); }
