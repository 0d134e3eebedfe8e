// SPDX-License-Identifier: BSD-2-Clause
// Again and again opens a library whose operator new fails, calls it and closes the library. Each time the addresses of
// the previous library are in use.
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>

int main(int argc, char **argv) {
    for (int i = 0; i < 3; i++) {
        void *operators = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
        void *user = operators ? dlopen(argv[2], RTLD_NOW) : NULL;
        void *(*use)(void) = user ? dlsym(user, "use") : NULL;
        if (!use)
            return puts(dlerror()), 1;
        printf("%s\n", use() ? "a block" : "none");
        fflush(stdout);
        dlclose(user);
        dlclose(operators);
        for (int k = 0; k < 64; k++)
            mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    puts("done");
}
