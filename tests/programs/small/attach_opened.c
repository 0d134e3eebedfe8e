// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *kept[64];
static int nr_kept;
__attribute__((noinline)) void allocate(void) { kept[nr_kept++] = malloc(100); }
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW);
        if (!library) {
            puts(dlerror());
            return 3;
        }
        void (*through)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, "through");
        through(allocate);
    }
    usleep(400000); // the tool reads what is mapped
    return kept[argc - 2] == NULL;
}
