// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <unistd.h>
int main(void) { return pause(); }
