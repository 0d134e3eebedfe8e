// SPDX-License-Identifier: BSD-2-Clause
//
// What a program does to limit itself, where the image would be in its way: RLIMIT_AS (the window gives
// back what it only reserves), mlockall (the image is not part of what is locked), seccomp (from then on
// the library makes no system call).
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "preload/fork_undo.h"
#include "preload/hooks.h"
#include "preload/proc_maps.h"
#include "preload/stack.h"
#include "preload/image_window.h"

SEEP_COLD long seep_with_errno(long result) {
    if (!sys_failed(result))
        return result;
    errno = (int)-result;
    return -1;
}

#if SEEP_ARCH_WORD != 8
SEEP_COLD int seep_no_real(void) {
    return (int)seep_with_errno(-ENOSYS);
}
#endif

// ---- limits ---------------------------------------------------------------------------------------

enum { DESCRIPTORS_FEW = 64, LOW_LIMIT = 64 << 20 };

// A new image needs a descriptor, and the kernel holds its file to RLIMIT_FSIZE. But most children that leave
// themselves enough descriptors execute a program and never allocate, and the time to make an image grows
// with its size.
static bool is_in_the_way(unsigned resource, uint64_t limit) {
    return resource == RLIMIT_NOFILE ? limit < DESCRIPTORS_FEW
                                     : resource == RLIMIT_FSIZE && limit != UINT64_MAX;
}

static uint64_t soft_of(const struct rlimit *limit) {
    return limit->rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit->rlim_cur;
}

// Called before the limit is set, also in a child that has no image yet. The address of the limit may be
// invalid; the kernel would report it.
SEEP_COLD static void limit_is_coming(unsigned resource, const void *limit, size_t bytes) {
    bool of_space = resource == RLIMIT_AS; // whatever the limit
    bool of_files = (resource == RLIMIT_NOFILE || resource == RLIMIT_FSIZE) && seep_fork_lacks_image();
    if (!limit || !(of_space || of_files) || !seep_calls_are_free())
        return;
    if (of_space)
        seep_window_spread_seeds();
    else if (seep_maps_readable((uintptr_t)limit, bytes) &&
             is_in_the_way(resource, bytes == sizeof(struct rlimit64)
                                         ? ((const struct rlimit64 *)limit)->rlim_cur
                                         : soft_of(limit)))
        seep_fork_make_image();
}

#if SEEP_ARCH_WORD == 8
#define LIMIT_CALLER() SEEP_HOOK_CALLER()

// Whether no hook is at work on this stack: a signal handler or the allocator may set a limit amid one.
// false: a hook is at work, or that is not known, because not all of the stack can be walked.
static bool is_outside_hooks(struct seep_caller caller) {
    struct seep_thread *thread = thread_enter();
    if (!thread)
        return false;
    seep_stack_site(thread, SEEP_VIA_MALLOC, caller);
    bool is_outside = thread->memo_end != thread->frames && thread->frames[0].sp != 0; // 0: it is cut
    for (const struct seep_memo_frame *frame = thread->frames; frame < thread->memo_end; frame++)
        is_outside &= !seep_is_own_code(frame->pc & ~SEEP_PC_EXACT);
    thread_leave(thread);
    return is_outside;
}

// The image takes some 40 MiB. Without room the program could not even extend its stack.
static void make_room(struct seep_caller caller) {
    if (seep_calls_are_free() && !seep_window_leaves_room(0) && sys_is_alone() && is_outside_hooks(caller))
        seep_memory_gives_way();
}
#else // the image is small
#define LIMIT_CALLER() ((struct seep_caller){0})
static void make_room(struct seep_caller caller) {
    (void)caller;
}
#endif

// Called after the limit is set, because a refused limit changes nothing. A limit below the mapped size is
// allowed. A child of vfork shares our memory but has its own limits. A forked child without an image may
// need for its first allocation all that a low limit leaves: it keeps no undo log, which is larger than most
// programs.
static void limit_changed(unsigned resource, uint64_t limit, struct seep_caller caller) {
    if (resource != RLIMIT_AS)
        return;
    if (seep_image_is_ours() && sys_getpid() == seep_confined.pid) {
        seep_window_limit(limit);
        if (limit != UINT64_MAX)
            make_room(caller);
    } else if (limit < LOW_LIMIT && seep_fork_lacks_image()) {
        seep_undo_make_room();
    }
}

// The compiler takes the header's word that the hooks are given a limit. glibc takes NULL for none.
#define MAY_BE_NULL(pointer) __asm__("" : "+r"(pointer))

static int set_limit(unsigned resource, const struct rlimit *limit, struct seep_caller caller) {
    MAY_BE_NULL(limit);
    seep_start();
    limit_is_coming(resource, limit, sizeof(*limit));
    int result = seep_g.real.setrlimit ? seep_g.real.setrlimit(resource, limit)
                                       : SEEP_BY_CALL(SYS_prlimit64, 0, resource, limit, 0);
    if (result == 0 && limit)
        limit_changed(resource, soft_of(limit), caller);
    return result;
}

SEEP_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) {
    return set_limit(resource, limit, LIMIT_CALLER());
}

#ifdef SEEP_NARROW_LIBC
SEEP_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) {
    MAY_BE_NULL(limit);
    seep_start();
    limit_is_coming(resource, limit, sizeof(*limit));
    int result = seep_g.real.setrlimit64 ? seep_g.real.setrlimit64(resource, limit)
                                         : SEEP_BY_CALL(SYS_prlimit64, 0, resource, limit, 0);
    if (result == 0 && limit)
        limit_changed(resource, limit->rlim_cur, LIMIT_CALLER());
    return result;
}
#else
_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "both names are one function");
SEEP_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) {
    return set_limit(resource, (const struct rlimit *)limit, LIMIT_CALLER());
}
#endif

// `by_call`: the program made the system call by syscall(). Then the real function is not called, because it
// may be another library's function that calls syscall().
static int limit_of(pid_t pid, unsigned resource, const struct rlimit *limit, struct rlimit *ret_before,
                    struct seep_caller caller, bool by_call) {
    seep_start();
    bool own = limit && (pid == 0 || (uint32_t)pid == sys_getpid());
    if (own)
        limit_is_coming(resource, limit, sizeof(*limit));
    int result = by_call ? (int)seep_with_errno(sys6_real(SYS_prlimit64, pid, (long)resource, (long)limit,
                                                          (long)ret_before, 0, 0))
                 : seep_g.real.prlimit ? seep_g.real.prlimit(pid, resource, limit, ret_before)
                                       : SEEP_BY_CALL(SYS_prlimit64, pid, resource, limit, ret_before);
    if (result == 0 && own)
        limit_changed(resource, soft_of(limit), caller);
    return result;
}

SEEP_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
                        struct rlimit *ret_before) {
    return limit_of(pid, resource, limit, ret_before, LIMIT_CALLER(), false);
}

SEEP_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
                          struct rlimit64 *ret_before) {
#ifdef SEEP_NARROW_LIBC
    seep_start();
    bool own = limit && (pid == 0 || (uint32_t)pid == sys_getpid());
    if (own)
        limit_is_coming(resource, limit, sizeof(*limit));
    int result = seep_g.real.prlimit64 ? seep_g.real.prlimit64(pid, resource, limit, ret_before)
                                       : SEEP_BY_CALL(SYS_prlimit64, pid, resource, limit, ret_before);
    if (result == 0 && own)
        limit_changed(resource, limit->rlim_cur, LIMIT_CALLER());
    return result;
#else
    return limit_of(pid, resource, (const struct rlimit *)limit, (struct rlimit *)ret_before, LIMIT_CALLER(),
                    false);
#endif
}

// ---- locked memory --------------------------------------------------------------------------------

static bool is_in(uint64_t address, uint64_t start, uint64_t bytes) {
    return address - start < bytes;
}

// By its first byte: what is ours differs from its neighbours in file or advice, so nothing is both.
static bool is_ours(uint64_t start) {
    if (seep_memory_is_ours(start, 1))
        return true;
    for (int i = 0; i < SEEP_IMAGE_OWN_RANGES; i++)
        if (is_in(start, seep_g.header->own[i].start, seep_g.header->own[i].bytes))
            return true;
    uint32_t nr_slots = (uint32_t)seep_g.header->areas[SEEP_AREA_THREADS].used;
    for (uint32_t slot = 0; slot < nr_slots; slot++)
        for (int i = 0; i < 2; i++)
            if (is_in(start, seep_g.threads[slot].own[i].start, seep_g.threads[slot].own[i].bytes))
                return true;
    return false;
}

enum work { ADD_UP_PROGRAM, LOCK_PROGRAM, LOCK_PROGRAM_ON_FAULT, UNLOCK_OURS };

// One way through the address space. false: it cannot be read.
static bool each_area(enum work work, uint64_t *ret_bytes) {
    *ret_bytes = 0;
    struct seep_maps maps;
    if (!seep_maps_open(&maps))
        return false;
    for (const struct seep_maps_area *area; (area = seep_maps_next(&maps));) {
        uint64_t start = area->start;
        uint64_t end = area->end;
        bool ours = is_ours(start);
        if (ours != (work == UNLOCK_OURS))
            continue;
        *ret_bytes += end - start;
        // As mlockall does: what cannot be locked (no access, a device) is passed over.
        if (work == LOCK_PROGRAM)
            sys3(SYS_mlock, start, end - start, 0);
        else if (work == LOCK_PROGRAM_ON_FAULT)
            sys3(SYS_mlock2, start, end - start, 1 /* MLOCK_ONFAULT */);
        else if (work == UNLOCK_OURS)
            sys3(SYS_munlock, start, end - start, 0);
    }
    seep_maps_close(&maps);
    return *ret_bytes != 0;
}

// Whether the kernel would allow it for the program alone: it compares all address space with the limit.
static bool allowed_without_us(void) {
    struct rlimit64 limit;
    uint64_t bytes;
    return sys_limit(RLIMIT_MEMLOCK, NULL, &limit) && each_area(ADD_UP_PROGRAM, &bytes) &&
           bytes <= limit.rlim_cur;
}

static int lock_all(int flags) {
    return seep_g.real.mlockall ? seep_g.real.mlockall(flags) : SEEP_BY_CALL(SYS_mlockall, flags, 0, 0, 0);
}

// The program's memory area by area, so that neither the limit nor the pages are taken by the image.
SEEP_EXPORT int mlockall(int flags) {
    enum { KNOWN = MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT };
    seep_start();
    uint64_t bytes;
    int result;
    seep_fork_make_image(); // the view of a child is large, and would count against the limit
    if (!seep_image_is_ours() || !(flags & MCL_CURRENT) || (flags & ~KNOWN) || !seep_calls_are_free()) {
        result = lock_all(flags);
    } else if (!allowed_without_us()) {
        result = lock_all(flags);
        if (result == 0)
            each_area(UNLOCK_OURS, &bytes);
    } else {
        result = flags & MCL_FUTURE ? lock_all(flags & ~MCL_CURRENT) : 0;
        if (result == 0)
            each_area(flags & MCL_ONFAULT ? LOCK_PROGRAM_ON_FAULT : LOCK_PROGRAM, &bytes);
    }
    if (result == 0 && (flags & MCL_FUTURE))
        seep_confined.locks_future = true;
    return result;
}

// ---- system call filters --------------------------------------------------------------------------

// Before a call that installs a filter: whatever it makes impossible must not be tried after it. Counted, so
// that a call that fails takes back no more than its own.
static void filter_begins(void) {
    seep_fork_make_image();
    if (seep_image_is_ours())
        seep_filter_is_coming();
    seep_filter_begins();
}

// PR_SET_SYSCALL_USER_DISPATCH: calls from outside a range of addresses, as ours are, raise SIGSYS. Programs
// turn it off (0) to ask whether the kernel has it. Source: linux/prctl.h; the kernel for ARM has none.
static bool is_filter_option(long option, long value) {
    (void)value;
#ifndef __arm__
    if (option == 59)
        return value != 0;
#endif
    return option == PR_SET_SECCOMP;
}

// A strict filter takes the processor's counter, too.
static bool takes_counter(long option, long value) {
    return (option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT) ||
           (option == PR_SET_TSC && value == PR_TSC_SIGSEGV);
}

SEEP_EXPORT int prctl(int option, ...) {
    unsigned long args[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        args[i] = va_arg(list, unsigned long);
    va_end(list);
    seep_start();
    const bool filters = is_filter_option(option, (long)args[0]);
    if (filters)
        filter_begins();
    if (takes_counter(option, (long)args[0]))
        seep_confined.no_counter = true;
    int result = seep_g.real.prctl
                     ? seep_g.real.prctl(option, args[0], args[1], args[2], args[3])
                     : (int)seep_with_errno(sys6_real(SYS_prctl, option, (long)args[0], (long)args[1],
                                                      (long)args[2], (long)args[3], 0));
    if (filters && result != 0)
        seep_filter_failed();
    return result;
}

static bool is_filter(long nr, long a, long b) {
    return (nr == SYS_seccomp && (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)) ||
           (nr == SYS_prctl && is_filter_option(a, b));
}

#if defined(SYS_mmap2)
#define SYS_OF_MMAP SYS_mmap2
#elif defined(__s390x__) // its arguments are in memory
#define SYS_OF_MMAP (-1L)
#else
#define SYS_OF_MMAP SYS_mmap
#endif

// With the structure of prlimit. On 32-bit CPUs no limit is too low for a child's mappings.
#define SETS_LIMITS(nr) (SEEP_ARCH_WORD == 8 && (nr) == SYS_prlimit64)
#define IS_ADVICE(nr)   (SEEP_ARCH_WORD == 8 && (nr) == SYS_madvise)

// As the functions of these names do.
static void memory_goes(long nr, uint64_t address, uint64_t bytes, long c, long d, uint64_t e) {
    if (nr == SYS_mremap || (nr == SYS_OF_MMAP && (d & MAP_FIXED)))
        seep_memory_goes(address, bytes);
    if (nr == SYS_mremap && (d & 2 /* MREMAP_FIXED */))
        seep_memory_goes(e, (unsigned long)c);
}

static SEEP_NOINLINE long rare_syscall(long nr, long a, long b, long c, long d, long e, long f) {
    const bool filters = is_filter(nr, a, b);
    // Through unsigned long: a 32-bit long would be sign-extended.
    const uint64_t address = (unsigned long)a, bytes = (unsigned long)b;
    if (filters)
        filter_begins();
    if ((nr == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT) || (nr == SYS_prctl && takes_counter(a, b)))
        seep_confined.no_counter = true;
    if ((nr == SYS_munmap || nr == SYS_mprotect || IS_ADVICE(nr)) && seep_memory_is_ours(address, bytes))
        return nr == SYS_munmap ? seep_munmap((void *)a, (size_t)b)
               : IS_ADVICE(nr)  ? seep_madvise((void *)a, (size_t)b, (int)c)
                                : seep_mprotect((void *)a, (size_t)b, (int)c);
    if (SETS_LIMITS(nr))
        return limit_of((pid_t)a, (unsigned)b, (const void *)c, (void *)d, LIMIT_CALLER(), true);
    memory_goes(nr, address, bytes, c, d, (unsigned long)e);
    long result = seep_with_errno(sys6_real(nr, a, b, c, d, e, f));
    if (filters && result < 0)
        seep_filter_failed();
    // Stacks that were walked may be gone: hooks_map.c does the same for the functions of these names.
    if (nr == SYS_munmap || nr == SYS_mremap || (nr == SYS_mprotect && !(c & PROT_READ)) ||
        (nr == SYS_OF_MMAP && (d & MAP_FIXED)))
        seep_stack_gone(address, bytes);
    if (nr == SYS_mremap || nr == SYS_OF_MMAP)
        seep_readable_placed((unsigned long)result, nr == SYS_mremap ? (unsigned long)c : bytes);
    return result;
}

SEEP_INLINE bool is_rare(long nr) {
    return nr == SYS_seccomp || nr == SYS_prctl || nr == SYS_munmap || nr == SYS_mremap ||
           nr == SYS_mprotect || nr == SYS_OF_MMAP || IS_ADVICE(nr) || SETS_LIMITS(nr);
}

// Whether the call makes a child, which begins with the mask of signals of this thread.
SEEP_INLINE bool is_fork(long nr) {
#ifdef SYS_fork
    if (nr == SYS_fork)
        return true;
#endif
#ifdef SYS_vfork
    if (nr == SYS_vfork)
        return true;
#endif
#ifdef SYS_clone3
    if (nr == SYS_clone3)
        return true;
#endif
    return nr == SYS_clone;
}

// As libc's: the arguments go on as they came, and by a jump, for a clone may come back on another stack.
SEEP_EXPORT long seep_syscall(long nr, long a, long b, long c, long d, long e, long f) __asm__("syscall");
#ifndef __clang__ // which jumps without being asked
__attribute__((optimize("omit-frame-pointer")))
#endif
SEEP_EXPORT long
seep_syscall(long nr, long a, long b, long c, long d, long e, long f) {
    if (is_fork(nr))
        seep_fork_end_left();
    if (SEEP_LIKELY(seep_g.real.syscall != NULL && !is_rare(nr)))
        return seep_g.real.syscall(nr, a, b, c, d, e, f);
    return rare_syscall(nr, a, b, c, d, e, f);
}
