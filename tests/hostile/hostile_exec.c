// SPDX-License-Identifier: BSD-2-Clause
//
// `hostile-exec FILE PROGRAM`: maps the file, says "ready", and after a line of input executes the program with an
// environment that is in the file.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int fd = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
    void *environment = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    if (environment == MAP_FAILED)
        return 1;
    puts("ready");
    fflush(stdout);
    getchar();
    execve(argv[2], argv + 2, environment);
    return 1;
}
