// SPDX-License-Identifier: BSD-2-Clause
// Records alone, and has its own mind about descriptors: FILE says "mine" in the end.
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void busy(int nr) {
    for (int i = 0; i < nr; i++) {
        void *volatile block = malloc(50);
        free(block);
    }
}

static int own_files(const char *path) {
    int fd = 0;
    while (fd >= 0 && fd < 700)
        fd = open(path, O_RDWR | O_CREAT, 0600);
    return fd < 0 ? -1 : (int)write(fd, "mine", 4) - 4;
}

static int closes(const char *path) {
    busy(20000);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    if (own_files(path) != 0)
        return 2;
    busy(20000);
    pid_t child = fork();
    if (child == 0) {
        busy(20000);
        for (int fd = 3; fd <= 700; fd++)
            if (fcntl(fd, F_GETFD) < 0)
                _exit(3);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status ? 4 : 0;
}

static int borrows(const char *path) {
    pid_t child = vfork();
    if (child == 0) {
        busy(20000);
        _exit(0);
    }
    if (own_files(path) != 0)
        return 2;
    busy(20000);
    return 0;
}

static int lowers(void) {
    struct rlimit limit = {16384, 16384};
    busy(20000);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 2;
    busy(100000);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 1;
    return !strcmp(argv[1], "closes")    ? closes(argv[2])
           : !strcmp(argv[1], "borrows") ? borrows(argv[2])
                                         : lowers();
}
