// SPDX-License-Identifier: BSD-2-Clause
//
// Allocates 4 GiB and uses none of it, under a filter of system calls that allows all of them where that was
// asked for. Prints how many page faults that took.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = 1, .filter = &allow};
    struct rusage before, after;
    free(malloc(1000));
    if (argc > 1 && strcmp(argv[1], "filtered") == 0 &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
        return 2;
    getrusage(RUSAGE_SELF, &before);
    char *block = malloc((size_t)4 << 30);
    getrusage(RUSAGE_SELF, &after);
    if (!block)
        return 1;
    printf("%ld\n", after.ru_minflt - before.ru_minflt);
    free(block);
    return 0;
}
