// SPDX-License-Identifier: BSD-2-Clause
// Unmaps, protects, maps over or locks all memory that it shares with its children and has not made itself,
// between two children. With a second argument the second child does so, before its first allocation.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

static void allocate(void) {
    for (int i = 0; i < 300; i++)
        free(malloc(40));
}

static int nr;
static unsigned long start[MOST], end[MOST];

static void do_to_all(const char *what) {
    for (int i = 0; i < nr; i++) {
        void *at = (void *)start[i];
        size_t bytes = end[i] - start[i];
        if (strcmp(what, "unmap") == 0)
            munmap(at, bytes);
        else if (strcmp(what, "protect") == 0)
            mprotect(at, bytes, PROT_NONE);
        else if (strcmp(what, "over") == 0)
            mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    if (strcmp(what, "lock") == 0)
        mlockall(MCL_CURRENT);
}

static int child(const char *what) {
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        do_to_all(what);
        allocate();
        exit(3);
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
    static char line[8192];
    int good = child("");
    FILE *maps = fopen("/proc/self/maps", "r");
    while (nr < MOST && fgets(line, sizeof(line), maps))
        if (strstr(line, "/dev/zero"))
            nr += sscanf(line, "%lx-%lx", &start[nr], &end[nr]) == 2;
    fclose(maps);
    if (argc == 2)
        do_to_all(argv[1]);
    allocate();
    good += child(argc > 2 ? argv[1] : "");
    printf("%d %lu\n", good, locked_kib());
    return 0;
}
