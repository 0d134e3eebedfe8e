// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static long locked_kib(void) {
    char text[4096] = "";
    FILE *file = fopen("/proc/self/status", "r");
    if (!file || fread(text, 1, sizeof(text) - 1, file) == 0)
        return -1;
    fclose(file);
    return atol(strstr(text, "VmLck:") + 6);
}
static void limit_space(int by_syscall) {
    struct rlimit limit = {(rlim_t)2 << 30, (rlim_t)2 << 30};
    if (by_syscall ? syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, NULL) : setrlimit(RLIMIT_AS, &limit))
        _exit(10);
}
static int ended(pid_t pid) {
    int status = -1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 11;
}
// A child and a grandchild. The grandchild has allocated nothing when it locks its memory or limits itself.
int main(int argc, char **argv) {
    const char *how = argv[1];
    void *volatile block = malloc(100);
    pid_t pid = fork();
    if (pid)
        return ended(pid);
    alarm(5);
    block = malloc(200);
    if (strcmp(how, "locked by a syscall") == 0 && syscall(SYS_mlockall, MCL_CURRENT) == 0)
        limit_space(0);
    pid = fork();
    if (pid)
        _exit(ended(pid));
    alarm(5);
    if (strcmp(how, "locked") == 0 && mlockall(MCL_CURRENT | MCL_FUTURE) == 0)
        limit_space(0);
    if (strcmp(how, "limited by a syscall") == 0)
        limit_space(1);
    block = malloc(400);
    if (strcmp(how, "locked") == 0)
        printf("%ld\n", locked_kib());
    fflush(stdout);
    _exit(block ? 3 : 12);
}
