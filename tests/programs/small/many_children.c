// SPDX-License-Identifier: BSD-2-Clause
// many_children N FILE: each of N children has a block of 1000 bytes and says so in FILE; all wait for the end of standard input.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

int main(int argc, char **argv) {
    int nr = argc > 2 ? atoi(argv[1]) : 0;
    int ends[2], file = argc > 2 ? open(argv[2], O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    char byte;
    if (file < 0 || pipe(ends))
        return 1;
    kept = malloc(500);
    for (int i = 0; i < nr; i++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            close(ends[1]);
            kept = malloc(1000);
            if (write(file, "x", 1) != 1)
                _exit(1);
            _exit(read(ends[0], &byte, 1) != 0);
        }
    }
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    close(ends[1]);
    while (wait(NULL) > 0) {
    }
    return 0;
}
