// SPDX-License-Identifier: BSD-2-Clause
// A child of vfork calls exit(), and a handler of that ends it. Later the parent calls it, further down the stack.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t parent;

static void end_child(void) {
    if (getpid() != parent)
        _exit(0);
}

__attribute__((noinline)) static void leave(void) {
    void *volatile held[600] = {malloc(3005)}; // further down than the frames of the child
    held[1] = malloc(16);
    exit(held[1] ? 3 : 4);
}

int main(void) {
    parent = getpid();
    atexit(end_child);
    if (vfork() == 0)
        exit(0);
    wait(NULL);
    leave();
}
