// SPDX-License-Identifier: BSD-2-Clause
//
// A child of fork that limits its address space before its first allocation, by its own size, after its parent has
// allocated much: the parent's tables have grown since the fork.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR = 600000 };
static void *volatile kept[NR];

static rlim_t own_size(void) {
    char text[64] = "";
    int file = open("/proc/self/statm", O_RDONLY);
    if (file < 0 || read(file, text, sizeof(text) - 1) <= 0)
        _exit(1);
    close(file);
    return strtoul(text, NULL, 10) * 4096;
}

int main(void) {
    int grown[2], status = -1;
    char byte = 0;
    kept[0] = malloc(10);
    if (pipe(grown))
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        if (read(grown[0], &byte, 1) != 1)
            _exit(2);
        rlim_t most = own_size() + (120 << 20);
        struct rlimit limit = {most, most};
        if (setrlimit(RLIMIT_AS, &limit))
            _exit(3);
        for (int i = 0; i < 50; i++)
            kept[i] = malloc(100);
        _exit(4);
    }
    for (int i = 1; i < NR; i++)
        kept[i] = malloc(60);
    return write(grown[1], &byte, 1) != 1 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 4;
}
