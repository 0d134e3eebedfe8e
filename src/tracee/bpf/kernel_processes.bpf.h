// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// Numbers for the processes that allocate. A process is a pid and a name, the name of its first thread. An
// allocation in an interrupt does not count for the interrupted process: all interrupts have one number.
#ifndef SEEP_BPF_KERNEL_PROCESSES_BPF_H
#define SEEP_BPF_KERNEL_PROCESSES_BPF_H

#include "bpf/kernel_stacks.bpf.h"

#define PROCESSES_MAX 65536u // that a tracing can tell apart
// Processes of users other than root get at most so many, so that some are left for root's daemons.
#define USER_PROCESSES_MAX (PROCESSES_MAX / 4 * 3)
// A process may rename itself as often as it likes: its later names share one number.
#define NAMES_MAX 16u
#define RENAMED   "(other names)"

uint32_t seep_nr_processes = SEEP_KERNEL_PROCESS_FIRST;

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, PROCESSES_MAX);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, uint32_t);
    __type(value, struct seep_kernel_process);
} seep_processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, PROCESSES_MAX);
    __type(key, struct seep_kernel_process);
    __type(value, uint32_t);
} seep_process_numbers SEC(".maps");

// Names that a pid has had.
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, PROCESSES_MAX);
    __type(key, uint32_t);
    __type(value, uint32_t);
} seep_nr_names SEC(".maps");

static inline bool has_names_left(uint32_t pid) {
    uint32_t one = 1, *nr = bpf_map_lookup_elem(&seep_nr_names, &pid);
    if (!nr)
        return bpf_map_update_elem(&seep_nr_names, &pid, &one, BPF_ANY) == 0;
    return *(volatile uint32_t *)nr < NAMES_MAX - 1 && __sync_fetch_and_add(nr, 1) < NAMES_MAX - 1;
}

static inline uint32_t add_process(struct seep_kernel_process *process) {
    uint32_t most = (uint32_t)bpf_get_current_uid_gid() ? USER_PROCESSES_MAX : PROCESSES_MAX;
    if (*(volatile uint32_t *)&seep_nr_processes >= most)
        return SEEP_KERNEL_PROCESS_UNKNOWN;
    if (!has_names_left(process->pid)) {
        __builtin_memset(process->name, 0, sizeof(process->name));
        __builtin_memcpy(process->name, RENAMED, sizeof(RENAMED));
        const uint32_t *known = bpf_map_lookup_elem(&seep_process_numbers, process);
        if (known)
            return *known;
    }
    uint32_t number = __sync_fetch_and_add(&seep_nr_processes, 1);
    struct seep_kernel_process *at = bpf_map_lookup_elem(&seep_processes, &number);
    if (!at)
        return SEEP_KERNEL_PROCESS_UNKNOWN;
    *at = *process;
    // Where another CPU was quicker, its number counts, and ours stays without blocks.
    long status = bpf_map_update_elem(&seep_process_numbers, process, &number, BPF_NOEXIST);
    const uint32_t *known = status == 0 ? NULL : bpf_map_lookup_elem(&seep_process_numbers, process);
    return status == 0 ? number : known ? *known : SEEP_KERNEL_PROCESS_UNKNOWN;
}

static inline bool is_same_name(const char *name, const char *other) {
    const uint64_t *words = (const uint64_t *)name, *others = (const uint64_t *)other;
    return words[0] == others[0] && words[1] == others[1];
}

static inline uint32_t find_process(struct scratch *scratch) {
    char name[SEEP_KERNEL_COMM_MAX] __attribute__((aligned(8)));
    uint32_t pid = (uint32_t)(bpf_get_current_pid_tgid() >> 32);
    uint64_t stack;
    if (seep_has_memos) { // then it has tasks with types, whose members are read where they are
        const struct task_struct *task = bpf_get_current_task_btf();
        stack = (uint64_t)task->stack;
        bpf_core_read(name, sizeof(name), &task->group_leader->comm);
    } else {
        const struct task_struct *task = (const struct task_struct *)bpf_get_current_task();
        const struct task_struct *leader = BPF_CORE_READ(task, group_leader);
        stack = (uint64_t)BPF_CORE_READ(task, stack);
        bpf_core_read(name, sizeof(name), &leader->comm);
    }
    if (scratch->origin.arguments - stack >= STACK_BYTES)
        return SEEP_KERNEL_PROCESS_INTERRUPT;
    struct seep_kernel_process *process = &scratch->process;
    if (scratch->process_number && process->pid == pid && is_same_name(process->name, name))
        return scratch->process_number;
    process->pid = pid;
    __builtin_memcpy(process->name, name, sizeof(name));
    const uint32_t *known = bpf_map_lookup_elem(&seep_process_numbers, process);
    scratch->process_number = known ? *known : add_process(process);
    return scratch->process_number;
}

#endif
