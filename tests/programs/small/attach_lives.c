// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(void) {
    void *volatile block = malloc(10);
    char *program[] = {"/bin/true", NULL};
    pid_t pid;
    for (int i = 0; i < 3; i++) {
        posix_spawn(&pid, "/bin/true", NULL, NULL, program, environ);
        waitpid(pid, NULL, 0);
    }
    if (fork() == 0) {
        block = malloc(20);
        execl("/bin/sh", "sh", "-c", "exit 3", NULL);
    }
    wait(NULL);
    if (fork() == 0)
        abort();
    wait(NULL);
    return 5;
}
