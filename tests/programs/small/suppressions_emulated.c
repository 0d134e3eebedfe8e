// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
static __thread int numbers[50];
__thread int other = 3;
int main(void) { numbers[other] = 1; other = 7; return numbers[2]; }
