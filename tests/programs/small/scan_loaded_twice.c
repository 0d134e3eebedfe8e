// SPDX-License-Identifier: BSD-2-Clause
// Loads a library twice, the second copy just before the first. The last word of each one's zeroed data holds a block.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES_MOST = 16 };

// Holes between mappings are filled, so what is mapped next lies below all others.
static void fill_holes(void) {
    for (size_t bytes = 4096 * PAGES_MOST; bytes; bytes -= 4096) {
        char *latest = NULL;
        for (int nr_below = 0; nr_below < 16;) {
            char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            nr_below = latest && at + bytes == latest ? nr_below + 1 : 0;
            latest = at;
        }
    }
}

static char *start_of(void *library) {
    return (char *)((struct link_map *)library)->l_addr;
}

static void hold(void *library) {
    void **held = dlsym(library, "library_held");
    held[4095] = malloc(1007);
}

int main(int argc, char **argv) {
    fill_holes();
    void *first = dlopen(argv[1], RTLD_NOW);
    void *second = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
    size_t gap = first && second ? (size_t)(start_of(first) - start_of(second)) : 0;
    if (!gap || gap > 4096 * PAGES_MOST)
        return 3;
    hold(first);
    hold(second);
    puts("ready");
    fflush(stdout);
    pause();
}
