// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
    void *library = NULL;
    for (int i = 0; i < 3; i++) {
        library = !strcmp(argv[1], "plain")  ? dlopen(argv[2], RTLD_NOW)
                  : !strcmp(argv[1], "deep") ? dlopen(argv[2], RTLD_NOW | RTLD_DEEPBIND)
                  : !strcmp(argv[1], "deep_lazy") ? dlopen(argv[2], RTLD_LAZY | RTLD_DEEPBIND)
                  : !strcmp(argv[1], "base") ? dlmopen(LM_ID_BASE, argv[2], RTLD_NOW)
                                             : dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW);
        if (!library) {
            puts(dlerror());
            return 3;
        }
    }
    if (getenv("LOADER_WAITS")) /* code that no process had mapped before is known some milliseconds later */
        sleep(1);
    void *(*alloc)(size_t) = (void *(*)(size_t))dlsym(library, "library_alloc");
    void (*give_back)(void *) = (void (*)(void *))dlsym(library, "library_free");
    for (int i = 0; i < 100; i++) {
        void *p = alloc(77);
        if (i % 4)
            give_back(p);
    }
    puts("done");
    return 5;
}
