// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 6; i++) {
        int go[2];
        if (pipe(go) != 0) return 1;
        pid_t child = fork();
        if (child == 0) {
            (void)!read(go[0], &(char){0}, 1);
            void *volatile block = malloc(10);
            free(block);
            exit(0);
        }
        // No image can be made: a limit that the child does not set itself.
        if (i < 2 && prlimit(child, RLIMIT_FSIZE, &(struct rlimit){0, 0}, NULL) != 0) return 1;
        if (write(go[1], "", 1) != 1) return 1;
        if (child < 0 || waitpid(child, NULL, 0) != child) return 1;
        close(go[0]), close(go[1]);
        void *volatile block = malloc(20);
        free(block);
    }
    return 0;
}
