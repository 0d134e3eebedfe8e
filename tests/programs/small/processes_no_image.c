// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 6; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct rlimit none = {0, 0};
            if (i < 2) setrlimit(RLIMIT_FSIZE, &none); // no image can be made
            void *volatile block = malloc(10);
            free(block);
            exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child) return 1;
        void *volatile block = malloc(20);
        free(block);
    }
    return 0;
}
