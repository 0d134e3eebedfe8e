// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
void *kept[3];
__attribute__((noinline)) void deep(int n) {
    if (n) {
        deep(n - 1);
        __asm__ volatile("");
    } else {
        kept[0] = malloc(77);
    }
}
int main(void) {
    void *library = dlopen("libz.so.1", RTLD_NOW);
    deep(3);
    if (library)
        dlclose(library); // modules are looked at anew
    deep(2);
    return library ? 0 : 1;
}
