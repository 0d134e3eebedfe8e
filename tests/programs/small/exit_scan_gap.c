// SPDX-License-Identifier: BSD-2-Clause
// The only word that leads to a block is in the data of a library with a gap between its segments, as the loader
// has one on aarch64, and memory of libseep.so lies in the gap. -DLIBRARY: the library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef LIBRARY
static void *kept[4] = {&kept};

void keep(void) {
    kept[1] = malloc(3005);
}
#else
static uintptr_t start, end;

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    if (!strstr(info->dlpi_name, "/libgap"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD)
            continue;
        if (segment->p_flags & PF_W)
            end = (info->dlpi_addr + segment->p_vaddr) & -4096;
        else
            start = (info->dlpi_addr + segment->p_vaddr + segment->p_memsz + 4095) & -4096;
    }
    return 1;
}

static int is_mapped(uintptr_t address) {
    unsigned char in_memory;
    return mincore((void *)address, 4096, &in_memory) == 0;
}

// A deep stack needs more of the library's memory.
static int allocate_below(int frames) {
    volatile int here = frames;
    if (frames)
        return allocate_below(frames - 1) + here;
    free(malloc(10));
    return here;
}

int main(void) {
    void *library = dlopen("./libgap.so", RTLD_NOW);
    dl_iterate_phdr(look, NULL);
    if (!library || !start || end <= start)
        return 8;
    // The kernel takes the highest gap.
    for (uintptr_t at = UINTPTR_MAX; at > end;)
        at = (uintptr_t)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap((void *)start, end - start);
    allocate_below(30000);
    ((void (*)(void))dlsym(library, "keep"))();
    return is_mapped(end - 4096) ? 0 : 9;
}
#endif
