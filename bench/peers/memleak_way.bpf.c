// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// What bcc's memleak does for each call of malloc and free, for a machine where memleak itself does not run
// (it wants the kernel's headers): a probe at entry and return, the size kept by thread, bpf_get_stackid,
// and two hash tables. Its behaviour is copied, not its code. See memleak_way.c.
#include <stdint.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char bench_license[] SEC("license") = "Dual BSD/GPL";

struct registers { // of a probe: Linux uapi asm/ptrace.h (x86-64)
    unsigned long r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
    unsigned long rax, rcx, rdx, rsi, rdi, orig_rax, rip, cs, eflags, rsp, ss;
};

struct block {
    uint64_t size, born_ns;
    int64_t stack;
};

struct totals {
    uint64_t bytes, blocks;
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 10240);
    __type(key, uint32_t);
    __type(value, uint64_t);
} sizes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1000000);
    __type(key, uint64_t);
    __type(value, struct block);
} blocks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 10240);
    __type(key, int64_t);
    __type(value, struct totals);
} totals_by_stack SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_STACK_TRACE);
    __uint(max_entries, 10240);
    __uint(key_size, sizeof(uint32_t));
    __uint(value_size, 127 * sizeof(uint64_t));
} stacks SEC(".maps");

SEC("uprobe")
int malloc_enters(struct registers *registers) {
    uint32_t thread = (uint32_t)bpf_get_current_pid_tgid();
    uint64_t size = registers->rdi;
    bpf_map_update_elem(&sizes, &thread, &size, BPF_ANY);
    return 0;
}

SEC("uretprobe")
int malloc_returns(struct registers *registers) {
    uint32_t thread = (uint32_t)bpf_get_current_pid_tgid();
    uint64_t address = registers->rax;
    uint64_t *size = bpf_map_lookup_elem(&sizes, &thread);
    if (!size)
        return 0;
    struct block block = {.size = *size, .born_ns = bpf_ktime_get_ns()};
    bpf_map_delete_elem(&sizes, &thread);
    if (!address)
        return 0;
    block.stack = bpf_get_stackid(registers, &stacks, BPF_F_USER_STACK);
    bpf_map_update_elem(&blocks, &address, &block, BPF_ANY);
    struct totals none = {0, 0};
    struct totals *totals = bpf_map_lookup_elem(&totals_by_stack, &block.stack);
    if (!totals) {
        bpf_map_update_elem(&totals_by_stack, &block.stack, &none, BPF_NOEXIST);
        totals = bpf_map_lookup_elem(&totals_by_stack, &block.stack);
    }
    if (totals) {
        __sync_fetch_and_add(&totals->bytes, block.size);
        __sync_fetch_and_add(&totals->blocks, 1);
    }
    return 0;
}

SEC("uprobe")
int free_enters(struct registers *registers) {
    uint64_t address = registers->rdi;
    struct block *block = bpf_map_lookup_elem(&blocks, &address);
    if (!block)
        return 0;
    struct totals *totals = bpf_map_lookup_elem(&totals_by_stack, &block->stack);
    if (totals) {
        __sync_fetch_and_add(&totals->bytes, -block->size);
        __sync_fetch_and_add(&totals->blocks, -1);
    }
    bpf_map_delete_elem(&blocks, &address);
    return 0;
}
