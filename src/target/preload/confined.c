// SPDX-License-Identifier: BSD-2-Clause
//
// A sandbox that was there before the program: a filter of system calls may answer with an error, which
// we cope with, or kill. So where there is a filter a child tries first what this library needs and
// programs often do not; if it does not live to tell, the library stays passive and the program lives.
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "preload/preload.h"

struct seep_confined seep_confined;

// "Seccomp:\t2" in /proc/self/status: a filter. What cannot be read is taken for none.
static bool is_filtered(void) {
    static const char key[] = "\nSeccomp:\t";
    char text[4096];
    int fd = sys_open("/proc/self/status", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    long nr = sys3(SYS_read, fd, text, sizeof(text));
    sys_close(fd);
    for (long at = 0; at + (long)sizeof(key) <= nr; at++)
        if (__builtin_memcmp(text + at, key, sizeof(key) - 1) == 0)
            return text[at + (long)sizeof(key) - 1] == '2';
    return false;
}

// Every call that allocators do not make as well.
static _Noreturn void try_all(void *page) {
    struct rlimit limit;
    unsigned char present[1];
    struct timespec none = {0, 0};
    stack_t stack = {.ss_flags = 0};
    char name[16];
    long file = sys3(SYS_memfd_create, "seep-image", 1, 0);
    sys3(SYS_ftruncate, file, 4096, 0);
    sys6(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, (long)&limit, 0, 0);
    long fd = sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sys3(SYS_connect, fd, NULL, 0);
    sys3(SYS_sendmsg, fd, NULL, 0);
    sys6(SYS_sendto, fd, 0, 0, 0, 0, 0);
    sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, 0, 0, 0);
    sys6(SYS_ppoll, 0, 0, (long)&none, 0, 0, 0);
    sys_mmap(NULL, 4096, PROT_NONE, MAP_SHARED | MAP_NORESERVE, (int)file, 0);
    sys3(SYS_madvise, page, 4096, MADV_DONTDUMP);
    sys3(SYS_mincore, page, 4096, present);
    sys6(SYS_mremap, (long)page, 4096, 4096, 1, 0, 0);
    sys6(SYS_prctl, 16 /* PR_GET_NAME */, (long)name, 0, 0, 0, 0);
    sys3(SYS_sigaltstack, 0, &stack, 0);
    sys_readable((uint64_t)page);
    sys3(SYS_tgkill, sys_getpid(), sys_gettid(), 0);
    sys3(SYS_sched_yield, 0, 0, 0);
    sys3(SYS_nanosleep, &none, 0, 0);
    sys6(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)name, sizeof(name), 0, 0);
    for (;;)
        sys3(SYS_exit_group, 0, 0, 0);
}

bool seep_sandbox_kills(void) {
    if (!is_filtered())
        return false;
    void *page = sys_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!page)
        return true;
    // As fork, but no handler of the program's runs and no signal tells of the child's end.
    long pid = sys6(SYS_clone, 0, 0, 0, 0, 0, 0);
    if (pid == 0)
        try_all(page);
    int status = -1;
    long waited = -4;
    while (pid > 0 && waited == -4 /* EINTR */)
        waited = sys6(SYS_wait4, pid, (long)&status, 0x40000000 /* __WALL */, 0, 0, 0);
    sys_munmap(page, 4096);
    return pid <= 0 || waited != pid || status != 0;
}
