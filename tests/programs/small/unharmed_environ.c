// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// exec with an environment that cannot be read fails with EFAULT.
#include <errno.h>
#include <unistd.h>

int main(void) {
    char *bad[] = {(char *)16, NULL}, **good = environ;
    char *arguments[] = {"true", NULL};
    environ = bad;
    int first = execv("/bin/true", arguments) == -1 ? errno : 0;
    environ = (char **)16;
    int second = execv("/bin/true", arguments) == -1 ? errno : 0;
    environ = good;
    return first == EFAULT && second == EFAULT ? 0 : 1;
}
