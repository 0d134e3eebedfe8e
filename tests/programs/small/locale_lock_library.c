// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <locale.h>
locale_t early_locale;
__attribute__((constructor)) static void start(void) { early_locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0); }
