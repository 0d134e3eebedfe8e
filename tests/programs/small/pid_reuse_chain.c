// SPDX-License-Identifier: BSD-2-Clause
// Processes that each start the next one and end, without a heap operation. The last one runs on until standard
// input ends.
#include <unistd.h>

int main(void) {
    char byte;
    for (int i = 0; i < 200; i++) {
        pid_t pid = fork();
        if (pid)
            _exit(pid < 0);
        if (i == 0) {
            close(1);
            close(2);
        }
    }
    while (read(0, &byte, 1) > 0)
        continue;
    return 0;
}
