// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
static long size_kib(void) {
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file) && sscanf(line, "VmSize: %ld", &kib) != 1)
        ;
    fclose(file);
    return kib;
}
int main(void) {
    struct sock_filter code[] = {{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    struct sock_fprog filter = {1, code};
    free(malloc(100));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 77;
    rlim_t bytes = (rlim_t)(size_kib() + 10240) << 10;
    struct rlimit limit = {bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit))
        return 78;
    int nr = 0;
    while (nr < 1000 && malloc(100000))
        nr++;
    printf("%d\n", nr);
    return 0;
}
