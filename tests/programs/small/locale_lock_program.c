// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
extern locale_t early_locale;
int main(void) {
    const char *error = dlerror(); /* nothing of ours may be left in it */
    for (int i = 0; i < 3; i++)
        setlocale(i % 2 ? LC_ALL : LC_NUMERIC, "C");
    printf("%s %s\n", error ? error : "none", early_locale ? "made" : "missing");
    return 0;
}
