// SPDX-License-Identifier: BSD-2-Clause
//
// Whether memory can be read. The kernel is asked to copy it, by a call that fails after the copy and that
// every program of glibc makes when it is loaded. The stack of a thread is known to be there from the stack
// pointer to its end, while the program unmaps or protects nothing of it. Under a filter of system calls the
// kernel cannot be asked: then the library reads stacks that it knew before the filter, and memory that the
// program has mapped since, until the program unmaps or protects it.
#include "preload/proc_maps.h"
#include "preload/preload.h"

enum { PAGE = 4096, EFAULT_NR = 14, EINVAL_NR = 22 };

// ---- our own stack ----------------------------------------------------------------------------------

// Below the end of the first thread's stack the kernel itself maps nothing for 128 MiB. The program may, at
// an address of its choice. Source: Linux, arch/x86/mm/mmap.c and mm/util.c (mmap_base).
#define FIRST_STACK_BYTES (UINT64_C(64) << 20)

// libc's threads have their descriptor at the end of their stack. No other stack will be so near to it;
// asked only where nothing else can tell.
#define THREAD_STACK_BYTES (UINT64_C(1) << 20)

extern void *__libc_stack_end __attribute__((weak)); // of glibc's loader

static bool lies_between(uint64_t address, uint64_t sp, uint64_t end, uint64_t most) {
    uint64_t from = sp / PAGE * PAGE;
    return end > sp && end - sp < most && address >= from && address < end;
}

static _Atomic bool first_stack_has_holes; // the program has unmapped, protected or mapped parts of it

static uint64_t first_stack_end(void) {
    return &__libc_stack_end ? (uintptr_t)__libc_stack_end : seep_g.stack_start;
}

SEEP_NOINLINE void seep_readable_placed(uint64_t start, uint64_t bytes) {
    if (start < first_stack_end() && start + bytes > first_stack_end() - FIRST_STACK_BYTES)
        atomic_store_explicit(&first_stack_has_holes, true, memory_order_relaxed);
}

// ---- ranges that are known under a filter ---------------------------------------------------------------

enum { MAX_KNOWN = 256 };
#define CLAIMED_END 1 // the place is being written; no address is below 1

// A place is empty where `end` is 0. Any thread writes here, without a lock, because a signal handler may map
// memory. Writers store `end` last; walks read it first.
static struct { _Atomic uintptr_t start, end; } known[MAX_KNOWN + 1]; // the last stays empty
static _Atomic uint32_t nr_put; // places that were filled; 0 in programs without a filter

static SEEP_NOINLINE bool is_known(uint64_t address) {
    for (uint32_t i = 0; i < MAX_KNOWN; i++) {
        uintptr_t end = atomic_load_explicit(&known[i].end, memory_order_acquire);
        if (address < end && address >= atomic_load_explicit(&known[i].start, memory_order_relaxed))
            return true;
    }
    return false;
}

uint32_t seep_readable_know(uintptr_t start, uintptr_t end, bool is_rest) {
    if (!is_rest && is_known(start) && is_known(end - 1))
        return MAX_KNOWN;
    for (uint32_t i = 0; i < MAX_KNOWN; i++) {
        uintptr_t empty = 0;
        if (!atomic_compare_exchange_strong(&known[i].end, &empty, CLAIMED_END))
            continue;
        atomic_store_explicit(&known[i].start, start, memory_order_relaxed);
        atomic_store_explicit(&known[i].end, end, memory_order_release);
        nr_put++;
        return i;
    }
    return MAX_KNOWN;
}

// Empties the parts of places that lie in [start, end). Another thread may take another part of the same
// place at the same time. So the rest behind the range gets its place first, and a thread that has already
// passed that place looks again. If the old place has changed meanwhile, the rest is dropped, and the old
// place is read again.
void seep_readable_gone(uint64_t start, uint64_t bytes) {
    uint64_t end = start + bytes;
    seep_readable_placed(start, bytes);
    for (uint32_t before = 0; before != nr_put;) {
        before = nr_put;
        for (uint32_t i = 0; i < MAX_KNOWN; i++) {
            uintptr_t upper = atomic_load_explicit(&known[i].end, memory_order_acquire), seen = upper;
            uintptr_t lower = atomic_load_explicit(&known[i].start, memory_order_relaxed);
            if (upper <= CLAIMED_END || lower >= end || upper <= start)
                continue;
            uint32_t rest = upper > end ? seep_readable_know((uintptr_t)end, upper, true) : MAX_KNOWN;
            if (atomic_compare_exchange_strong(&known[i].end, &seen, lower < start ? (uintptr_t)start : 0))
                continue;
            atomic_compare_exchange_strong(&known[rest].end, &upper, 0);
            i--;
        }
    }
}

static bool has_a_stack(const struct seep_maps_area *area) {
    if (CPU_FRAME() - area->start < area->end - area->start)
        return true;
    uint64_t nr = seep_g.header->areas[SEEP_AREA_THREADS].used;
    for (uint64_t i = 0; i < nr; i++) {
        const struct seep_thread *thread = seep_g.thread_of_slot[i];
        uint64_t at = thread ? __atomic_load_n(&thread->stack_lo, __ATOMIC_RELAXED) : 0;
        if (at && at - area->start < area->end - area->start)
            return true;
    }
    return false;
}

void seep_readable_note(void) {
    struct seep_maps maps;
    if (!seep_maps_open(&maps))
        return;
    for (const struct seep_maps_area *area; (area = seep_maps_next(&maps));) {
        if (area->readable && has_a_stack(area))
            seep_readable_know((uintptr_t)area->start, (uintptr_t)area->end, false);
    }
    seep_maps_close(&maps);
}

// ---- asking -----------------------------------------------------------------------------------------

// A limit that does not exist: Linux refuses it after it has read the new value. Valgrind refuses it before
// that: there rt_sigprocmask is called, which looks at its "how" last.
static long read_as_limit(uint64_t address) {
    return sys6(SYS_prlimit64, 0, UINT32_MAX, (long)address, 0, 0, 0);
}

// Where no process has memory.
#define NO_MEMORY_RT (SEEP_ARCH_WORD == 8 ? UINT64_C(1) << 63 : UINT64_C(0xfffff000))

static enum { NOT_TRIED, BY_LIMIT, BY_MASK } how;

void seep_readable_under_valgrind(void) {
    how = BY_MASK;
}

static bool can_be_copied(uint64_t address) {
    if (how == NOT_TRIED)
        how = read_as_limit(NO_MEMORY_RT) == -EFAULT_NR ? BY_LIMIT : BY_MASK;
    long result = how == BY_LIMIT ? read_as_limit(address & ~UINT64_C(15)) // it reads 16 bytes
                                  : sys6(SYS_rt_sigprocmask, ~0L, (long)address, 0, SYS_SIGSET_BYTES, 0, 0);
    return result == -EINVAL_NR;
}

bool sys_readable(uint64_t address) {
    uint64_t sp = CPU_FRAME();
    if (address < PAGE) // where there is memory, it is none that a pointer may lead to
        return false;
    if (lies_between(address, sp, first_stack_end(), FIRST_STACK_BYTES) &&
        !atomic_load_explicit(&first_stack_has_holes, memory_order_relaxed))
        return true;
    if (!seep_confined.filtered)
        return can_be_copied(address);
    return is_known(address) || lies_between(address, sp, sys_thread_pointer(), THREAD_STACK_BYTES);
}
