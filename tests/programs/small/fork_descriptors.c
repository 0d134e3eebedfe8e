// SPDX-License-Identifier: BSD-2-Clause
// A child that has its parent's table of descriptors allocates. Once its image is written to, the parent puts a file of its
// own in place of the image's descriptor. Prints whether it did so, and exits with 0 if the file is as it was, and if no
// handler could do the same in the child: SIGALRM is blocked, but not any more when the child goes on.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocked.h"

enum { TRIES = 50, BLOCKS = 100000, BYTES = 65536, DESCRIPTORS = 16 };

static int is_image(int fd) {
    char path[64], name[64];
    struct stat about;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ssize_t nr = readlink(path, name, sizeof(name) - 1);
    if (nr <= 0)
        return 0;
    name[nr] = 0;
    return strstr(name, "seep-image") && fstat(fd, &about) == 0 && about.st_blocks > 0;
}

int main(int argc, char **argv) {
    static char text[BYTES], now[BYTES + 1];
    void *volatile block;
    for (int i = 0; i < BLOCKS; i++)
        block = malloc(200);
    memset(text, 'u', sizeof(text));
    int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600), put = 0, status;
    if (write(file, text, sizeof(text)) != sizeof(text) || lseek(file, 11, SEEK_SET) != 11)
        return 1;
    for (int i = 0; i < TRIES && !put; i++) { // a child may be done before its parent has looked
        pid_t child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
        if (child == 0) {
            sigset_t blocked;
            block = malloc(10);
            sigprocmask(SIG_BLOCK, NULL, &blocked);
            syscall(SYS_exit_group, sigismember(&blocked, SIGALRM));
        }
        while (waitpid(child, &status, WNOHANG) == 0)
            for (int fd = file + 1; fd < DESCRIPTORS && !put; fd++)
                if (is_image(fd)) {
                    int blocks = blocks_signal(child, SIGALRM);
                    if (is_image(fd) && !blocks)
                        return 4;
                    put = dup2(file, fd);
                }
    }
    puts(put ? "put" : "no image");
    if (status || lseek(file, 0, SEEK_CUR) != 11 || (put && lseek(put, 0, SEEK_CUR) != 11))
        return 2;
    return pread(file, now, sizeof(now), 0) == BYTES && memcmp(now, text, BYTES) == 0 ? 0 : 3;
}
