// SPDX-License-Identifier: BSD-2-Clause
//
// exec_ways WAY ENVIRONMENT PROGRAM ARG: becomes PROGRAM, or starts it and waits, in one of the ways there
// are, with the environment it has ("keep"), an empty one ("drop"), NULL ("null"), one whose LD_PRELOAD is
// $OWN_LIST ("own"), or that LD_PRELOAD and nothing else ("list"). exec_ways child: says what LD_PRELOAD it was
// given, keeps 77 bytes and ends with 4.
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static void *volatile kept;

static __attribute__((noinline)) void own(size_t bytes) {
    kept = malloc(bytes);
}

static char **environment(const char *which) {
    static char list[4096];
    static char *none[] = {NULL};
    static char *changed[256];
    size_t nr = 0;
    if (strcmp(which, "keep") == 0)
        return environ;
    if (strcmp(which, "drop") == 0)
        return none;
    if (strcmp(which, "null") == 0)
        return NULL;
    snprintf(list, sizeof(list), "LD_PRELOAD=%s", getenv("OWN_LIST"));
    changed[nr++] = list;
    for (char **at = environ; *at && strcmp(which, "list") != 0; at++)
        if (strncmp(*at, "LD_PRELOAD=", 11) != 0)
            changed[nr++] = *at;
    return changed;
}

static int become(const char *way, char **envp, char *program, char *arg) {
    char *argv[] = {program, arg, NULL};
    pid_t pid;
    int status;
    if (strcmp(way, "execl") == 0)
        execl(program, program, arg, (char *)NULL);
    else if (strcmp(way, "execlp") == 0)
        execlp(program, program, arg, (char *)NULL);
    else if (strcmp(way, "execle") == 0)
        execle(program, program, arg, (char *)NULL, envp);
    else if (strcmp(way, "execv") == 0)
        execv(program, argv);
    else if (strcmp(way, "execvp") == 0)
        execvp(program, argv);
    else if (strcmp(way, "execve") == 0)
        execve(program, argv, envp);
    else if (strcmp(way, "execvpe") == 0)
        execvpe(program, argv, envp);
    else if (strcmp(way, "fexecve") == 0)
        fexecve(open(program, O_RDONLY | O_CLOEXEC), argv, envp);
    else if (strcmp(way, "execveat") == 0)
        execveat(open(program, O_PATH | O_CLOEXEC), "", argv, envp, AT_EMPTY_PATH);
    else if (strcmp(way, "syscall") == 0)
        syscall(SYS_execve, program, argv, envp);
    else if (strcmp(way, "posix_spawn") == 0 && posix_spawn(&pid, program, NULL, NULL, argv, envp) == 0)
        return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 9;
    else if (strcmp(way, "posix_spawnp") == 0 && posix_spawnp(&pid, program, NULL, NULL, argv, envp) == 0)
        return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 9;
    perror(way);
    return 8;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        printf("%s\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "(none)");
        own(77);
        return 4;
    }
    own(33);
    return become(argv[1], environment(argv[2]), argv[3], argv[4]);
}
