// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// The heap of user programs, by probes on the functions of their allocator. An allocation is seen when it
// returns, a free when it is called; only the outermost of calls within calls counts, which is known by
// the stack pointer at its entry. Nothing here waits, and nothing is changed in the program.
//
// A return probe puts the kernel's trampoline in place of the return address. On a function that throws
// this would end the program, so the host never puts one on operator new.
#include "bpf/operator.bpf.h"
#include "bpf/otel.bpf.h"
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

// A process that shares the memory of another one (CLONE_VM) may free its blocks.
static inline struct seep_bpf_block seep_block_at(uint64_t address) {
    const struct task_struct *task = (const struct task_struct *)bpf_get_current_task();
    uint64_t memory = (uint64_t)BPF_CORE_READ(task, mm);
    return (struct seep_bpf_block){.address = address, .pid = memory};
}

static inline bool seep_is_sampled(uint64_t address) {
    struct seep_bpf_block block = seep_block_at(address);
    return bpf_map_lookup_elem(&seep_sampled, &block) != NULL;
}

static inline void seep_sampled_add(uint64_t address) {
    struct seep_bpf_block block = seep_block_at(address);
    uint8_t one = 1;
    if (seep_sample > 1 && bpf_map_update_elem(&seep_sampled, &block, &one, BPF_ANY))
        seep_count_lost(SEEP_BPF_LOST_SAMPLED);
}

// false: nothing to do, this block was not in the sample.
static inline bool seep_sampled_remove(uint64_t address) {
    struct seep_bpf_block block = seep_block_at(address);
    return seep_sample <= 1 || bpf_map_delete_elem(&seep_sampled, &block) == 0;
}

// Whether this allocation is in the sample: by chance and each by itself. Every Nth one would go round with a
// loop of the program, and some of its places would never be seen.
static inline bool seep_is_taken(void) {
    return seep_sample <= 1 || (uint64_t)bpf_get_prandom_u32() * seep_sample < UINT64_C(1) << 32;
}

// What was decided for a realloc of nothing, a reallocarray or an operator new is so for the function that it
// jumps to: that has the same stack pointer and return address, or a return probe's in its place. So has the
// next call of the same function from the same place.
static inline void seep_pass(struct seep_bpf_thread *thread, const struct pt_regs *regs, uint64_t cookie,
                             uint64_t old) {
    uint8_t shape = SEEP_BPF_COOKIE_SHAPE(cookie), via = SEEP_BPF_COOKIE_VIA(cookie);
    thread->call_sp = 0;
    bool may_jump = shape == SEEP_BPF_REALLOC_PRODUCT || (shape == SEEP_BPF_REALLOC && !old) ||
                    via == SEEP_VIA_NEW || via == SEEP_VIA_NEW_ARRAY;
    if (!may_jump || bpf_probe_read_user(&thread->passed_return, sizeof(uint64_t), (const void *)regs->rsp))
        return;
    thread->passed_sp = regs->rsp;
    thread->passed_pc = regs->rip;
}

static inline bool seep_was_passed(struct seep_bpf_thread *thread, const struct pt_regs *regs,
                                   uint8_t shape) {
    uint64_t passed_sp = thread->passed_sp, address = 0;
    thread->passed_sp = 0;
    return passed_sp == regs->rsp && thread->passed_pc != regs->rip &&
           (shape == SEEP_BPF_SIZE_1 || shape == SEEP_BPF_REALLOC) &&
           bpf_probe_read_user(&address, sizeof(address), (const void *)regs->rsp) == 0 &&
           (address == thread->passed_return || seep_replaced(regs->rsp) == thread->passed_return);
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

// Source: Linux uapi asm-generic/mman-common.h.
#define SEEP_MAP_SHARED    0x01u
#define SEEP_MAP_ANONYMOUS 0x20u
#define SEEP_MAP_STACK     0x20100u // MAP_STACK, MAP_GROWSDOWN

static inline uint64_t seep_mapping_kind(uint64_t rights, uint64_t flags) {
    return (flags & SEEP_MAP_ANONYMOUS ? 0 : SEEP_MAPPING_FILE) |
           (flags & SEEP_MAP_SHARED ? SEEP_MAPPING_SHARED : 0) | (rights ? 0 : SEEP_MAPPING_RESERVED) |
           (flags & SEEP_MAP_STACK ? SEEP_MAPPING_STACK : 0);
}

static inline uint64_t seep_break(void) {
    struct task_struct *task = (struct task_struct *)bpf_get_current_task();
    return BPF_CORE_READ(task, mm, brk);
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
    case SEEP_BPF_MREMAP:
        *ret_size = regs->rdx;
        *ret_out = regs->rdi;
        break;
    case SEEP_BPF_MMAP:
        *ret_size = regs->rsi;
        *ret_out = seep_mapping_kind(regs->rdx, regs->rcx);
        break;
    case SEEP_BPF_BRK:
        *ret_size = 0;
        *ret_out = seep_break();
        break;
    default:
        *ret_size = regs->rdi;
        break;
    }
}

static inline bool seep_is_resize(uint8_t shape) {
    return shape == SEEP_BPF_REALLOC || shape == SEEP_BPF_REALLOC_PRODUCT;
}

static inline bool seep_is_in_scope(uint32_t pid) {
    if (seep_scope == SEEP_BPF_SCOPE_CGROUP)
        return bpf_current_task_under_cgroup(&seep_cgroup, 0) == 1;
    return seep_scope == SEEP_BPF_SCOPE_ALL && pid != seep_self;
}

// A new generation gives new stack ids: no earlier stack has the same id.
static inline uint32_t seep_new_generation(void) {
    return (uint32_t)(bpf_ktime_get_ns() >> 10) | 1u << 31;
}

// Puts the current process into the table without its mappings.
static inline void seep_enrol(uint32_t pid) {
    struct seep_bpf_process process = {.generation = seep_new_generation()};
    if (bpf_map_update_elem(&seep_processes, &pid, &process, BPF_ANY))
        seep_count_lost(SEEP_BPF_LOST_OTHER);
}

// Whether the current process is traced; one that came into the scope is from now on.
static __noinline bool seep_is_member(void) {
    uint32_t pid = bpf_get_current_pid_tgid() >> 32;
    const struct seep_bpf_process *process = bpf_map_lookup_elem(&seep_processes, &pid);
    if (process)
        return !(process->flags & SEEP_BPF_PROCESS_IGNORED);
    if (!seep_is_in_scope(pid))
        return false;
    seep_enrol(pid);
    seep_send(SEEP_BPF_MET, 0, 0, BPF_RB_FORCE_WAKEUP, SEEP_BPF_LOST_OTHER);
    return true;
}

// Probes of one process need not ask.
static inline bool seep_is_wanted(void) {
    return seep_scope == SEEP_BPF_SCOPE_PROBED || seep_is_member();
}

// The entry of an allocation function. false: its return is of no interest.
static __noinline bool seep_enter(struct pt_regs *regs, uint64_t cookie) {
    if (!seep_is_wanted())
        return false;
    struct task_struct *task = bpf_get_current_task_btf();
    struct seep_bpf_thread *thread = seep_thread_of(task);
    if (!thread)
        return false;
    uint64_t sp = regs->rsp;
    if (seep_is_inner(thread, sp))
        return false;
    uint8_t shape = SEEP_BPF_COOKIE_SHAPE(cookie);
    uint64_t size, out;
    seep_read_arguments(regs, shape, &size, &out);
    bool resizes = seep_is_resize(shape) && out;
    thread->call_is_taken = true;
    if (seep_sample > 1 && shape < SEEP_BPF_MMAP) {
        thread->call_is_taken = !seep_was_passed(thread, regs, shape) && seep_is_taken();
        if (!thread->call_is_taken && !(resizes && seep_is_sampled(out))) {
            seep_pass(thread, regs, cookie, out);
            return false;
        }
    }
    if (resizes) {
        seep_sampled_remove(out);
        seep_send(SEEP_BPF_RESIZE, SEEP_BPF_COOKIE_VIA(cookie), out, BPF_RB_NO_WAKEUP, SEEP_BPF_LOST_FREE);
    }
    thread->call_sp = sp;
    thread->call_cookie = cookie;
    thread->call_size = size;
    thread->call_out = out;
    thread->call_old = regs->rsi;
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

// The stack of the call that returns, in the ring; 0: it is not.
static __always_inline uint64_t seep_walk_call(struct seep_bpf_thread *thread, struct pt_regs *regs) {
    uint64_t stack = seep_unwind_cfi ? seep_walk_stack(thread, regs->rip, regs->rsp, regs->rbp, false)
                                     : seep_walk_pointers(thread, regs);
    return seep_send_stack(thread, stack) ? stack : 0;
}

// A call that mapped memory, or took it away.
static __noinline void seep_leave_mapping(struct seep_bpf_thread *thread, struct pt_regs *regs,
                                          uint64_t cookie) {
    uint8_t via = SEEP_BPF_COOKIE_VIA(cookie), shape = SEEP_BPF_COOKIE_SHAPE(cookie);
    uint64_t start = regs->rax, size = thread->call_size;
    uint16_t kind = shape == SEEP_BPF_MMAP ? (uint16_t)thread->call_out : 0;
    if (shape == SEEP_BPF_BRK) {
        uint64_t end = seep_break();
        start = thread->call_out;
        if (end < start)
            seep_send_alloc(SEEP_BPF_UNMAP, via, end, start - end, 0);
        if (end <= start)
            return;
        size = end - start;
        kind = SEEP_MAPPING_BREAK;
    } else if (start >= (uint64_t)-4095) {
        return; // it failed
    }
    if (shape == SEEP_BPF_MREMAP)
        seep_send_alloc(SEEP_BPF_UNMAP, via, thread->call_out, thread->call_old, 0);
    seep_send_detailed(SEEP_BPF_MAP, via, kind, start, size, seep_walk_call(thread, regs));
}

// A return probe of its own may be that of a function to which the one that was called has jumped.
static __always_inline void seep_leave(struct pt_regs *regs) {
    struct task_struct *task = bpf_get_current_task_btf();
    struct seep_bpf_thread *thread = bpf_task_storage_get(&seep_threads, task, 0, 0);
    if (!thread || !thread->call_sp || regs->rsp != thread->call_sp + 8)
        return;
    thread->call_sp = 0;
    uint64_t cookie = thread->call_cookie;
    uint8_t via = SEEP_BPF_COOKIE_VIA(cookie);
    uint8_t shape = SEEP_BPF_COOKIE_SHAPE(cookie);
    if (shape >= SEEP_BPF_MMAP) { // an operator new that grows the heap is still to return its block
        seep_leave_mapping(thread, regs, cookie);
        return;
    }
    thread->freed = 0;
    via = seep_leave_inside_new(thread, regs, via);
    bool resized = seep_is_resize(shape) && thread->call_out;
    uint64_t block = seep_result(regs, thread, shape);
    if (!block && !resized) {
        seep_send(SEEP_BPF_FAILED, via, 0, BPF_RB_NO_WAKEUP, SEEP_BPF_LOST_OTHER);
        return;
    }
    uint64_t stack = 0;
    if (block && !thread->call_is_taken) {
        seep_send_detailed(SEEP_BPF_RESIZED, via, SEEP_BPF_NOT_TAKEN, 0, 0, 0);
        return;
    }
    if (block) {
        stack = seep_walk_call(thread, regs);
        seep_sampled_add(block);
    } else if (thread->call_size) {
        seep_sampled_add(thread->call_out); // it failed: the old block lives on
    }
    seep_send_alloc(resized ? SEEP_BPF_RESIZED : SEEP_BPF_ALLOC, via, block, thread->call_size, stack);
}

SEC("uprobe")
int seep_session(struct pt_regs *regs) {
    if (bpf_session_is_return()) {
        seep_leave(regs);
        return 0;
    }
    // The verifier must see that this is 0 or 1.
    uint32_t skip = !seep_enter(regs, bpf_get_attach_cookie(regs));
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
    seep_leave(regs);
    return 0;
}

#define SEEP_BEGINNING_BYTES 64 // a probe is not farther behind the first instruction

// Whether the call of this function is direct, as within one file.
static __always_inline bool seep_is_called_directly(const struct pt_regs *regs) {
    struct __attribute__((packed)) {
        uint8_t opcode;
        int32_t distance;
    } call;
    uint64_t to;
    return bpf_probe_read_user(&to, sizeof(to), (const void *)regs->rsp) == 0 &&
           bpf_probe_read_user(&call, sizeof(call), (const void *)(to - sizeof(call))) == 0 &&
           call.opcode == 0xe8 && regs->rip - (to + (uint64_t)(int64_t)call.distance) < SEEP_BEGINNING_BYTES;
}

// Whether the block is given on by a function that was given it: operator delete that jumps to free or calls
// it. That one has not returned as long as its return address is where it was.
static __always_inline bool seep_is_given_on(const struct seep_bpf_thread *thread, const struct pt_regs *regs,
                                             uint64_t block) {
    uint64_t address = 0;
    return thread->freed == block && regs->rsp <= thread->freed_sp && regs->rip != thread->freed_pc &&
           bpf_probe_read_user(&address, sizeof(address), (const void *)thread->freed_sp) == 0 &&
           address == thread->freed_return;
}

static __always_inline void seep_may_give_on(struct seep_bpf_thread *thread, const struct pt_regs *regs,
                                             uint64_t block) {
    thread->freed = 0;
    if (bpf_probe_read_user(&thread->freed_return, sizeof(uint64_t), (const void *)regs->rsp))
        return;
    thread->freed = block;
    thread->freed_sp = regs->rsp;
    thread->freed_pc = regs->rip;
}

SEC("uprobe")
int seep_free(struct pt_regs *regs) {
    uint64_t block = regs->rdi;
    if (!block || !seep_is_wanted())
        return 0;
    struct task_struct *task = bpf_get_current_task_btf();
    uint64_t cookie = bpf_get_attach_cookie(regs);
    uint8_t shape = SEEP_BPF_COOKIE_SHAPE(cookie);
    // glibc's is the last, and needs no memory of its own
    struct seep_bpf_thread *thread =
        bpf_task_storage_get(&seep_threads, task, 0, shape ? 0 : BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (thread && seep_is_inner(thread, regs->rsp))
        return 0; // realloc frees it
    if (shape == SEEP_BPF_FREE_OF_GLIBC && seep_is_called_directly(regs))
        return 0;
    if (thread && shape != SEEP_BPF_MUNMAP) {
        if (seep_is_given_on(thread, regs, block))
            return 0;
        if (!shape)
            seep_may_give_on(thread, regs, block);
    }
    if (shape == SEEP_BPF_MUNMAP)
        seep_send_alloc(SEEP_BPF_UNMAP, SEEP_BPF_COOKIE_VIA(cookie), block, regs->rsi, 0);
    else if (seep_sampled_remove(block))
        seep_send(SEEP_BPF_FREE, SEEP_BPF_COOKIE_VIA(cookie), block, BPF_RB_NO_WAKEUP, SEEP_BPF_LOST_FREE);
    return 0;
}

// ---- page faults ----

static inline const struct seep_bpf_process *seep_current_process(void) {
    uint32_t pid = bpf_get_current_pid_tgid() >> 32;
    const struct seep_bpf_process *process = bpf_map_lookup_elem(&seep_processes, &pid);
    return process && process->flags & SEEP_BPF_PROCESS_IGNORED ? NULL : process;
}

// The page was not there: what is touched here makes the process bigger in memory.
static __noinline void seep_fault(uint64_t address, struct pt_regs *regs, uint64_t code) {
    struct task_struct *task = bpf_get_current_task_btf();
    if (code & 1 || address >> 47 || !seep_current_process())
        return;
    struct seep_bpf_thread *thread = seep_thread_of(task);
    if (!thread)
        return;
    if (thread->is_walking)
        return; // our own look at the stack, which has no effect
    // Without bpf_loop there is no way to walk from registers.
    uint64_t stack = seep_unwind_cfi ? seep_walk_stack(thread, regs->rip, regs->rsp, regs->rbp, true) : 0;
    if (stack && !seep_send_stack(thread, stack))
        stack = 0;
    seep_send_alloc(SEEP_BPF_FAULT, SEEP_VIA_FAULT, address & ~UINT64_C(4095), 4096, stack);
}

// (address, registers, error code). By the program itself.
SEC("tp_btf/page_fault_user")
int seep_fault_user(uint64_t *arguments) {
    struct pt_regs regs;
    if (bpf_probe_read_kernel(&regs, sizeof(regs), (const void *)arguments[1]) == 0)
        seep_fault(arguments[0], &regs, arguments[2]);
    return 0;
}

// By the kernel in a system call of the program: read() into fresh memory.
SEC("tp_btf/page_fault_kernel")
int seep_fault_kernel(uint64_t *arguments) {
    struct pt_regs regs;
    const void *at = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf());
    if (at && bpf_probe_read_kernel(&regs, sizeof(regs), at) == 0)
        seep_fault(arguments[0], &regs, arguments[2]);
    return 0;
}

// The entry of an operator new that throws.
SEC("uprobe")
int seep_new(struct pt_regs *regs) {
    if (!seep_is_wanted())
        return 0;
    struct task_struct *task = bpf_get_current_task_btf();
    struct seep_bpf_thread *thread = seep_thread_of(task);
    if (!thread)
        return 0;
    uint64_t address = 0;
    if (bpf_probe_read_user(&address, sizeof(address), (const void *)regs->rsp))
        return 0;
    if (thread->new_sp == regs->rsp && thread->new_return == address && thread->new_pc != regs->rip)
        return 0; // one jumps to the other
    thread->new_sp = 0;
    if (seep_is_inner(thread, regs->rsp))
        return 0;
    uint64_t cookie = bpf_get_attach_cookie(regs);
    if (seep_sample > 1 && (seep_was_passed(thread, regs, SEEP_BPF_SIZE_1) || !seep_is_taken())) {
        seep_pass(thread, regs, cookie, 0);
        return 0;
    }
    thread->new_is_seen = seep_has_landing(address);
    if (!thread->new_is_seen)
        seep_count_lost(SEEP_BPF_LOST_LANDING);
    thread->new_sp = regs->rsp;
    thread->new_return = address;
    thread->new_pc = regs->rip;
    thread->new_size = regs->rdi;
    thread->new_via = SEEP_BPF_COOKIE_VIA(cookie);
    return 0;
}

// Where an operator new returns to; other ways may lead here too.
SEC("uprobe")
int seep_landing(struct pt_regs *regs) {
    struct task_struct *task = bpf_get_current_task_btf();
    struct seep_bpf_thread *thread = bpf_task_storage_get(&seep_threads, task, 0, 0);
    if (!thread || !thread->new_sp || regs->rsp != thread->new_sp + 8)
        return 0;
    thread->new_sp = 0;
    thread->freed = 0;
    uint64_t stack = seep_walk_call(thread, regs);
    seep_sampled_add(regs->rax);
    seep_send_alloc(SEEP_BPF_ALLOC, (uint8_t)thread->new_via, regs->rax, thread->new_size, stack);
    return 0;
}

// On the probe otel_memory:alloc of the program.
SEC("uprobe")
int seep_otel_alloc(struct pt_regs *regs) {
    struct seep_bpf_sample sample;
    uint32_t id = (uint32_t)bpf_get_attach_cookie(regs);
    const struct seep_bpf_usdt *usdt = bpf_map_lookup_elem(&seep_usdt, &id);
    if (!usdt || !seep_is_wanted())
        return 0;
    struct task_struct *task = bpf_get_current_task_btf();
    struct seep_bpf_thread *thread = seep_thread_of(task);
    if (!thread)
        return 0;
    uint64_t block = 0;
    if (!seep_operand(&usdt->operands[0], regs, &block) ||
        !seep_operand(&usdt->operands[1], regs, &sample.alloc.size) ||
        !seep_operand(&usdt->operands[2], regs, &sample.weight)) {
        seep_count_lost(SEEP_BPF_LOST_OPERAND);
        return 0;
    }
    if (!block)
        return 0;
    uint64_t stack = seep_unwind_cfi ? seep_walk_stack(thread, regs->rip, regs->rsp, regs->rbp, true)
                                     : seep_walk_pointers(thread, regs);
    sample.alloc.stack = seep_send_stack(thread, stack) ? stack : 0;
    seep_fill_event(&sample.alloc.event, SEEP_BPF_SAMPLE, SEEP_VIA_OTEL, block);
    if (bpf_ringbuf_output(&seep_events, &sample, sizeof(sample), BPF_RB_NO_WAKEUP))
        seep_count_lost(SEEP_BPF_LOST_ALLOC);
    return 0;
}

// On otel_memory:free.
SEC("uprobe")
int seep_otel_free(struct pt_regs *regs) {
    uint32_t id = (uint32_t)bpf_get_attach_cookie(regs);
    const struct seep_bpf_usdt *usdt = bpf_map_lookup_elem(&seep_usdt, &id);
    uint64_t block = 0;
    if (!usdt || !seep_is_wanted())
        return 0;
    if (!seep_operand(&usdt->operands[0], regs, &block))
        seep_count_lost(SEEP_BPF_LOST_OPERAND);
    else if (block)
        seep_send(SEEP_BPF_FREE, SEEP_RELEASE_FREE, block, BPF_RB_NO_WAKEUP, SEEP_BPF_LOST_FREE);
    return 0;
}

// On the function that the loader calls for debuggers (_dl_debug_state).
SEC("uprobe")
int seep_modules(struct pt_regs *regs) {
    uint32_t pid = bpf_get_current_pid_tgid() >> 32;
    if (!seep_is_wanted())
        return 0;
    // The mappings in the tables are out of date until user space has read the new ones.
    struct seep_bpf_process *process = bpf_map_lookup_elem(&seep_processes, &pid);
    uint32_t generation = seep_new_generation();
    if (process) {
        process->generation = generation;
        process->flags |= SEEP_BPF_PROCESS_MOVED;
    }
    seep_send(SEEP_BPF_MODULES, 0, generation, BPF_RB_FORCE_WAKEUP, SEEP_BPF_LOST_OTHER);
    return 0;
}

// (parent, child), before the child's first instruction. Where probes are not of one process only, it is
// traced from there on. A child that borrows its parent's memory (vfork, CLONE_VM) is a process of its own
// from its exec on. Before that, its events count for the parent, whose blocks it shares.
SEC("tp_btf/sched_process_fork")
int seep_fork(uint64_t *arguments) {
    const struct task_struct *parent = (const struct task_struct *)arguments[0];
    const struct task_struct *child = (const struct task_struct *)arguments[1];
    const struct seep_bpf_process *process = seep_current_process();
    if (child->pid != child->tgid || !process)
        return 0;
    bool borrows = child->mm == parent->mm;
    if (seep_scope == SEEP_BPF_SCOPE_PROBED) {
        seep_send(SEEP_BPF_FORK, 0, child->tgid, BPF_RB_FORCE_WAKEUP, SEEP_BPF_LOST_OTHER);
        return 0;
    }
    struct seep_bpf_process copy = *process;
    uint32_t pid = child->tgid;
    if (!seep_follow)
        copy.flags = SEEP_BPF_PROCESS_IGNORED;
    if (bpf_map_update_elem(&seep_processes, &pid, &copy, BPF_ANY))
        seep_count_lost(SEEP_BPF_LOST_OTHER);
    if (seep_follow && borrows)
        seep_send_detailed(SEEP_BPF_FORK, 0, SEEP_BPF_BORROWS, pid, 0, 0);
    else if (seep_follow)
        seep_send(SEEP_BPF_FORK, 0, pid, BPF_RB_FORCE_WAKEUP, SEEP_BPF_LOST_OTHER);
    return 0;
}

// (task, old pid, program)
SEC("tp_btf/sched_process_exec")
int seep_exec(uint64_t *arguments) {
    uint32_t pid = bpf_get_current_pid_tgid() >> 32;
    const struct linux_binprm *program = (const struct linux_binprm *)arguments[2];
    bool known = bpf_map_lookup_elem(&seep_processes, &pid) != NULL;
    if (known ? !seep_current_process() : !seep_is_in_scope(pid))
        return 0;
    seep_enrol(pid);
    struct seep_bpf_exec *exec = bpf_ringbuf_reserve(&seep_events, sizeof(*exec), 0);
    if (!exec) {
        seep_count_lost(SEEP_BPF_LOST_OTHER);
        return 0;
    }
    const struct task_struct *task = (const struct task_struct *)arguments[0];
    seep_fill_event(&exec->event, SEEP_BPF_EXEC, 0, BPF_CORE_READ(task, real_parent, tgid));
    exec->stack_rt = BPF_CORE_READ(task, mm, start_stack);
    uint64_t args = BPF_CORE_READ(task, mm, arg_start);
    uint64_t nr_args_bytes = BPF_CORE_READ(task, mm, arg_end) - args;
    exec->nr_args_bytes = 0;
    if (nr_args_bytes <= SEEP_BPF_ARGS_BYTES &&
        !bpf_probe_read_user(exec->args, (uint32_t)nr_args_bytes, (const void *)args))
        exec->nr_args_bytes = nr_args_bytes;
    exec->path[0] = 0;
    bpf_probe_read_kernel_str(exec->path, sizeof(exec->path), BPF_CORE_READ(program, filename));
    struct file *file = BPF_CORE_READ(task, mm, exe_file);
    struct inode *inode = seep_inode_of(file);
    exec->file.inode = BPF_CORE_READ(inode, i_ino);
    exec->file.device = BPF_CORE_READ(inode, i_sb, s_dev);
    exec->file.page_off = 0;
    seep_fill_names(exec->names, seep_dentry_of(file));
    bpf_ringbuf_submit(exec, BPF_RB_FORCE_WAKEUP);
    return 0;
}

// (task): the last of the threads.
SEC("tp_btf/sched_process_exit")
int seep_exit(uint64_t *arguments) {
    const struct task_struct *task = (const struct task_struct *)arguments[0];
    uint32_t pid = bpf_get_current_pid_tgid() >> 32;
    if (BPF_CORE_READ(task, signal, live.counter) != 0 || !bpf_map_lookup_elem(&seep_processes, &pid))
        return 0;
    // Of the group, where one thread ended all of them; else this one's own.
    uint32_t status = BPF_CORE_READ(task, signal, group_exit_code);
    if (!status)
        status = BPF_CORE_READ(task, exit_code);
    bool told = seep_current_process() != NULL;
    bpf_map_delete_elem(&seep_processes, &pid);
    if (told)
        seep_send(SEEP_BPF_EXIT, 0, status & 0xffff, BPF_RB_FORCE_WAKEUP, SEEP_BPF_LOST_OTHER);
    return 0;
}
