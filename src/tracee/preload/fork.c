// SPDX-License-Identifier: BSD-2-Clause
//
// A child of fork, or of any clone without CLONE_VM, gets an image of its own at its first heap
// operation: until then it costs nothing, and it never writes to its parent's. It is recognised by
// memory that the kernel wipes in children, so raw clones are seen too. What the parent does between
// the fork and that first operation is undone in the child's image (fork_undo.h).
#include <errno.h>
#include <fcntl.h>

#include "preload/at_peak.h"
#include "preload/annotation.h"
#include "preload/custom_pool.h"
#include "preload/mapping.h"
#include "preload/fork_undo.h"
#include "preload/image_window.h"
#include "preload/proc_path.h"

enum { WIPED = 0, OWN = 1, SETTING_UP = 2 };

// Emulators of the kernel (qemu-user) take MADV_WIPEONFORK and do nothing. Where start.c finds that, the
// atfork handler does it; a child of a raw clone, which runs none, is not recognised there.
static void wipe(void) {
    uint32_t nr_slots = seep_g.header ? (uint32_t)seep_g.header->areas[SEEP_AREA_THREADS].used : 0;
    for (uint32_t i = 0; i < nr_slots; i++)
        if (seep_g.thread_of_slot[i])
            *seep_g.thread_of_slot[i] = (struct seep_thread){.guard = SEEP_GUARD_WIPED};
    atomic_store_explicit(&seep_g.alive[1], 0, memory_order_relaxed);
    atomic_store_explicit(seep_g.alive, WIPED, memory_order_release);
}

bool seep_image_is_ours(void) {
    return atomic_load_explicit(&seep_g.entry, memory_order_acquire) == SEEP_ENTRY_READY && seep_g.alive &&
           atomic_load_explicit(seep_g.alive, memory_order_acquire) == OWN;
}

void seep_fork_none_is_ours(void) {
    atomic_store_explicit(&seep_g.entry, SEEP_ENTRY_PASSIVE, memory_order_release);
    atomic_store_explicit(seep_g.alive, SETTING_UP, memory_order_release);
}

// ---- news of children -------------------------------------------------------------------------------

// Any child may write what it likes here: it is no more than a number in a report.
static struct news { _Atomic uint32_t forks, execs; } * news;

enum { NEWS_BYTES = 4096, NEWS_MOST = 1 << 20 };

void seep_news_begin(void) {
    void *fresh = seep_g.config.ignore_children
                      ? NULL
                      : sys_mmap(NULL, NEWS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fresh) // the look at a process that leaves passes it over
        sys_mark_as_ours(fresh, NEWS_BYTES);
    if (news)
        sys_munmap(news, NEWS_BYTES);
    news = fresh;
    seep_own_note(fresh, NEWS_BYTES);
}

uint64_t seep_news_part(uint64_t *ret_bytes) {
    *ret_bytes = news ? NEWS_BYTES : 0;
    return (uintptr_t)news;
}

void seep_news_tell(enum seep_lost reason, uint32_t change) {
    if (news)
        atomic_fetch_add_explicit(reason == SEEP_LOST_FORK ? &news->forks : &news->execs, change,
                                  memory_order_relaxed);
}

static void take(_Atomic uint32_t *count, enum seep_lost reason) {
    if (!atomic_load_explicit(count, memory_order_relaxed))
        return;
    uint32_t value = atomic_exchange_explicit(count, 0, memory_order_relaxed);
    if (value <= NEWS_MOST)
        __atomic_fetch_add(seep_lost_place(reason), value, __ATOMIC_RELAXED);
}

void seep_news_take(void) {
    if (!news)
        return;
    take(&news->forks, SEEP_LOST_FORK);
    take(&news->execs, SEEP_LOST_EXEC);
}

// Of a fork: when it was, and of when the image is that the child will copy. A child without an image that
// forks leaves its own children its parent's.
struct moment {
    uint64_t fork_ns;
    uint64_t image_ns;
    uint64_t first_sp; // see stack_of_first
};

static struct moment pending; // taken by the parent: it may go on long before the child does
static struct moment of_fork; // in a child

bool seep_fork_was_told(void) {
    return seep_g.alive && atomic_load_explicit(&seep_g.alive[1], memory_order_relaxed);
}

uint64_t seep_fork_ns(void) {
    return seep_fork_was_told() ? of_fork.fork_ns : UINT64_MAX;
}

uint64_t seep_fork_image_ns(void) {
    return seep_fork_was_told() ? of_fork.image_ns : UINT64_MAX;
}

// In a child: the thread that makes its image, by an address that only this thread has; and what passed by
// meanwhile: events of other threads that waited too long, and of signal handlers in that thread.
static void *_Atomic setter;
static uint32_t setter_tid; // a child of vfork has the address of its parent's thread
static _Atomic uint32_t nr_passed, nr_reentered;
static _Atomic bool is_overdue;                      // a thread has waited for it as long as one may
static bool is_given_up;                             // it is taken for left
static uint64_t setter_frame;                        // where it began
static uint64_t blocked_by_setter[SYS_SIGSET_WORDS]; // signals that the program has not blocked itself

static bool is_setter(void) {
    return atomic_load_explicit(&setter, memory_order_relaxed) == (void *)&errno &&
           setter_tid == sys_gettid();
}

static bool another_sets_up(void) {
    return atomic_load_explicit(seep_g.alive, memory_order_acquire) == SETTING_UP &&
           atomic_load_explicit(&seep_g.entry, memory_order_acquire) != SEEP_ENTRY_PASSIVE && !is_setter();
}

// A copy of a large image takes a while, and its thread needs a processor. That thread may also have ended.
enum { NR_YIELDS = 30, NR_ROUNDS = 2000 };

static void wait_for_setter(void) {
    if (atomic_load_explicit(&is_overdue, memory_order_relaxed))
        return;
    for (int i = 0; another_sets_up() && seep_calls_seem_free(); i++) {
        if (i < NR_YIELDS) {
            sys3(SYS_sched_yield, 0, 0, 0);
        } else if (i < NR_ROUNDS) {
            sys_nap_us(1000);
        } else {
            atomic_store_explicit(&is_overdue, true, memory_order_relaxed);
            break;
        }
    }
}

// "232 0x4 ... 0x7ffd0000 0x7f000000": the last but one; of a thread that runs only "running".
// Source: proc_pid_syscall(5).
static uint64_t sleeping_sp(uint32_t tid) {
    struct seep_proc_path path = seep_proc_path("/proc/self/task/", tid, "/syscall");
    char text[256];
    int fd = sys_open(path.text, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    long got = sys3(SYS_read, fd, text, sizeof(text));
    sys_close(fd);
    uint64_t before = 0, last = 0;
    for (long i = 0; i < got; i++) {
        uint32_t digit = (uint32_t)(text[i] >= 'a' ? text[i] - 'a' + 10 : text[i] - '0');
        if (text[i] == ' ') {
            before = last;
            last = 0;
        } else if (digit < 16) {
            last = last << 4 | digit; // an 'x' is no digit, and the 0 before it adds none
        }
    }
    return before;
}

// The child of another thread has the first one's stack without its thread: what is below its stack pointer
// is old. It is the kernel that knows that place, while the first thread sleeps. 0: not known.
static uint64_t stack_of_first(void) {
    uint32_t pid = sys_getpid();
    bool may = seep_image_is_ours() && pid != sys_gettid() && seep_calls_seem_free();
    return may ? sleeping_sp(pid) : 0;
}

void seep_fork_prepare(void) {
    seep_fork_end_left();
    if (seep_g.alive) // half of an image is no start for a child
        wait_for_setter();
    pending.fork_ns = pending.image_ns = seep_clock_ns(CLOCK_MONOTONIC);
    pending.first_sp = stack_of_first();
    if (seep_g.alive && atomic_load_explicit(seep_g.alive, memory_order_acquire) != OWN &&
        seep_fork_was_told()) {
        pending.image_ns = of_fork.image_ns;
        pending.first_sp = of_fork.first_sp;
    }
    if (seep_image_is_ours())
        seep_news_take();
    seep_undo_prepare();
}

void seep_fork_in_child(void) {
    if (atomic_load_explicit(&seep_g.entry, memory_order_relaxed) != SEEP_ENTRY_READY)
        return;
    of_fork = pending;
    seep_calls_in_child();
    atomic_store_explicit(&nr_passed, 0, memory_order_relaxed);
    atomic_store_explicit(&nr_reentered, 0, memory_order_relaxed);
    atomic_store_explicit(&is_overdue, false, memory_order_relaxed);
    seep_undo_in_child();
    if (seep_g.emulated)
        wipe();
    atomic_store_explicit(&seep_g.alive[1], 1, memory_order_relaxed);
}

static void forget_parent(void) {
    // Locks may have been held by threads that do not exist here.
    __builtin_memset(seep_g.locks, 0, sizeof(seep_g.locks));
}

// A handler that closes all descriptors and opens files would put one of these in place of the image's, which
// is made as large as the image, mapped and closed. Not faults: where one is blocked the kernel kills, and
// the stack may end here.
static bool create_without_signals(void) {
    const uint64_t one = 1;
    const uint64_t faults = one << (SIGILL - 1) | one << (SIGTRAP - 1) | one << (SIGBUS - 1) |
                            one << (SIGFPE - 1) | one << (SIGSEGV - 1) | one << (SIGSYS - 1);
    uint64_t all[SYS_SIGSET_WORDS], before[SYS_SIGSET_WORDS] = {0};
    for (int i = 0; i < SYS_SIGSET_WORDS; i++)
        all[i] = i ? UINT64_MAX : ~faults;
    if (sys6(SYS_rt_sigprocmask, SIG_BLOCK, (long)all, (long)before, SYS_SIGSET_BYTES, 0, 0) != 0)
        return false;
    for (int i = 0; i < SYS_SIGSET_WORDS; i++)
        blocked_by_setter[i] = all[i] & ~before[i];
    bool done = seep_image_create_as_copy();
    for (int i = 0; i < SYS_SIGSET_WORDS; i++)
        blocked_by_setter[i] = 0;
    // Whatever filter came meanwhile: the mask is the program's own, and libc's fork makes this call, too.
    sys6_real(SYS_rt_sigprocmask, SIG_SETMASK, (long)before, 0, SYS_SIGSET_BYTES, 0, 0);
    return done;
}

static bool create_image(void) {
    if (seep_g.config.ignore_children || !seep_calls_are_free())
        return false;
    seep_calls_looked(true);
    bool done = create_without_signals();
    seep_calls_looked(false);
    return done;
}

static bool set_up(void) {
    forget_parent();
    if (!create_image()) {
        if (!seep_g.config.ignore_children)
            seep_news_tell(SEEP_LOST_FORK, 1);
        atomic_store_explicit(&seep_g.entry, SEEP_ENTRY_PASSIVE, memory_order_release);
        seep_undo_drop();
        seep_window_leave_parents();
        return false;
    }
    // Another thread than the one that forked may come first. That one keeps its memory, which is wiped. The
    // one that forked keeps its slot with it, because it may do nothing for a while after this.
    struct seep_thread *self = seep_self();
    uint32_t pid, tid = seep_thread_identify(&pid);
    for (uint32_t i = 0; i < seep_g.header->areas[SEEP_AREA_THREADS].used; i++) {
        // None of the parent's other threads is here.
        seep_g.threads[i].tid = seep_g.thread_of_slot[i] == self ? tid : 0;
        if (self == &seep_nobody)
            seep_g.thread_of_slot[i] = NULL;
    }
    if (self != &seep_nobody)
        self->pid = pid;
    seep_dump_in_child();
    seep_mapping_index_again();
    seep_peak_begin();
    seep_custom_pools_in_child();
    seep_annotations_in_child();
    if (seep_fork_was_told() && of_fork.first_sp)
        seep_region_add(SEEP_REGION_FIRST_STACK, of_fork.first_sp, 0);
    return true;
}

static void count_passed(_Atomic uint32_t *count, enum seep_lost reason) {
    uint32_t nr = atomic_exchange_explicit(count, 0, memory_order_seq_cst);
    if (nr)
        __atomic_fetch_add(seep_lost_place(reason), nr, __ATOMIC_RELAXED);
}

// Whether the thread itself was making the image, and the handler of a fault has left that by longjmp.
static bool is_left(uint64_t frame) {
    if (!is_setter() || frame < setter_frame)
        return false;
    seep_calls_looked(false);
    return seep_calls_are_free() && !seep_is_on_alternate_stack();
}

// The child goes on without an image. A longjmp that keeps the mask, as longjmp does, has kept what was
// blocked for the making. If the program has set its mask since, no signal of it is unblocked: libc never
// blocks its own signals for a program, so then these are not blocked any more.
static void give_up_set_up(void) {
    const uint64_t of_libc = UINT64_C(3) << 31; // 32 and 33
    uint64_t unblocked[SYS_SIGSET_WORDS], now[SYS_SIGSET_WORDS] = {0};
    seep_news_tell(SEEP_LOST_FORK, 1);
    is_given_up = true;
    atomic_store_explicit(&seep_g.entry, SEEP_ENTRY_PASSIVE, memory_order_release);
    for (int i = 0; i < SYS_SIGSET_WORDS; i++) {
        unblocked[i] = blocked_by_setter[i];
        blocked_by_setter[i] = 0;
    }
    atomic_store_explicit(&setter, NULL, memory_order_relaxed);
    sys6(SYS_rt_sigprocmask, SIG_UNBLOCK, 0, (long)now, SYS_SIGSET_BYTES, 0, 0);
    if (!(unblocked[0] & of_libc & ~now[0]))
        sys6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)unblocked, 0, SYS_SIGSET_BYTES, 0, 0);
}

void seep_fork_end_left(void) {
    // What libc's fork has on the stack; the kernel puts more there before it runs a handler.
    enum { OF_FORK = 512 };
    if (is_left(CPU_FRAME() + OF_FORK))
        give_up_set_up();
}

// Whether an event that found no image has one now after all.
static bool pass(void) {
    _Atomic uint32_t *count = is_setter() ? &nr_reentered : &nr_passed;
    atomic_fetch_add_explicit(count, 1, memory_order_seq_cst);
    if (atomic_load_explicit(seep_g.alive, memory_order_seq_cst) != OWN)
        return false; // the thread that makes the image counts it
    atomic_fetch_sub_explicit(count, 1, memory_order_seq_cst);
    return true;
}

bool seep_fork_child(uint64_t frame, bool *ret_made) {
    uint32_t wiped = WIPED;
    *ret_made = false;
    if (atomic_compare_exchange_strong_explicit(seep_g.alive, &wiped, SETTING_UP, memory_order_acquire,
                                                memory_order_acquire)) {
        // A raw clone made this process. Its parent has left the making of its own image, or was at it.
        if (atomic_load_explicit(&setter, memory_order_relaxed)) {
            give_up_set_up();
            return false;
        }
        setter_frame = frame;
        is_given_up = false;
        setter_tid = sys_gettid();
        atomic_store_explicit(&setter, (void *)&errno, memory_order_relaxed);
        bool own = set_up();
        atomic_store_explicit(seep_g.alive, own ? OWN : SETTING_UP, memory_order_seq_cst);
        atomic_store_explicit(&setter, NULL, memory_order_relaxed);
        if (own) {
            count_passed(&nr_passed, SEEP_LOST_NO_THREAD);
            count_passed(&nr_reentered, SEEP_LOST_REENTERED);
            // It was not left: the handler is on a stack that the kernel does not tell of (SS_AUTODISARM),
            // and has come back. What other threads do is not recorded.
            if (is_given_up)
                __atomic_fetch_add(seep_lost_place(SEEP_LOST_PASSIVE), 1, __ATOMIC_RELAXED);
        }
        *ret_made = own;
        return own;
    }
    if (is_left(frame)) {
        give_up_set_up();
        return false;
    }
    wait_for_setter();
    return atomic_load_explicit(seep_g.alive, memory_order_acquire) == OWN ||
           (atomic_load_explicit(&seep_g.entry, memory_order_acquire) != SEEP_ENTRY_PASSIVE && pass());
}

bool seep_fork_lacks_image(void) {
    return atomic_load_explicit(&seep_g.entry, memory_order_acquire) == SEEP_ENTRY_READY && seep_g.alive &&
           atomic_load_explicit(seep_g.alive, memory_order_acquire) == WIPED;
}

void seep_fork_make_image(void) {
    bool is_made;
    if (seep_fork_lacks_image())
        seep_fork_child(CPU_FRAME(), &is_made);
}
