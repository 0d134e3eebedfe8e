// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// The heap of user programs, by probes on the functions of their allocator. An allocation is seen when it
// returns, a free when it is called; only the outermost of calls within calls counts, which is known by
// the stack pointer at its entry. Nothing here waits, and nothing is changed in the program.
//
// A return probe puts the kernel's trampoline in place of the return address. On a function that throws
// this would end the program, so the host never puts one on operator new.
#include "bpf/unwind.bpf.h"

char seep_license[] SEC("license") = "Dual BSD/GPL";

// Kernel functions of 6.13 and later; only the session program uses them.
extern bool bpf_session_is_return(void) __ksym __weak;

// Blocks that were taken by a sample: the free of any other is not worth an event.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1); // set by the host
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct seep_bpf_block);
    __type(value, uint8_t);
} seep_sampled SEC(".maps");

static inline bool seep_is_sampled(uint64_t address) {
    struct seep_bpf_block block = {.address = address, .pid = bpf_get_current_pid_tgid() >> 32};
    return bpf_map_lookup_elem(&seep_sampled, &block) != NULL;
}

static inline void seep_sampled_add(uint64_t address) {
    struct seep_bpf_block block = {.address = address, .pid = bpf_get_current_pid_tgid() >> 32};
    uint8_t one = 1;
    if (seep_sample > 1 && bpf_map_update_elem(&seep_sampled, &block, &one, BPF_ANY))
        seep_count_lost(SEEP_BPF_LOST_SAMPLED);
}

// false: nothing to do, this block was not in the sample.
static inline bool seep_sampled_remove(uint64_t address) {
    struct seep_bpf_block block = {.address = address, .pid = bpf_get_current_pid_tgid() >> 32};
    return seep_sample <= 1 || bpf_map_delete_elem(&seep_sampled, &block) == 0;
}

// Whether the call at `sp` is made by the outermost one. One that never returned (longjmp) has a stack
// pointer at or inside the new one's, except for a jump from one function into another, whose return
// address is the trampoline already.
static inline bool seep_is_inner(const struct seep_bpf_thread *thread, uint64_t sp) {
    if (!thread->call_sp || sp > thread->call_sp)
        return false;
    if (sp < thread->call_sp)
        return true;
    uint64_t replaced = seep_replaced(sp), found = 0;
    bpf_probe_read_user(&found, sizeof(found), (const void *)sp);
    return replaced && replaced != found;
}

// A product that overflows is an allocation that fails: its size is of no interest.
static inline void seep_read_arguments(const struct pt_regs *regs, uint8_t shape, uint64_t *ret_size,
                                       uint64_t *ret_out) {
    *ret_out = 0;
    switch (shape) {
    case SEEP_BPF_SIZE_2:
        *ret_size = regs->rsi;
        break;
    case SEEP_BPF_PRODUCT:
        *ret_size = regs->rdi * regs->rsi;
        break;
    case SEEP_BPF_REALLOC:
        *ret_size = regs->rsi;
        *ret_out = regs->rdi;
        break;
    case SEEP_BPF_REALLOC_PRODUCT:
        *ret_size = regs->rsi * regs->rdx;
        *ret_out = regs->rdi;
        break;
    case SEEP_BPF_OUT:
        *ret_size = regs->rdx;
        *ret_out = regs->rdi;
        break;
    default:
        *ret_size = regs->rdi;
        break;
    }
}

static inline bool seep_is_resize(uint8_t shape) {
    return shape == SEEP_BPF_REALLOC || shape == SEEP_BPF_REALLOC_PRODUCT;
}

// The entry of an allocation function. false: its return is of no interest.
static __noinline bool seep_enter(struct pt_regs *regs, uint64_t cookie) {
    struct task_struct *task = bpf_get_current_task_btf();
    struct seep_bpf_thread *thread =
        bpf_task_storage_get(&seep_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!thread) {
        seep_count_lost(SEEP_BPF_LOST_THREAD);
        return false;
    }
    uint64_t sp = regs->rsp;
    if (seep_is_inner(thread, sp))
        return false;
    uint8_t shape = SEEP_BPF_COOKIE_SHAPE(cookie);
    uint64_t size, out;
    seep_read_arguments(regs, shape, &size, &out);
    bool resizes = seep_is_resize(shape) && out;
    if (seep_sample > 1 && !(resizes && seep_is_sampled(out)) && ++thread->nr_calls % seep_sample != 0) {
        thread->call_sp = 0;
        return false;
    }
    if (resizes) {
        seep_sampled_remove(out);
        seep_send(SEEP_BPF_RESIZE, SEEP_BPF_COOKIE_VIA(cookie), out, BPF_RB_NO_WAKEUP, SEEP_BPF_LOST_FREE);
    }
    thread->call_sp = sp;
    thread->call_size = size;
    thread->call_out = out;
    return true;
}

// What the call gave: 0 for nothing.
static inline uint64_t seep_result(const struct pt_regs *regs, const struct seep_bpf_thread *thread,
                                   uint8_t shape) {
    if (shape != SEEP_BPF_OUT)
        return regs->rax;
    uint64_t block = 0;
    if ((uint32_t)regs->rax == 0)
        bpf_probe_read_user(&block, sizeof(block), (const void *)thread->call_out);
    return block;
}

static __noinline void seep_leave(struct pt_regs *regs, uint64_t cookie) {
    struct task_struct *task = bpf_get_current_task_btf();
    struct seep_bpf_thread *thread = bpf_task_storage_get(&seep_threads, task, 0, 0);
    if (!thread || !thread->call_sp || regs->rsp != thread->call_sp + 8)
        return;
    thread->call_sp = 0;
    uint8_t via = SEEP_BPF_COOKIE_VIA(cookie);
    uint8_t shape = SEEP_BPF_COOKIE_SHAPE(cookie);
    bool resized = seep_is_resize(shape) && thread->call_out;
    uint64_t block = seep_result(regs, thread, shape);
    if (!block && !resized) {
        seep_send(SEEP_BPF_FAILED, via, 0, BPF_RB_NO_WAKEUP, SEEP_BPF_LOST_OTHER);
        return;
    }
    uint64_t stack = 0;
    if (block) {
        stack = seep_unwind_cfi ? seep_walk_stack(thread, regs->rip, regs->rsp, regs->rbp, false)
                                : seep_walk_pointers(thread, regs);
        if (!seep_send_stack(thread, stack))
            stack = 0;
        seep_sampled_add(block);
    } else if (thread->call_size) {
        seep_sampled_add(thread->call_out); // it failed: the old block lives on
    }
    seep_send_alloc(resized ? SEEP_BPF_RESIZED : SEEP_BPF_ALLOC, via, block, thread->call_size, stack);
}

SEC("uprobe")
int seep_session(struct pt_regs *regs) {
    uint64_t cookie = bpf_get_attach_cookie(regs);
    if (bpf_session_is_return()) {
        seep_leave(regs, cookie);
        return 0;
    }
    // The verifier must see that this is 0 or 1.
    uint32_t skip = !seep_enter(regs, cookie);
    barrier_var(skip);
    return skip & 1;
}

SEC("uprobe")
int seep_entry(struct pt_regs *regs) {
    seep_enter(regs, bpf_get_attach_cookie(regs));
    return 0;
}

SEC("uprobe")
int seep_return(struct pt_regs *regs) {
    seep_leave(regs, bpf_get_attach_cookie(regs));
    return 0;
}

SEC("uprobe")
int seep_free(struct pt_regs *regs) {
    uint64_t block = regs->rdi;
    if (!block)
        return 0;
    struct task_struct *task = bpf_get_current_task_btf();
    const struct seep_bpf_thread *thread = bpf_task_storage_get(&seep_threads, task, 0, 0);
    if (thread && thread->call_sp && regs->rsp < thread->call_sp)
        return 0; // realloc gives it back
    if (seep_sampled_remove(block))
        seep_send(SEEP_BPF_FREE, SEEP_BPF_COOKIE_VIA(bpf_get_attach_cookie(regs)), block, BPF_RB_NO_WAKEUP,
                  SEEP_BPF_LOST_FREE);
    return 0;
}

// On the function that the loader calls for debuggers (_dl_debug_state).
SEC("uprobe")
int seep_modules(struct pt_regs *regs) {
    seep_send(SEEP_BPF_MODULES, 0, 0, BPF_RB_FORCE_WAKEUP, SEEP_BPF_LOST_OTHER);
    return 0;
}

static inline bool seep_is_traced(void) {
    uint32_t pid = bpf_get_current_pid_tgid() >> 32;
    return bpf_map_lookup_elem(&seep_processes, &pid) != NULL;
}

// (parent, child)
SEC("tp_btf/sched_process_fork")
int seep_fork(uint64_t *arguments) {
    const struct task_struct *child = (const struct task_struct *)arguments[1];
    if (child->pid == child->tgid && seep_is_traced())
        seep_send(SEEP_BPF_FORK, 0, child->tgid, BPF_RB_FORCE_WAKEUP, SEEP_BPF_LOST_OTHER);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int seep_exec(uint64_t *arguments) {
    if (seep_is_traced())
        seep_send(SEEP_BPF_EXEC, 0, 0, BPF_RB_FORCE_WAKEUP, SEEP_BPF_LOST_OTHER);
    return 0;
}
