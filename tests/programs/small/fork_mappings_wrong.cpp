// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <sys/wait.h>
#include <unistd.h>
#include <cstdlib>
int main() {
    std::free(new char[100]);
    if (fork() == 0)
        std::free(new char[200]);
    else
        wait(nullptr);
    return 0;
}
