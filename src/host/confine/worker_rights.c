// SPDX-License-Identifier: BSD-2-Clause
// What a worker goes without, see worker_rights.h.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "confine/worker_rights.h"

#define NOBODY    65534u
#define FILES_MAX 64u
#define CPU_S_MAX                                                                                            \
    1200u // the tool ends a worker long before, see worker.c; this is for one that is left alone
// Large files are mapped, several for a module: this bounds address space; memory is bounded in worker.c.
#define ADDRESSES_MAX (UINT64_C(160) << 30)

#if defined(__x86_64__)
#define CPU_OF_CALLS            AUDIT_ARCH_X86_64
#define PATH_OF_OPENAT(context) ((const char *)(context)->uc_mcontext.gregs[REG_RSI])
#define RESULT_OF_CALL(context) ((context)->uc_mcontext.gregs[REG_RAX])
#elif defined(__aarch64__)
#define CPU_OF_CALLS            AUDIT_ARCH_AARCH64
#define PATH_OF_OPENAT(context) ((const char *)(context)->uc_mcontext.regs[1])
#define RESULT_OF_CALL(context) ((context)->uc_mcontext.regs[0])
#elif defined(__arm__)
#define CPU_OF_CALLS            AUDIT_ARCH_ARM
#define PATH_OF_OPENAT(context) ((const char *)(uintptr_t)(context)->uc_mcontext.arm_r1)
#define RESULT_OF_CALL(context) ((context)->uc_mcontext.arm_r0)
#else
#error "which calls of this CPU a worker may make is not known"
#endif

// The names that 32-bit CPUs have for calls with 64-bit arguments. Those of time differ between libcs, so the
// numbers of ARM are here.
#if defined(__arm__)
#define NARROW_CALLS 1
enum { NR_STAT_AT = SYS_fstatat64, NR_MMAP = SYS_mmap2 };
enum { NR_GETTIMEOFDAY = 78, NR_CLOCK_GETTIME = 263, NR_CLOCK_GETTIME64 = 403, NR_FUTEX64 = 422 };
#else
#define NARROW_CALLS 0
enum { NR_STAT_AT = SYS_newfstatat, NR_MMAP = SYS_mmap };
#endif

// Calls that read an open file, have memory, talk with the tool, or end. All others get EPERM: a library
// that tries one goes on without.
static const uint32_t allowed[] = {
    SYS_read,       SYS_pread64,         SYS_readv,        SYS_preadv,         SYS_lseek,
    SYS_close,      SYS_munmap,          SYS_mremap,       SYS_madvise,        SYS_brk,
    SYS_recvmsg,    SYS_sendmsg,         SYS_futex,        SYS_rt_sigreturn,   SYS_rt_sigaction,
    SYS_gettid,     SYS_rt_sigprocmask,  SYS_sched_yield,  SYS_getpid,         SYS_exit,
    SYS_exit_group, SYS_restart_syscall,
#if NARROW_CALLS
    SYS__llseek,    SYS_fstat64,         NR_CLOCK_GETTIME, NR_CLOCK_GETTIME64, NR_GETTIMEOFDAY,
    NR_FUTEX64,
#else
    SYS_fstat,      SYS_clock_gettime,   SYS_gettimeofday,
#endif
};

// Calls that are refused where an argument has a bit, or is not a value.
static const struct {
    uint32_t call;
    uint32_t argument;
    uint32_t refused_bits;
    uint32_t value;
} guarded[] = {
    {NR_STAT_AT, 3, 0, AT_EMPTY_PATH}, // of an open file, not of a path
    {NR_MMAP, 2, PROT_EXEC, 0},        // memory, but not for code
    {SYS_mprotect, 2, PROT_EXEC, 0},
};

#define FIELD(field) ((uint32_t)offsetof(struct seccomp_data, field))
#define LOAD(at)     ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at))
#define ANSWER(what) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what))
#define IF(operation, value, then, otherwise)                                                                \
    ((struct sock_filter)BPF_JUMP(BPF_JMP | (operation) | BPF_K, value, then, otherwise))
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)

// ---- files that a library opens ----

static seep_worker_open_function *let_open; // NULL: no file may be opened
static void *let_open_context;

void seep_worker_let_open(seep_worker_open_function *open, void *context) {
    let_open_context = context;
    let_open = open;
}

// The kernel has not made the call: its result is what is put here.
static void stand_for_openat(int number, siginfo_t *info, void *at) {
    ucontext_t *context = at;
    int kept_errno = errno;
    seep_worker_open_function *open = let_open;
    (void)number;
    (void)info;
    let_open = NULL; // what it opens itself in there
    int fd = open ? open(let_open_context, PATH_OF_OPENAT(context)) : -1;
    let_open = open;
    errno = kept_errno;
    RESULT_OF_CALL(context) = (__typeof__(RESULT_OF_CALL(context)))(long)(fd >= 0 ? fd : -EPERM);
}

static bool handle_openat(void) {
    const struct sigaction action = {.sa_sigaction = stand_for_openat, .sa_flags = SA_SIGINFO | SA_NODEFER};
    return sigaction(SIGSYS, &action, NULL) == 0;
}

static bool filter_calls(void) {
    struct sock_filter code[7 + 2 * SEEP_ARRAY_SIZE(allowed) + 5 * SEEP_ARRAY_SIZE(guarded)];
    unsigned short nr = 0;
    code[nr++] = LOAD(FIELD(arch));
    code[nr++] = IF(BPF_JEQ, CPU_OF_CALLS, 1, 0);
    code[nr++] = ANSWER(SECCOMP_RET_KILL_PROCESS);
    code[nr++] = LOAD(FIELD(nr));
    code[nr++] = IF(BPF_JEQ, SYS_openat, 0, 1);
    code[nr++] = ANSWER(SECCOMP_RET_TRAP);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(allowed); i++) {
        code[nr++] = IF(BPF_JEQ, allowed[i], 0, 1);
        code[nr++] = ANSWER(SECCOMP_RET_ALLOW);
    }
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(guarded); i++) {
        uint32_t bits = guarded[i].refused_bits;
        code[nr++] = IF(BPF_JEQ, guarded[i].call, 0, 4);
        code[nr++] =
            LOAD(FIELD(args) + 8 * guarded[i].argument); // its lower half: these CPUs are little-endian
        code[nr++] = bits ? IF(BPF_JSET, bits, 1, 0) : IF(BPF_JEQ, guarded[i].value, 0, 1);
        code[nr++] = ANSWER(SECCOMP_RET_ALLOW);
        code[nr++] = ANSWER(REFUSE);
    }
    code[nr++] = ANSWER(REFUSE);
    const struct sock_fprog program = {nr, code};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool limit(int resource, rlim_t value) {
    struct rlimit now;
    if (getrlimit(resource, &now) != 0)
        return false;
    now.rlim_max = now.rlim_cur = SEEP_MIN(value, now.rlim_max);
    return setrlimit(resource, &now) == 0;
}

static bool limit_all(void) {
#if SEEP_WITH_ASAN
    const rlim_t addresses = RLIM_INFINITY; // its shadow has 20 TiB
#else
    const rlim_t addresses = ADDRESSES_MAX;
#endif
    return limit(RLIMIT_CORE, 0) && limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_MEMLOCK, 0) &&
           limit(RLIMIT_NPROC, 0) && limit(RLIMIT_MSGQUEUE, 0) && limit(RLIMIT_NOFILE, FILES_MAX) &&
           limit(RLIMIT_CPU, CPU_S_MAX) && limit(RLIMIT_AS, addresses);
}

static bool close_from(int first) {
    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return true;
    if (errno != ENOSYS)
        return false;
    for (int fd = first, end = (int)SEEP_MIN(sysconf(_SC_OPEN_MAX), 65536L); fd < end; fd++)
        close(fd);
    return true;
}

// Nothing but the socket: nothing is behind the first three, and nothing can be written there.
bool seep_worker_keep_only(int socket) {
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int kept = fcntl(socket, F_DUPFD_CLOEXEC, SEEP_WORKER_SOCKET + 1);
    return nothing >= 0 && kept >= 0 && dup2(nothing, 0) == 0 && dup2(nothing, 1) == 1 &&
           dup2(nothing, 2) == 2 && dup2(kept, SEEP_WORKER_SOCKET) == SEEP_WORKER_SOCKET &&
           close_from(SEEP_WORKER_SOCKET + 1);
}

// Where memory is short, the kernel ends this process and not the tool.
static void go_first(void) {
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "1000", 4) != 4)
        errno = 0; // then it is as likely as any other
    close(fd);
}

// A namespace may have no such user or refuse to set groups: root of one has only what its capabilities
// give, and those are taken.
static bool become_nobody(void) {
    if (geteuid() != 0)
        return true;
    return (setgroups(0, NULL) == 0 || errno == EPERM) &&
           (setresgid(NOBODY, NOBODY, NOBODY) == 0 || errno == EINVAL) &&
           (setresuid(NOBODY, NOBODY, NOBODY) == 0 || errno == EINVAL);
}

static bool drop_capabilities(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    return syscall(SYS_capset, &head, none) == 0;
}

// The parent may be gone already.
static bool end_with(pid_t parent) {
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

const char *seep_worker_drop_rights(int socket, pid_t parent) {
    // What the terminal sends to all of the tool is the tool's to decide on.
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(ignored); i++)
        signal(ignored[i], SIG_IGN);
    go_first();
    if (!seep_worker_keep_only(socket))
        return "close files";
    if (!limit_all())
        return "set limits";
    // Root's alone; the filter lets no other make a socket either.
    if (unshare(CLONE_NEWNET | CLONE_NEWIPC) != 0 && geteuid() == 0 && errno != EPERM)
        return "leave the network";
    if (!become_nobody())
        return "change the user";
    if (!drop_capabilities())
        return "drop capabilities";
    // A process that changed its user forgets whom it ends with, so this comes after.
    if (!end_with(parent))
        return "end with the tool";
    if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return "give up rights";
    return handle_openat() && filter_calls() ? NULL : "filter system calls";
}
