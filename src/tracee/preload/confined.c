// SPDX-License-Identifier: BSD-2-Clause
//
// Filters of system calls. One may answer with an error, which we cope with, or kill. So once there is one no
// call is ours to make: a filter that the program installs by name is known before it is there
// (hooks_limits.c), and what the library will need is had by then. One that comes by an instruction of the
// program's own is not told to us: before rare calls we look whether one has come.
//
// One that was there before the program: under it this library is a guest. Where it is that of a whole
// container, or the tool's own, others have made children under it; so a child tries first whatever this
// library needs and programs often do not, and if it does not live to tell, the library stays passive and the
// program lives. Any other filter was made for this program, and may allow what that is known to call and
// nothing else: passive at once.
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preload/proc_maps.h"
#include "preload/preload.h"
#include "preload/image_window.h"

struct seep_confined seep_confined;

long sys6(long nr, long a, long b, long c, long d, long e, long f) {
    if (atomic_load_explicit(&seep_confined.filtered, memory_order_relaxed))
        return -ENOSYS;
    long fault = seep_fault(nr);
    return fault ? fault : sys6_real(nr, a, b, c, d, e, f);
}

// ---- looking ----------------------------------------------------------------------------------------

enum { UNKNOWN = UINT32_MAX };

// The number after `key` at the start of a line, which is looked for as the text comes by.
struct field {
    const char *key;
    uint32_t value;  // UNKNOWN: there is no such line yet
    uint8_t matched; // bytes of the key at the start of this line; NO_MORE: it is another line
};
#define NO_MORE UINT8_MAX

static void look_for(struct field *field, char c) {
    if (c == '\n')
        field->matched = 0;
    else if (field->matched == NO_MORE)
        return;
    else if (field->key[field->matched])
        field->matched = field->key[field->matched] == c ? (uint8_t)(field->matched + 1) : NO_MORE;
    else if (c >= '0' && c <= '9')
        field->value = (field->value == UNKNOWN ? 0 : field->value * 10) + (uint32_t)(c - '0');
    else
        field->matched = NO_MORE;
}

// Where the line ends, or `nr`. Most of the file is of other lines.
static long end_of_line(const char *text, long from, long nr) {
    while (from < nr && text[from] != '\n')
        from++;
    return from;
}

static bool is_read(const struct field *field) {
    return field->value != UNKNOWN && (field->matched == 0 || field->matched == NO_MORE);
}

// Filters that a process is under, of the thread that asks where it is its own. UNKNOWN: it cannot be read.
// Kernels before 5.9 say only whether there are some: then it is 1. The file is read in parts, because signal
// handlers that allocate, or execute a program, may have little stack. The thread that asks first reads two
// large parts. Other threads read small parts meanwhile, and after the first thread has left by longjmp.
static char large_part[768];
static _Atomic uint32_t large_part_taken; // riscv64 exchanges no bytes

static uint32_t nr_filters(const char *status) {
    struct field mode = {"Seccomp:\t", UNKNOWN, 0}, filters = {"Seccomp_filters:\t", UNKNOWN, 0};
    char small_part[64], *text = small_part;
    size_t room = sizeof(small_part);
    int fd = sys_open(status, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return UNKNOWN;
    // acquire pairs with the release below: one writes to the large part at a time
    if (!atomic_exchange_explicit(&large_part_taken, 1, memory_order_acquire)) {
        text = large_part;
        room = sizeof(large_part);
    }
    long nr;
    while (!is_read(&filters) && (nr = sys3(SYS_read, fd, text, room)) > 0)
        for (long i = 0; i < nr; i++) {
            if (mode.matched == NO_MORE && filters.matched == NO_MORE)
                i = end_of_line(text, i, nr);
            if (i == nr)
                break;
            look_for(&mode, text[i]);
            look_for(&filters, text[i]);
        }
    sys_close(fd);
    if (text == large_part)
        atomic_store_explicit(&large_part_taken, 0, memory_order_release);
    return mode.value == 0 || mode.value == UNKNOWN ? mode.value
           : filters.value == UNKNOWN               ? 1
                                                    : filters.value;
}

// Both are an address that only that thread has. The first: the thread that has looked and runs no code of
// the program until it says so. The second: the first thread of a forked process, until it has looked; the
// kernel makes half as many entries of /proc for "self" as for "thread-self". A later thread may have that
// address.
static void *_Atomic looked, *_Atomic first_thread;

static bool is_this(void *_Atomic *thread) {
    return atomic_load_explicit(thread, memory_order_relaxed) == (void *)&errno;
}

void seep_calls_looked(bool is_so) {
    atomic_store_explicit(&looked, is_so ? (void *)&errno : NULL, memory_order_relaxed);
    atomic_store_explicit(&first_thread, NULL, memory_order_relaxed);
}

void seep_calls_in_child(void) {
    seep_calls_looked(false);
    atomic_store_explicit(&large_part_taken, false, memory_order_relaxed);
    atomic_store_explicit(&first_thread, (void *)&errno, memory_order_relaxed);
}

// What cannot be read is taken for none: in a chroot, without descriptors, there is still the whole report to
// lose.
bool seep_calls_seem_free(void) {
    if (seep_confined.filtered)
        return false;
    if (is_this(&looked))
        return true;
    uint32_t nr = nr_filters(is_this(&first_thread) ? "/proc/self/status" : "/proc/thread-self/status");
    return nr == UNKNOWN || nr <= seep_confined.at_start;
}

bool seep_calls_are_free(void) {
    bool free = seep_calls_seem_free();
    if (!free && !seep_confined.filtered)
        atomic_fetch_add(&seep_confined.filtered, 1);
    return free;
}

// ---- filters of the program's own ------------------------------------------------------------------------

// The thread whose child of vfork has set filters, and their number. The child has that thread's address of
// errno. The parent would keep all that the child writes here.
static void *_Atomic thread_of_child;
static uint32_t nr_of_child;

bool seep_filter_is_of_child(void) {
    return is_this(&thread_of_child);
}

static void count_of_child(uint32_t nr) {
    atomic_fetch_add(&seep_confined.filtered, nr);
    nr_of_child += nr;
    atomic_store_explicit(&thread_of_child, nr_of_child ? (void *)&errno : NULL, memory_order_relaxed);
}

void seep_filter_begins(void) {
    bool of_child =
        seep_filter_is_of_child() || (seep_calls_seem_free() && sys_getpid() != seep_confined.pid);
    if (of_child)
        count_of_child(1);
    else
        atomic_fetch_add(&seep_confined.filtered, 1);
}

void seep_filter_failed(void) {
    if (seep_filter_is_of_child())
        count_of_child(-1U);
    else
        atomic_fetch_sub(&seep_confined.filtered, 1);
}

uint32_t seep_filter_leaves(void) {
    uint32_t nr = seep_filter_is_of_child() ? nr_of_child : 0;
    if (nr)
        count_of_child(-nr);
    return nr;
}

void seep_filter_stays(uint32_t nr) {
    if (nr)
        count_of_child(nr);
}

// ---- who we are, without a call ---------------------------------------------------------------------------

enum { DESCRIPTOR_FROM = CPU_DESCRIPTOR_FROM, DESCRIPTOR_TO = CPU_DESCRIPTOR_TO, GLIBC_TID = CPU_GLIBC_TID };

static uint32_t word_of_thread(int32_t at) {
    uint32_t word;
    __builtin_memcpy(&word, (const char *)sys_thread_pointer() + at,
                     sizeof(word)); // NOLINT(performance-no-int-to-ptr)
    return word;
}

// libc keeps the id in the thread's descriptor, at a place that it does not tell: there is one word that has
// it.
void seep_place_of_tid_learn(void) {
    uint64_t pointer = sys_thread_pointer();
    uint32_t tid = (uint32_t)sys3(SYS_gettid, 0, 0, 0);
    if (!seep_maps_readable(pointer + (int64_t)DESCRIPTOR_FROM, DESCRIPTOR_TO - DESCRIPTOR_FROM))
        return;
    if (GLIBC_TID != 0 && word_of_thread(GLIBC_TID) == tid) {
        seep_confined.tid_at = GLIBC_TID;
        return;
    }
    int32_t found = 0;
    for (int32_t at = DESCRIPTOR_FROM; at < DESCRIPTOR_TO; at += 4) {
        if (word_of_thread(at) != tid)
            continue;
        if (found)
            return; // the process 1 of a container, say
        found = at;
    }
    seep_confined.tid_at = found;
}

uint32_t seep_tid_of_libc(void) {
    return seep_confined.tid_at ? word_of_thread(seep_confined.tid_at) : 0;
}

uint32_t sys_gettid(void) {
    return seep_confined.filtered ? seep_tid_of_libc() : (uint32_t)sys3(SYS_gettid, 0, 0, 0);
}

uint32_t sys_getpid(void) {
    return seep_confined.filtered ? seep_confined.pid : (uint32_t)sys3(SYS_getpid, 0, 0, 0);
}

uint32_t seep_thread_identify(uint32_t *ret_pid) {
    uint32_t tid = sys_gettid(), of_libc = seep_tid_of_libc();
    bool is_lent = of_libc != tid && sys3(SYS_tgkill, seep_confined.pid, of_libc, 0) == 0;
    *ret_pid = is_lent ? seep_confined.pid : sys_getpid();
    return is_lent ? of_libc : tid;
}

// ---- a filter is about to come ---------------------------------------------------------------------------

void seep_filter_is_coming(void) {
    static _Atomic uint32_t prepared;
    if (atomic_exchange(&prepared, 1) || !seep_calls_are_free())
        return;
    seep_window_open_all();
    seep_private_reserve();
    seep_readable_note();
    seep_clock_note();
}

// ---- one that was there before us -------------------------------------------------------------------------

// Every call that allocators do not make as well, with arguments that a filter may look at, and none that
// works.
static const struct {
    uint16_t nr;
    int16_t a, b, c;
} calls[] = {
    {SYS_memfd_create, 0, 1, 0},
    {SYS_ftruncate, -1, 0, 0}, // beyond RLIMIT_FSIZE a signal would end us, which is no filter
    {SYS_lseek, -1, 0, SEEK_DATA},
    {SYS_prlimit64, 0, RLIMIT_FSIZE, 0},
    {SYS_prlimit64, 0, -1, 0},
    {SYS_connect, -1, 0, 0},
    {SYS_sendmsg, -1, 0, 0},
    {SYS_sendto, -1, 0, 0},
    {SYS_getsockopt, -1, SOL_SOCKET, SO_PEERCRED},
    {SYS_ppoll, 0, 1, 0},
    {SYS_madvise, 0, 4096, MADV_DONTDUMP},
    {SYS_munlock, 0, 4096, 0},
    {SYS_mincore, 0, 4096, 0},
    {SYS_mremap, 0, 4096, 4096},
    {SYS_prctl, 16 /* PR_GET_NAME */, 0, 0},
    {SYS_prctl, 25 /* PR_GET_TSC */, 0, 0},
    {SYS_sigaltstack, 0, 0, 0},
    {SYS_rt_sigprocmask, -1, 0, 0},
    {SYS_sched_yield, 0, 0, 0},
    {SYS_nanosleep, 0, 0, 0},
    {SYS_readlinkat, AT_FDCWD, 0, 0},
};

static _Noreturn void try_all(void) {
    struct seep_file_id id;
    bool is_known = seep_file_identify(-1, &id);
    (void)is_known;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(calls); i++)
        sys3(calls[i].nr, (long)calls[i].a, (long)calls[i].b, (long)calls[i].c);
    sys3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sys_mmap(NULL, 4096, PROT_NONE, MAP_SHARED | MAP_NORESERVE, -1, 0);
    sys3(SYS_tgkill, sys_getpid(), sys_gettid(), 0);
    for (;;)
        sys3(SYS_exit_group, 0, 0, 0);
}

bool seep_sandbox_kills(uint32_t nr_of_tool) {
    uint32_t nr = nr_filters("/proc/thread-self/status");
    if (nr == 0 || nr == UNKNOWN)
        return false;
    // As many as the first process of this container has are the container's.
    if (nr != nr_of_tool && nr != nr_filters("/proc/1/status"))
        return true;
    seep_confined.at_start = nr;
    // As fork, but no handler of the program's runs and no signal tells of the child's end.
    long pid = sys6(SYS_clone, 0, 0, 0, 0, 0, 0);
    if (pid == 0)
        try_all();
    int status = -1;
    long waited = -4;
    while (pid > 0 && waited == -4 /* EINTR */)
        waited = sys6(SYS_wait4, pid, (long)&status, 0x40000000 /* __WALL */, 0, 0, 0);
    return pid <= 0 || waited != pid || status != 0;
}
