// SPDX-License-Identifier: BSD-2-Clause
// A thread forks while the first one sleeps. In the child the first one's frames hold a block of 2000 bytes; what
// is below them is old, and all that leads to a block of 1000 bytes.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void leave_old_word(void) {
    void *volatile words[2048]; // deeper than what is called later
    memset((void *)words, 0, sizeof(words));
    words[16] = memset(malloc(1000), 0, 1000);
}

static int first_sleeps(void) {
    char path[64], text[64] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)getpid());
    int fd = open(path, O_RDONLY);
    int nr = (int)read(fd, text, sizeof(text) - 1);
    close(fd);
    return nr > 0 && strncmp(text, "running", 7) != 0;
}

static void *forks(void *unused) {
    while (!first_sleeps())
        usleep(1000);
    pid_t child = fork();
    if (child == 0) {
        free(malloc(10)); // now it has an image
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return unused;
}

int main(void) {
    void *volatile held = memset(malloc(2000), 0, 2000);
    leave_old_word();
    pthread_t thread;
    pthread_create(&thread, NULL, forks, NULL);
    pthread_join(thread, NULL);
    return held == NULL;
}
