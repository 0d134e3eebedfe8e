// SPDX-License-Identifier: BSD-2-Clause
// Asks tcmalloc, and allocates by malloc alone. It has mapped a file as often as its second argument says.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

size_t tc_malloc_size(void *block);

int main(int argc, char **argv) {
    struct stat status;
    int fd = argc > 2 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &status) != 0)
        return 1;
    for (int i = 0; i < atoi(argv[2]); i++)
        if (mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
            return 1;
    return tc_malloc_size(malloc(100)) < 100;
}
