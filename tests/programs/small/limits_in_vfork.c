// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    int status = -1;
    void *volatile block = malloc(100);
    for (int i = 0; i < 2; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            if (i ? syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, NULL) : setrlimit(RLIMIT_AS, &limit))
                _exit(8);
            _exit(3);
        }
        if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
            return 9;
    }
    block = malloc(200);
    return block ? 6 : 10;
}
