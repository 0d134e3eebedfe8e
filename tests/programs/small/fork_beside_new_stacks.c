// SPDX-License-Identifier: BSD-2-Clause
//
// A parent that allocates from stacks that are new while its children copy its image; each child then has 200 stacks of its own.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile last;
static void left(unsigned way, int depth);
__attribute__((noinline)) static void right(unsigned way, int depth) {
    if (depth == 0)
        free(last = malloc(10));
    else if (way & 1)
        left(way >> 1, depth - 1);
    else
        right(way >> 1, depth - 1);
    __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void left(unsigned way, int depth) {
    if (depth == 0)
        free(last = malloc(10));
    else if (way & 1)
        left(way >> 1, depth - 1);
    else
        right(way >> 1, depth - 1);
    __asm__ volatile("" ::: "memory");
}
int main(void) {
    unsigned way = 0;
    for (int i = 0; i < 8; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int j = 0; j < 200; j++)
                right(j * 977u, 13);
            return 0;
        }
        while (waitpid(child, NULL, WNOHANG) == 0)
            if (way < 1u << 17)
                right(way++, 17); // a stack that is new
    }
    return 0;
}
