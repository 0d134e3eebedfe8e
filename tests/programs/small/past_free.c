// SPDX-License-Identifier: BSD-2-Clause
// A block that libc's own free frees, which is found by name in libc.
#include <dlfcn.h>
#include <stdlib.h>

int main(void) {
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    void (*own)(void *) = libc ? (void (*)(void *))dlsym(libc, NAME) : NULL;
    void *block = malloc(1000);
    if (!own)
        return 3;
    own(block);
    return 0;
}
