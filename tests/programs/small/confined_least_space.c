// SPDX-License-Identifier: BSD-2-Clause
// Limits its address space to about 20 MiB more than it has without seep, and takes 16. A thread allocates
// then.
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { MIB = 1 << 20 };

static void *allocates(void *data) {
    for (int i = 0; i < 1000; i++)
        free(malloc(30));
    return data;
}

int main(void) {
    char *volatile blocks[100];
    for (int i = 0; i < 100; i++)
        blocks[i] = malloc(50);
    struct rlimit limit = {24 * MIB, 24 * MIB};
    if (setrlimit(RLIMIT_AS, &limit))
        return 1;
    int nr = 0;
    for (; nr < 16; nr++)
        if (mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            break;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, MIB / 8);
    mallopt(M_ARENA_MAX, 1);
    if (pthread_create(&thread, &attributes, allocates, NULL) == 0)
        pthread_join(thread, NULL);
    else
        nr = -1;
    printf("%d MiB\n", nr);
    return blocks[0] == NULL;
}
