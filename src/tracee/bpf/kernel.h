// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// What the BPF programs need to know of the kernel, and no more: the loader puts in the offsets of the
// running kernel by its BTF (CO-RE), so order and size of these structures do not matter.
#ifndef SEEP_BPF_KERNEL_H
#define SEEP_BPF_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

// The registers of a probe: what the kernel promises to BPF programs, the same in all versions.
// Source: Linux uapi asm/ptrace.h (x86-64).
struct pt_regs {
    unsigned long r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
    unsigned long rax, rcx, rdx, rsi, rdi, orig_rax;
    unsigned long rip, cs, eflags, rsp, ss;
};

#define SEEP_CORE __attribute__((preserve_access_index))

// A function on its way to return with a return probe: its return address was replaced.
struct return_instance {
    unsigned long stack; // where the return address was
    unsigned long orig_ret_vaddr;
    struct return_instance *next;
} SEEP_CORE;

struct uprobe_task {
    struct return_instance *return_instances;
} SEEP_CORE;

struct mm_struct {
    unsigned long brk;       // the end of the heap area
    unsigned long arg_start; // arguments of the program, each with its NUL
    unsigned long arg_end;
    unsigned long start_stack; // the stack pointer of the program's first instruction
    struct file *exe_file;
} SEEP_CORE;

struct super_block {
    uint32_t s_dev;
} SEEP_CORE;

struct inode {
    struct super_block *i_sb;
    unsigned long i_ino;
} SEEP_CORE;

struct qstr {
    const unsigned char *name;
} SEEP_CORE;

struct dentry {
    struct inode *d_inode;
    struct dentry *d_parent; // its own at the root of a file system
    struct qstr d_name;
} SEEP_CORE;

struct path {
    struct dentry *dentry;
} SEEP_CORE;

struct file {
    struct path f_path;
    struct inode *f_inode;
    uint32_t f_mode;
} SEEP_CORE;

// Source: Linux include/linux/fs.h.
#define SEEP_FMODE_NOACCOUNT (1u << 29)

struct backing_file {
    struct path user_path;
} SEEP_CORE;

struct vm_area_struct {
    unsigned long vm_start;
    unsigned long vm_end;
    unsigned long vm_pgoff;
    struct file *vm_file;
} SEEP_CORE;

typedef struct {
    int counter;
} atomic_t;

struct signal_struct {
    atomic_t live; // threads
    int group_exit_code;
} SEEP_CORE;

struct linux_binprm {
    const char *filename;
} SEEP_CORE;

struct thread_struct {
    unsigned long fsbase; // of x86-64
} SEEP_CORE;

struct task_struct {
    int pid;
    int tgid;
    void *stack; // the lowest address of its kernel stack
    struct mm_struct *mm;
    struct signal_struct *signal;
    struct uprobe_task *utask;
    struct task_struct *real_parent;
    struct task_struct *group_leader;
    uint64_t start_time;
    char comm[16];
    int exit_code;
    struct thread_struct thread;
} SEEP_CORE;

#endif
