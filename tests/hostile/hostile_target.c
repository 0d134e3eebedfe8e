// SPDX-License-Identifier: BSD-2-Clause
//
// What is looked at: maps the files that it is given as code, says "ready", allocates for as long as it lives,
// and leaves when its input ends.
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *kept[64];

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
            perror(argv[i]);
            return 1;
        }
        close(fd);
    }
    puts("ready");
    fflush(stdout);
    struct pollfd input = {.fd = 0, .events = POLLIN};
    for (unsigned i = 0; poll(&input, 1, 10) == 0; i++) {
        free(kept[i % 64]);
        kept[i % 64] = malloc(100 + i % 64);
    }
    return 0;
}
