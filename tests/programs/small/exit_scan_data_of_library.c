// SPDX-License-Identifier: BSD-2-Clause
// The only word that leads to a block is in the data of libseep.so: at an offset, or behind its last variable.
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uintptr_t start, behind_data;

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    if (!strstr(info->dlpi_name, "/libseep"))
        return 0;
    start = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_W)
            behind_data = start + segment->p_vaddr + segment->p_memsz;
    }
    return 1;
}

// In memory that is set to zero afterwards, and so are the words that it leaves on the stack.
__attribute__((noinline)) static void put_block(uintptr_t place) {
    *(void **)place = malloc(3005);
}

__attribute__((noinline)) static void wipe(void) {
    volatile char room[16384];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

int main(int argc, char **argv) {
    dl_iterate_phdr(look, NULL);
    uintptr_t place =
        argc > 1 ? start + strtoul(argv[1], NULL, 0) : (behind_data + 4095) / 4096 * 4096 - sizeof(void *);
    if (!behind_data || (argc == 1 && place < behind_data) || *(void **)place)
        return 9;
    put_block(place);
    wipe();
    _exit(0);
}
