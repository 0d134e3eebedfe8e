// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
void *kept;
int main(int argc, char **argv) {
    int fd = open(argv[1], O_RDONLY);
    void *first = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE, fd, 0);
    void *again = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE, fd, 0);
    kept = malloc(10);
    return argc != 2 || first == MAP_FAILED || again == MAP_FAILED;
}
