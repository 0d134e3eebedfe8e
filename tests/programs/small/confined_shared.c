// SPDX-License-Identifier: BSD-2-Clause
// Unmaps, protects, maps over or locks all memory that it shares with its children and has not made itself,
// between two children.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void allocate(void) {
    for (int i = 0; i < 300; i++)
        free(malloc(40));
}

static int child(void) {
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        allocate();
        _exit(3);
    }
    waitpid(pid, &status, 0);
    return status == 3 << 8;
}

// What the kernel says is locked.
static unsigned long locked_kib(void) {
    char line[256];
    unsigned long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof(line), status))
        if (strncmp(line, "VmLck:", 6) == 0)
            kib = strtoul(line + 6, NULL, 10);
    fclose(status);
    return kib;
}

int main(int argc, char **argv) {
    enum { MOST = 64 };
    static char line[8192];
    static unsigned long start[MOST], end[MOST];
    int nr = 0, good = child();
    FILE *maps = fopen("/proc/self/maps", "r");
    while (nr < MOST && fgets(line, sizeof(line), maps))
        if (strstr(line, "/dev/zero"))
            nr += sscanf(line, "%lx-%lx", &start[nr], &end[nr]) == 2;
    fclose(maps);
    for (int i = 0; i < nr && argc > 1; i++) {
        void *at = (void *)start[i];
        size_t bytes = end[i] - start[i];
        if (strcmp(argv[1], "unmap") == 0)
            munmap(at, bytes);
        else if (strcmp(argv[1], "protect") == 0)
            mprotect(at, bytes, PROT_NONE);
        else if (strcmp(argv[1], "over") == 0)
            mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    if (argc > 1 && strcmp(argv[1], "lock") == 0)
        mlockall(MCL_CURRENT);
    allocate();
    good += child();
    printf("%d %lu\n", good, locked_kib());
    return 0;
}
