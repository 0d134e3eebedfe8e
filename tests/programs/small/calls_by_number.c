// SPDX-License-Identifier: BSD-2-Clause
//
// A library whose functions make their calls by syscall(), in front of libseep.so or behind it.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int munmap(void *address, size_t size) {
    return (int)syscall(SYS_munmap, address, size);
}

int mprotect(void *address, size_t size, int protection) {
    return (int)syscall(SYS_mprotect, address, size, protection);
}

int madvise(void *address, size_t size, int advice) {
    return (int)syscall(SYS_madvise, address, size, advice);
}

#if __SIZEOF_POINTER__ == 8 // else the call takes another structure
int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit, struct rlimit *before) {
    return (int)syscall(SYS_prlimit64, pid, resource, limit, before);
}
#endif
