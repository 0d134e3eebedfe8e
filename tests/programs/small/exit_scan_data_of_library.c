// SPDX-License-Identifier: BSD-2-Clause
// The only word that leads to a block is in the data of libseep.so: at an offset, behind the last variable that is not
// zero at first ("data"), or behind its last variable. A second argument: it dies, and leaves a core file.
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uintptr_t start, behind_data, behind_file;

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    if (!strstr(info->dlpi_name, "/libseep"))
        return 0;
    start = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_W)
            behind_data = start + segment->p_vaddr + segment->p_memsz,
            behind_file = start + segment->p_vaddr + segment->p_filesz;
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
    uintptr_t behind = argc == 1 ? behind_data : behind_file;
    uintptr_t place = (behind + 4095) / 4096 * 4096 - sizeof(void *);
    if (argc > 1 && strcmp(argv[1], "data") != 0)
        place = start + strtoul(argv[1], NULL, 0);
    else if (!behind || place < behind)
        return 9;
    if (*(void **)place)
        return 9;
    put_block(place);
    wipe();
    if (argc > 2)
        abort();
    _exit(0);
}
