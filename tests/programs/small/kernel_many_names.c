// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Children of another user, each with sixteen names: more than all entries for processes of users.
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    if (setgid(12345) || setuid(12345))
        return 1;
    for (int child = 0; child < 3300; child++) {
        pid_t pid = fork();
        if (pid) {
            waitpid(pid, NULL, 0);
            continue;
        }
        for (int i = 0, ends[2]; i < 16; i++) {
            char name[16];
            snprintf(name, sizeof(name), "%d-%d", child, i);
            prctl(PR_SET_NAME, name);
            if (pipe(ends) == 0)
                close(ends[0]), close(ends[1]);
        }
        _exit(0);
    }
    return 0;
}
