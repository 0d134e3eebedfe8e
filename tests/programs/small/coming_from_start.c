// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <mcheck.h>
__attribute__((constructor)) static void start(void) { mtrace(); }
