// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Calls pvalloc where there is one, though libc may have none. Exits with 7.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    void *(*found)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "pvalloc");
    for (int i = 0; found && i < 20; i++) {
        char *block = found(100);
        if (!block || (size_t)block % 4096)
            return 1;
        memset(block, 1, 4096);
        free(block);
    }
    return 7;
}
