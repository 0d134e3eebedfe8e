// SPDX-License-Identifier: BSD-2-Clause
//
// System calls without libc: they never touch errno, never allocate, are never interposed (by us or
// by anyone else), and are no cancellation points. A result of -4095..-1 is a negated errno.
#ifndef SEEP_PRELOAD_SYS_H
#define SEEP_PRELOAD_SYS_H

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "core/attr.h"
#include "preload/cpu.h"
#include "unwind/arch.h"

// Of kernels that are newer than the headers of some C libraries.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#if __GCC_ATOMIC_LLONG_LOCK_FREE != 2
#error "counters and locks need atomic operations on 64 bits, which this CPU does not have"
#endif

// In a build for tests (-Dfaults=true) a call can be made to fail, see faults.c.
#ifdef SEEP_FAULTS
long seep_fault(long nr) __attribute__((visibility("hidden"))); // 0: the call is made, else what it returns
uint64_t seep_fault_area(uint64_t bytes) __attribute__((visibility("hidden"))); // SEEP_FAULT_SMALL: less
#else
SEEP_INLINE long seep_fault(long nr) {
    (void)nr;
    return 0;
}
SEEP_INLINE uint64_t seep_fault_area(uint64_t bytes) {
    return bytes;
}
#endif

// Sets of signals as the kernel has them: signal 1 is bit 0 of the first word.
#define SYS_SIGSET_BYTES (_NSIG / 8)
#define SYS_SIGSET_WORDS (SYS_SIGSET_BYTES / 8)

// A call of ours: not made, and -ENOSYS, once a filter of system calls is there (confined.c). What the
// program itself asks for is made by sys6_real.
long sys6(long nr, long a, long b, long c, long d, long e, long f) __attribute__((visibility("hidden")));

#define SEEP_ADDRESS_BITS CPU_ADDRESS_BITS

#define sys3(nr, a, b, c) sys6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)

// Whether a system call returned -errno.
SEEP_INLINE bool sys_failed(long result) {
    return (unsigned long)result > -4096UL;
}

// NULL on failure.
SEEP_INLINE void *sys_mmap(void *address, size_t size_bytes, int protection, int flags, int fd,
                           uint64_t off) {
#ifdef SYS_mmap2 // of 32-bit CPUs: SYS_mmap takes an offset of 32 bits, if it is there
    long result = sys6(SYS_mmap2, (long)address, (long)size_bytes, protection, flags, fd, (long)(off / 4096));
#else
    long result = sys6(SYS_mmap, (long)address, (long)size_bytes, protection, flags, fd, (long)off);
#endif
    return sys_failed(result) ? NULL : (void *)result;
}

// Bytes in a page of this machine: a power of two, at most SEEP_LARGEST_PAGE.
#define SEEP_LARGEST_PAGE (64u << 10)
#ifdef CPU_PAGE_BYTES
SEEP_INLINE uint64_t sys_page_bytes(void) {
    return CPU_PAGE_BYTES;
}
#else
SEEP_INLINE uint64_t sys_page_bytes(void) {
    return getauxval(AT_PAGESZ);
}
#endif

// What the program has forbidden itself, as far as we know. Written rarely.
struct seep_confined {
    bool locks_future;         // mlockall(MCL_FUTURE): what is mapped from now on counts as locked
    bool no_counter;           // the processor's counter may not be read (PR_SET_TSC)
    _Atomic uint32_t filtered; // filters of system calls, there or about to be: we make no call any more
    uint32_t at_start; // filters that were there before us, under which all our calls are known to live
    uint32_t pid;      // of the process that has the image
    int32_t tid_at;    // where libc keeps a thread's id, from its thread pointer; 0: not known
};
extern struct seep_confined seep_confined __attribute__((visibility("hidden")));

// confined.c: whether no filter has come that we were not told of. Asked before calls that the program itself
// need not make, where they are rare: it costs three that every program makes when it is loaded. The second
// form only looks, for children of vfork. After seep_calls_looked(true) a thread need not look again, until
// it goes back to the program. seep_calls_in_child() is called by the first thread of a forked process.
bool seep_calls_are_free(void) __attribute__((visibility("hidden")));
bool seep_calls_seem_free(void) __attribute__((visibility("hidden")));
void seep_calls_looked(bool is_so) __attribute__((visibility("hidden")));
void seep_calls_in_child(void) __attribute__((visibility("hidden")));

// Around a call that installs a filter. A child of vfork has its parent's memory, but its filters are not the
// parent's. They are no longer counted when the child leaves, by exec or exit. If exec fails,
// seep_filter_stays() takes the result of seep_filter_leaves().
void seep_filter_begins(void) __attribute__((visibility("hidden")));
void seep_filter_failed(void) __attribute__((visibility("hidden")));
uint32_t seep_filter_leaves(void) __attribute__((visibility("hidden")));
void seep_filter_stays(uint32_t nr) __attribute__((visibility("hidden")));
bool seep_filter_is_of_child(void) __attribute__((visibility("hidden")));

// private_memory.c: zeroed private memory, or NULL; the second is zeroed again in a child of fork.
void *sys_private(size_t size_bytes) __attribute__((visibility("hidden")));
void *sys_private_wiped(size_t size_bytes) __attribute__((visibility("hidden")));
// Marks memory of the library for `seep scan`: addresses in it hold nothing. For anonymous memory.
void sys_mark_as_ours(void *memory, size_t size_bytes) __attribute__((visibility("hidden")));

// None of these changes errno.
SEEP_INLINE void sys_munmap(void *address, size_t size_bytes) {
    sys3(SYS_munmap, address, size_bytes, 0);
}

// false: refused.
SEEP_INLINE bool sys_mprotect(void *address, size_t size_bytes, int protection) {
    return sys3(SYS_mprotect, address, size_bytes, protection) == 0;
}

// The descriptor, or -errno.
SEEP_INLINE int sys_open(const char *path, int flags, int mode) {
    return (int)sys6(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}

// The kernel writes a struct stat64, unless the CPU's header has another structure (CPU_STAT). Then only
// device, inode, mode, links, owner and size are filled in.
SEEP_INLINE bool sys_stat_at(int fd, const char *path, struct stat64 *ret_about, int flags) {
#ifdef CPU_STAT
    CPU_STAT about = {0};
    bool known = sys6(SYS_newfstatat, fd, (long)path, (long)&about, flags, 0, 0) == 0;
    cpu_stat_convert(&about, ret_about);
    return known;
#elif defined(SYS_newfstatat)
    return sys6(SYS_newfstatat, fd, (long)path, (long)ret_about, flags, 0, 0) == 0;
#else
    return sys6(SYS_fstatat64, fd, (long)path, (long)ret_about, flags, 0, 0) == 0;
#endif
}

// Whether this thread is the only one. false: or not known.
SEEP_INLINE bool sys_is_alone(void) {
    enum { LINKS_OF_FOLDER = 2 }; // to which the kernel adds the threads
    struct stat64 about;
    return sys_stat_at(AT_FDCWD, "/proc/self/task", &about, 0) && about.st_nlink == LINKS_OF_FOLDER + 1;
}

// The limit of 64 bits on all CPUs. NULL: not asked for, or not changed.
SEEP_INLINE bool sys_limit(int resource, const struct rlimit64 *limit, struct rlimit64 *ret_before) {
    return sys6(SYS_prlimit64, 0, resource, (long)limit, (long)ret_before, 0, 0) == 0;
}

SEEP_INLINE long sys_write_at(int fd, const void *bytes, size_t nr_bytes, uint64_t off) {
#if SEEP_ARCH_WORD == 8
    return sys6(SYS_pwrite64, fd, (long)bytes, (long)nr_bytes, (long)off, 0, 0);
#elif defined(__arm__) // 64 bits begin in an even register
    return sys6(SYS_pwrite64, fd, (long)bytes, (long)nr_bytes, 0, (long)off, (long)(off >> 32));
#else
    return sys6(SYS_pwrite64, fd, (long)bytes, (long)nr_bytes, (long)off, (long)(off >> 32), 0);
#endif
}

// Less than a second.
SEEP_INLINE void sys_nap_us(long microseconds) {
    struct timespec pause = {0, microseconds * 1000};
    sys3(SYS_nanosleep, &pause, NULL, 0);
}

// What it returns does not matter: the descriptor is gone.
SEEP_INLINE void sys_close(int fd) {
    sys3(SYS_close, fd, 0, 0);
}

// Under a filter as far as memory tells: the thread's id may be 0, not known, and the process that of a
// parent.
uint32_t sys_gettid(void) __attribute__((visibility("hidden")));
uint32_t sys_getpid(void) __attribute__((visibility("hidden")));

// clock.c: the time, without a system call once seep_clock_start() was called.
void seep_clock_start(void);
void seep_clock_note(
    void); // a filter of system calls is coming: from then on time is known to some milliseconds
uint64_t seep_clock_ns(int clock);

// readable.c: whether the 8 bytes at `address` can be read. false also where that cannot be known.
bool sys_readable(uint64_t address) __attribute__((visibility("hidden")));

#endif
