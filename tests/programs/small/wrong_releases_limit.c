// SPDX-License-Identifier: BSD-2-Clause
// A double free under a limit of address space that leaves the heap map no room for another leaf. glibc ends the program.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

// Its blocks come from an arena far from the main one.
static void *work(void *unused) {
    void *volatile block = malloc(277);
    free(block);
    free(block);
    return unused;
}

int main(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1)
        return 2;
    fclose(file);
    struct rlimit limit = {pages * (unsigned long)sysconf(_SC_PAGESIZE) + (150ul << 20), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 3;
    pthread_t thread;
    return pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0 ? 4 : 5;
}
