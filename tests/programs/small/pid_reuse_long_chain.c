// SPDX-License-Identifier: BSD-2-Clause
// 2,000 processes that each start the next one and end, without a heap operation. The last one writes a line.
#include <unistd.h>

int main(void) {
    for (int i = 0; i < 2000; i++) {
        pid_t pid = fork();
        if (pid)
            _exit(pid < 0);
    }
    return write(1, "last\n", 5) != 5;
}
