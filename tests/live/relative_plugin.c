// SPDX-License-Identifier: BSD-2-Clause
// A library that is opened by a relative name, and one block that it holds; with -DPROGRAM who opens it, goes to
// another folder and calls it.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef PROGRAM
int main(int argc, char **argv) {
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*hold)(void) = library ? (void (*)(void))dlsym(library, "relative_hold") : NULL;
    if (!hold || chdir(argv[2]))
        return 1;
    hold();
    return 0;
}
#else
static void *volatile held;

void relative_hold(void) {
    held = malloc(123);
}
#endif
