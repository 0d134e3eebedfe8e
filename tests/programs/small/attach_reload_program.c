// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
static void *where;
__attribute__((noinline)) static void allocate(void) { for (int i = 0; i < 100; i++) kept = malloc(40); }
__attribute__((noinline)) static void one(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    void (*through)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, "through");
    if (where && where != (void *)through)
        puts("elsewhere");
    where = (void *)through;
    getchar(); // the tool looks
    through(allocate);
    kept = NULL;
    dlclose(library);
}
int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    for (int i = 0; i < 6; i++) {
        one(argv[1 + i % 2]);
        puts("done");
    }
    getchar();
    return 0;
}
