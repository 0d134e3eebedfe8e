// SPDX-License-Identifier: BSD-2-Clause
// Registers of a stopped thread, see stopped_registers.h: what each CPU calls them, and the calls that would
// fail because the thread was stopped.
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "scan/stopped_registers.h"

#if defined(__x86_64__)
#include <asm/ldt.h>
#endif

#if defined(__x86_64__)
// A call that fails with EINTR although no handler ran: -ERESTARTNOHAND makes the kernel restart
// it, or fail with EINTR if a handler runs after all. Calls of sockets with a time limit (SO_RCVTIMEO,
// SO_SNDTIMEO) fail so where they have moved no bytes; else they return the number of bytes.
// Source: signal(7); arch_do_signal_or_restart() of Linux.
static void restart_call(pid_t tid, struct user_regs_struct *regs) {
    static const long calls[] = {SYS_epoll_wait, SYS_epoll_pwait,  SYS_epoll_pwait2,    SYS_semop,
                                 SYS_semtimedop, SYS_io_getevents, SYS_rt_sigtimedwait, SYS_io_uring_enter,
                                 SYS_read,       SYS_readv,        SYS_write,           SYS_writev,
                                 SYS_recvfrom,   SYS_recvmsg,      SYS_recvmmsg,        SYS_sendto,
                                 SYS_sendmsg,    SYS_sendmmsg,     SYS_accept,          SYS_accept4,
                                 SYS_connect};
    enum { ERESTARTNOHAND = 514 };
    if ((long)regs->rax != -EINTR)
        return;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(calls); i++) {
        if ((long)regs->orig_rax != calls[i])
            continue;
        regs->rax = (unsigned long long)-ERESTARTNOHAND;
        struct iovec all = {regs, sizeof(*regs)};
        if (ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &all) != 0)
            return; // the thread is gone: it will not see the EINTR
    }
}

// What the kernel gives of a 32-bit program. Source: struct user_regs_struct32 of Linux.
struct narrow_registers {
    uint32_t bx, cx, dx, si, di, bp, ax, ds, es, fs, gs, orig_ax, ip, cs, flags, sp, ss;
};

// As restart_call(). Source: arch/x86/entry/syscalls/syscall_32.tbl of Linux.
static void restart_narrow_call(pid_t tid, struct narrow_registers *regs) {
    enum { EPOLL_WAIT = 256, EPOLL_PWAIT = 319, EPOLL_PWAIT2 = 441, IPC = 117, SEMTIMEDOP = 420 };
    enum { IO_GETEVENTS = 247, SIGTIMEDWAIT = 177, SIGTIMEDWAIT64 = 421, ERESTARTNOHAND = 514 };
    static const uint32_t calls[] = {EPOLL_WAIT, EPOLL_PWAIT,  EPOLL_PWAIT2, IPC,
                                     SEMTIMEDOP, IO_GETEVENTS, SIGTIMEDWAIT, SIGTIMEDWAIT64};
    if ((int32_t)regs->ax != -EINTR)
        return;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(calls); i++) {
        if (regs->orig_ax != calls[i])
            continue;
        regs->ax = (uint32_t)-ERESTARTNOHAND;
        struct iovec all = {regs, sizeof(*regs)};
        if (ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &all) != 0)
            return; // the thread is gone: it will not see the EINTR
    }
}

// Its thread pointer is the base of the segment in gs.
static void take_narrow(struct seep_stopped_thread *thread, const void *general, bool interrupted) {
    struct narrow_registers regs;
    struct user_desc segment;
    memcpy(&regs, general, sizeof(regs));
    thread->sp = regs.sp;
    thread->pc = regs.ip;
    thread->in_system_call = (int32_t)regs.orig_ax >= 0;
    if (ptrace(PTRACE_GET_THREAD_AREA, thread->tid, (void *)(uintptr_t)(regs.gs >> 3), &segment) == 0)
        thread->tls = segment.base_addr;
    thread->stack_from_rt = thread->sp & ~UINT64_C(3);
    if (interrupted)
        restart_narrow_call(thread->tid, &regs);
}
#endif

// The kernel says how wide the registers of the thread are by how many bytes it gives.
bool seep_stopped_read_registers(struct seep_stopped_thread *thread, bool interrupted) {
    seep_general_registers regs;
    struct iovec general = {&regs, sizeof(regs)};
    if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &general) != 0)
        return false;
    uint64_t words[SEEP_REGISTER_WORDS_MAX];
    size_t nr = (general.iov_len + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    memset(words, 0, nr * sizeof(uint64_t));
    memcpy(words, &regs, general.iov_len);
    bool narrow = false;
#if defined(__x86_64__)
    narrow = general.iov_len == sizeof(struct narrow_registers);
    if (narrow) {
        take_narrow(thread, &regs, interrupted);
    } else {
        seep_stopped_keep_general(thread, &regs);
        thread->sp = regs.rsp;
        thread->tls = regs.fs_base;
        thread->in_system_call = (long)regs.orig_rax >= 0;
        if (interrupted)
            restart_call(thread->tid, &regs);
    }
    unsigned long vectors = NT_X86_XSTATE;
#elif defined(__aarch64__)
    seep_stopped_keep_general(thread, &regs);
    thread->sp = regs.sp;
    struct iovec tls = {&thread->tls, sizeof(thread->tls)};
    if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_ARM_TLS, &tls) != 0)
        thread->tls = 0;
    unsigned long vectors = NT_PRFPREG;
#elif defined(__arm__)
    enum { SP = 13 };
    seep_stopped_keep_general(thread, &regs);
    thread->sp = regs.uregs[SP];
    unsigned long tls = 0;
    if (ptrace(PTRACE_GET_THREAD_AREA, thread->tid, NULL, &tls) == 0)
        thread->tls = tls;
    unsigned long vectors = NT_ARM_VFP;
#else
#error "write the registers of this CPU here"
#endif
    if (!narrow)
        thread->stack_from_rt = seep_stack_used_from(thread->sp);
    thread->nr_general_words = nr;
    struct iovec rest = {words + nr, (SEEP_REGISTER_WORDS_MAX - nr) * sizeof(uint64_t)};
    if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)vectors, &rest) == 0)
        nr += rest.iov_len / sizeof(uint64_t); // whole ones
    thread->words = malloc(nr * sizeof(uint64_t));
    if (!thread->words)
        return false;
    memcpy(thread->words, words, nr * sizeof(uint64_t));
    thread->nr_words = nr;
    return true;
}
