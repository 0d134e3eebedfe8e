// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// The maps that all programs of the user side share, and the few things done with each of them. Sizes
// marked "set by the host" are only the least that loads.
#ifndef SEEP_BPF_TABLES_BPF_H
#define SEEP_BPF_TABLES_BPF_H

#include "bpf/kernel.h"
#include "image/bpf_events.h"
#include "image/layout.h"

// Set before loading, then constant: what is false costs nothing, its code is never verified.
const volatile bool seep_unwind_cfi = true; // bpf_loop is there
const volatile uint32_t seep_sample = 1;    // about one allocation in so many
const volatile uint32_t seep_self = 0;      // our own pid, never traced
const volatile uint32_t seep_scope = 0;     // enum seep_bpf_scope
const volatile bool seep_follow = true;     // children too
const volatile bool seep_timed = false;     // events say when they were
const volatile bool seep_find_vma = false;  // bpf_find_vma is there and of use

// Written by any program, read by the host.
uint64_t seep_lost[SEEP_BPF_LOST_NR];

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096); // bytes, set by the host
} seep_events SEC(".maps");

// Ids of stacks that are in the ring already. One that falls out is sent again, no more.
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 65536);
    __type(key, uint64_t);
    __type(value, uint32_t);
} seep_seen SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, SEEP_BPF_PROCESSES_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, uint32_t);
    __type(value, struct seep_bpf_process);
} seep_processes SEC(".maps");

// The one of SEEP_BPF_SCOPE_CGROUP.
struct {
    __uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, uint32_t);
} seep_cgroup SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, SEEP_BPF_FILES_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct seep_bpf_file);
    __type(value, struct seep_bpf_file_code);
} seep_files SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); // set by the host, as for the next two
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, uint32_t);
    __type(value, struct seep_bpf_mapping);
} seep_mappings SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, uint32_t);
    __type(value, uint64_t);
} seep_index SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, uint32_t);
    __type(value, uint64_t);
} seep_rows SEC(".maps");

// The inner part of a stack, copied at once: most reads of a walk are then plain loads.
#define SEEP_WINDOW_WORDS 256u

// The rows that this thread's walks met last, by the address that was looked up. 256 of them: the whole of
// what is kept of a thread still fits into 16 KiB.
#define SEEP_KNOWN_ROWS 256u
struct seep_bpf_known_row {
    uint64_t address;
    uint32_t generation; // of the process: code that goes changes it
    uint32_t row;        // the upper half
};

// What is kept of a thread. Not per CPU: a probe's program can be preempted by another's.
struct seep_bpf_thread {
    uint64_t call_sp; // stack pointer at the entry of the outermost allocation call; 0: in none
    uint64_t call_cookie;
    uint64_t call_size;
    uint64_t call_out;  // where posix_memalign puts its result; for realloc the old block
    uint64_t call_old;  // of mremap: the old size
    uint64_t passed_sp; // a realloc or new that is not in the sample and may jump into malloc; 0: none
    uint64_t passed_return;
    uint64_t passed_pc;
    uint64_t new_sp; // stack pointer at the entry of the latest operator new; 0: it has returned
    uint64_t new_return;
    uint64_t new_size;
    uint64_t new_pc;
    uint64_t freed; // the latest block that was given to a function that may call or jump to another; 0: none
    uint64_t freed_sp;
    uint64_t freed_return;
    uint64_t freed_pc;
    uint32_t new_is_seen; // a probe stands where it returns
    uint32_t new_via;
    uint32_t call_is_taken; // false: a realloc of a block of the sample whose new block is not in it
    uint32_t is_walking;    // else a page fault of our own reads would use the same scratch
    uint64_t window_start;
    uint64_t window[SEEP_WINDOW_WORDS];
    struct seep_bpf_known_row rows[SEEP_KNOWN_ROWS];
    struct seep_bpf_stack stack; // with its frames: what goes to the ring
    uint64_t frames[SEEP_BPF_FRAMES_MAX];
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct seep_bpf_thread);
} seep_threads SEC(".maps");

static inline void seep_count_lost(enum seep_bpf_lost reason) {
    __sync_fetch_and_add(&seep_lost[reason], 1);
}

// What is kept of the thread, made when it is first asked for. NULL: the kernel has no memory, and the loss
// is counted.
static __always_inline struct seep_bpf_thread *seep_thread_of(struct task_struct *task) {
    struct seep_bpf_thread *thread =
        bpf_task_storage_get(&seep_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!thread)
        seep_count_lost(SEEP_BPF_LOST_THREAD);
    return thread;
}

static inline void seep_fill_event(struct seep_bpf_event *event, uint8_t kind, uint8_t via,
                                   uint64_t address) {
    uint64_t ids = bpf_get_current_pid_tgid();
    event->kind = kind;
    event->via = via;
    event->detail = 0;
    event->pid = ids >> 32;
    event->tid = (uint32_t)ids;
    bool of_life =
        kind == SEEP_BPF_MET || kind == SEEP_BPF_FORK || kind == SEEP_BPF_EXEC || kind == SEEP_BPF_EXIT;
    event->time_us = of_life || seep_timed ? (uint32_t)(bpf_ktime_get_ns() / 1000) : 0;
    event->address = address;
}

// The host looks every few milliseconds; waking it up would cost more than the event.
static inline bool seep_send(uint8_t kind, uint8_t via, uint64_t address, uint64_t flags,
                             enum seep_bpf_lost reason) {
    struct seep_bpf_event *event = bpf_ringbuf_reserve(&seep_events, sizeof(*event), 0);
    if (!event) {
        seep_count_lost(reason);
        return false;
    }
    seep_fill_event(event, kind, via, address);
    bpf_ringbuf_submit(event, flags);
    return true;
}

static __always_inline void seep_send_detailed(uint8_t kind, uint8_t via, uint16_t detail, uint64_t address,
                                               uint64_t size, uint64_t stack) {
    struct seep_bpf_alloc *alloc = bpf_ringbuf_reserve(&seep_events, sizeof(*alloc), 0);
    if (!alloc) {
        seep_count_lost(SEEP_BPF_LOST_ALLOC);
        return;
    }
    seep_fill_event(&alloc->event, kind, via, address);
    alloc->event.detail = detail;
    alloc->size = size;
    alloc->stack = stack;
    bpf_ringbuf_submit(alloc, BPF_RB_NO_WAKEUP);
}

static inline void seep_send_alloc(uint8_t kind, uint8_t via, uint64_t address, uint64_t size,
                                   uint64_t stack) {
    seep_send_detailed(kind, via, 0, address, size, stack);
}

#endif
