// SPDX-License-Identifier: BSD-2-Clause
//
// A child of fork that limits its descriptors, then one that limits its files, each before its first allocation; and a
// child that leaves itself descriptors, passes an invalid address as the limit, and never allocates.
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

static int child_under(__rlimit_resource_t resource, rlim_t most) {
    struct rlimit limit = {most, most};
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (setrlimit(resource, &limit))
            _exit(1);
        for (int i = 0; i < 50; i++)
            kept = malloc(100);
        _exit(0);
    }
    return waitpid(pid, &status, 0) != pid || status;
}

static int child_without_allocation(void) {
    struct rlimit limit = {200, 200};
    const struct rlimit *volatile nowhere = (const struct rlimit *)8;
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(setrlimit(RLIMIT_NOFILE, &limit) != 0 || setrlimit(RLIMIT_FSIZE, nowhere) != -1 ||
              errno != EFAULT);
    return waitpid(pid, &status, 0) != pid || status;
}

int main(void) {
    kept = malloc(10);
    return child_under(RLIMIT_NOFILE, 3) + child_under(RLIMIT_FSIZE, 0) + child_without_allocation();
}
