// SPDX-License-Identifier: BSD-2-Clause
//
// Whether memory can be read. The kernel is asked to copy it, by a call that fails after the copy and that
// every program of glibc makes when it is loaded. The stack of a thread is known to be there from the stack
// pointer to its end. Under a filter of system calls the kernel cannot be asked: then memory can be read that
// was a stack before the filter came.
#include "preload/proc_maps.h"
#include "preload/preload.h"

enum { PAGE = 4096, EFAULT_NR = 14, EINVAL_NR = 22 };

// ---- our own stack ----------------------------------------------------------------------------------

// Below the end of the first thread's stack the kernel itself maps nothing for 128 MiB.
// Source: Linux, arch/x86/mm/mmap.c and mm/util.c (mmap_base).
#define FIRST_STACK_BYTES (UINT64_C(64) << 20)

// libc's threads have their descriptor at the end of their stack. No other stack will be so near to it;
// asked only where nothing else can tell.
#define THREAD_STACK_BYTES (UINT64_C(1) << 20)

extern void *__libc_stack_end __attribute__((weak)); // of glibc's loader

static bool lies_between(uint64_t address, uint64_t sp, uint64_t end, uint64_t most) {
    uint64_t from = sp / PAGE * PAGE;
    return end > sp && end - sp < most && address >= from && address < end;
}

static bool is_on_first_stack(uint64_t address, uint64_t sp) {
    uint64_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : seep_g.stack_start;
    return lies_between(address, sp, end, FIRST_STACK_BYTES);
}

// ---- what was there before a filter ---------------------------------------------------------------------

enum { MAX_STACKS = 256 };
static struct { uint64_t start, end; } stacks[MAX_STACKS];
static _Atomic uint32_t nr_stacks;

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
    struct seep_maps_area area;
    if (!seep_maps_open(&maps))
        return;
    while (seep_maps_next(&maps, &area)) {
        uint32_t nr = atomic_load_explicit(&nr_stacks, memory_order_relaxed);
        if (!area.readable || nr == MAX_STACKS || !has_a_stack(&area))
            continue;
        stacks[nr].start = area.start;
        stacks[nr].end = area.end;
        atomic_store_explicit(&nr_stacks, nr + 1, memory_order_release);
    }
    seep_maps_close(&maps);
}

static bool was_a_stack(uint64_t address) {
    uint32_t nr = atomic_load_explicit(&nr_stacks, memory_order_acquire);
    for (uint32_t i = 0; i < nr; i++)
        if (address - stacks[i].start < stacks[i].end - stacks[i].start)
            return true;
    return false;
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
                                  : sys6(SYS_rt_sigprocmask, ~0L, (long)address, 0, 8, 0, 0);
    return result == -EINVAL_NR;
}

bool sys_readable(uint64_t address) {
    uint64_t sp = CPU_FRAME();
    if (address < PAGE) // where there is memory, it is none that a pointer may lead to
        return false;
    if (is_on_first_stack(address, sp))
        return true;
    if (!seep_confined.filtered)
        return can_be_copied(address);
    return was_a_stack(address) || lies_between(address, sp, sys_thread_pointer(), THREAD_STACK_BYTES);
}
