// SPDX-License-Identifier: BSD-2-Clause
//
// What the BPF programs (src/tracee/bpf) and the host share: the events of the ring buffer, the tables
// that the unwinder reads, the figures that it writes. Both are built from one tree and loaded together,
// so there is no version here; nothing of it is ever saved.
//
// Invariants
//  - Events lie in the ring in the order of the operations: an allocation is written after it, a free
//    before it. A stack is written once, before the first event that names it.
//  - Every event that could not be written is counted in `lost`, by reason.
#ifndef SEEP_IMAGE_BPF_EVENTS_H
#define SEEP_IMAGE_BPF_EVENTS_H

#include <stdint.h>

#include "unwind/row_kinds.h"

enum seep_bpf_kind {
    SEEP_BPF_ALLOC = 1, // seep_bpf_alloc: a block came to life
    SEEP_BPF_FREE,      // seep_bpf_event: a block is about to be freed
    SEEP_BPF_RESIZE,    // seep_bpf_event: realloc is about to take this block
    SEEP_BPF_RESIZED,   // seep_bpf_alloc: and this is what became of it; address 0: it failed, or with size 0
                        // the block is gone; detail SEEP_BPF_NOT_TAKEN: the new one is not in the sample
    SEEP_BPF_FAILED,    // seep_bpf_event: an allocation returned NULL
    SEEP_BPF_STACK,     // seep_bpf_stack, then nr_frames addresses
    SEEP_BPF_LANDING,   // seep_bpf_event: an operator new was called from here and has no probe where it
                        // returns
    SEEP_BPF_MODULES, // seep_bpf_event: the loader has changed the list of modules; address is the generation
    SEEP_BPF_MET,     // seep_bpf_event: a process that was not known came into the scope
    SEEP_BPF_CODE,    // seep_bpf_code: code that a stack leads to and the tables lack
    SEEP_BPF_FORK,    // seep_bpf_event: address is the pid of the child; detail is SEEP_BPF_BORROWS if the
                      // child shares the memory of its parent
    SEEP_BPF_EXEC,    // seep_bpf_exec: address is the pid of the parent
    SEEP_BPF_EXIT,    // seep_bpf_event: the last thread ended; address is the status, as of wait(2)
    SEEP_BPF_MAP,     // seep_bpf_alloc: memory was mapped; detail: SEEP_MAPPING_*
    SEEP_BPF_UNMAP,   // seep_bpf_alloc: memory is unmapped, without a stack
    SEEP_BPF_FAULT,   // seep_bpf_alloc: a page was touched that was not in memory
    SEEP_BPF_SAMPLE,  // seep_bpf_sample: a block that the program's own allocator took as a sample
    SEEP_BPF_UNREAD,  // seep_bpf_unread: address is the stack that was cut in such code
    SEEP_BPF_REST,    // seep_bpf_rest: what that stack had in memory; SEEP_BPF_STACK follows
};

#define SEEP_BPF_NOT_TAKEN 1u
#define SEEP_BPF_BORROWS   1u

struct seep_bpf_event {
    uint8_t kind; // enum seep_bpf_kind
    uint8_t via;  // enum seep_via of image/layout.h
    uint16_t detail;
    uint32_t pid;
    uint32_t tid;
    uint32_t
        time_us; // CLOCK_MONOTONIC, its lower half; 0: it was not asked for, and no MET, FORK, EXEC, EXIT
    uint64_t address;
};

struct seep_bpf_alloc {
    struct seep_bpf_event event;
    uint64_t size;
    uint64_t stack; // its id: a hash of all its frames; 0: not known
};

struct seep_bpf_sample {
    struct seep_bpf_alloc alloc;
    uint64_t weight; // bytes that it stands for
};

// Addresses follow, innermost first: return addresses, or with SEEP_BPF_EXACT the instruction itself.
struct seep_bpf_stack {
    struct seep_bpf_event event; // address: the id
    uint32_t nr_frames;
    uint32_t end; // 0: complete, else 1 + enum seep_cut
};
#define SEEP_BPF_EXACT      (UINT64_C(1) << 63)
#define SEEP_BPF_FRAMES_MAX 1024u // a power of two; one less is kept

// Which processes the probes are for.
enum seep_bpf_scope {
    SEEP_BPF_SCOPE_PROBED, // those that have probes: each process has its own
    SEEP_BPF_SCOPE_FAMILY, // those in the table of processes, and whatever they fork
    SEEP_BPF_SCOPE_CGROUP, // all of a control group
    SEEP_BPF_SCOPE_ALL,
};

enum seep_bpf_lost {
    SEEP_BPF_LOST_ALLOC,   // no room in the ring for an allocation
    SEEP_BPF_LOST_FREE,    // or a free, or one half of a realloc
    SEEP_BPF_LOST_STACK,   // or a stack
    SEEP_BPF_LOST_OTHER,   // or news of modules and processes
    SEEP_BPF_LOST_THREAD,  // no memory for a thread's state: the call was not seen
    SEEP_BPF_LOST_SAMPLED, // no room in the table of sampled blocks
    SEEP_BPF_LOST_LANDING, // a call of operator new before a probe stood where it returns
    SEEP_BPF_LOST_OPERAND, // an argument of otel_memory could not be read
    SEEP_BPF_LOST_NR = 8
};

// ---- the tables of the unwinder ----

// A row of 8 bytes: what to do at addresses from `address` on (relative to the table's first) up to the
// next row. Made by unwind/row.h from the same rules as everywhere.
#define SEEP_BPF_ROW_ADDRESS(row)  ((uint32_t)(row))
#define SEEP_BPF_ROW_CFA(row)      ((uint16_t)((row) >> 32)) // in words; signed where it is not from sp
#define SEEP_BPF_ROW_KIND(row)     ((uint32_t)((row) >> 48) & 15u)
#define SEEP_BPF_ROW_BP_SAVED(row) ((uint32_t)((row) >> 52) & 1u)
#define SEEP_BPF_ROW_BP(row)       ((int8_t)((row) >> 56)) // in words

// Where the CFA is; of SEEP_ROW_BP_DEREF, where it is saved. Only for rows of the kinds with a CFA.
static inline uint64_t seep_bpf_row_cfa(uint64_t row, uint64_t pc, uint64_t sp, uint64_t bp) {
    uint64_t words = SEEP_BPF_ROW_CFA(row);
    switch (SEEP_BPF_ROW_KIND(row)) {
    case SEEP_ROW_SP:
        return sp + words * 8;
    case SEEP_ROW_BP:
    case SEEP_ROW_BP_DEREF:
        return bp + (uint64_t)((int64_t)(int16_t)words * 8);
    default: // SEEP_ROW_PLT
        return sp + 8 + ((pc & 15) >= words ? 8 : 0);
    }
}

// Where the caller's frame pointer is saved, by SEEP_BPF_ROW_BP_SAVED.
static inline uint64_t seep_bpf_row_bp_slot(uint64_t row, uint64_t cfa, uint64_t bp) {
    return (SEEP_BPF_ROW_KIND(row) == SEEP_ROW_BP_DEREF ? bp : cfa) + (uint64_t)(SEEP_BPF_ROW_BP(row) * 8);
}

#define SEEP_BPF_START_BYTES 64u // the loader's entry point is not farther from the start of the stack

// The index has one entry for each page of code: the first row that begins in it or behind it.
#define SEEP_BPF_PAGE_SHIFT 10u

// Code of a process that is mapped, and where its rows are. Sorted by start.
struct seep_bpf_mapping {
    uint64_t start; // run-time addresses
    uint64_t end;
    uint64_t base;       // run-time address that the table's first row would have
    uint32_t first_page; // in the index
    uint32_t nr_pages;   // the index has one entry more; 0: no table
};

// A traced process: its part of the table of mappings.
struct seep_bpf_process {
    uint32_t first;
    uint32_t nr;         // 0: not yet known, see struct seep_bpf_file
    uint32_t generation; // changes when code goes: the same addresses are then other functions
    uint32_t flags;
};
#define SEEP_BPF_PROCESS_IGNORED 1u // of the scope, but traced in another way
#define SEEP_BPF_PROCESS_LOADING 2u // its loader has not said yet that all is mapped
#define SEEP_BPF_PROCESS_MOVED                                                                               \
    4u // its loader has mapped or unmapped code since, so the table may be out of date

// Code of a file, by the place in it that is mapped: for processes whose mappings are not known yet.
struct seep_bpf_file {
    uint64_t device; // as the kernel writes it: major << 20 | minor
    uint64_t inode;
    uint64_t page_off; // in the file, in pages
};
struct seep_bpf_file_code {
    uint64_t base; // where the table's first row would be, relative to the start of the mapping
    uint32_t first_page;
    uint32_t nr_pages;
};
#define SEEP_BPF_FILES_MAX 16384u

struct seep_bpf_code {
    struct seep_bpf_event event; // address: start of the mapping
    uint64_t end;
    struct seep_bpf_file file;
};

// A file that user space has not seen mapped, and may never see. Its name as the file system has it: the last
// part first, as far as there is room.
#define SEEP_BPF_NAMES_MAX  12u
#define SEEP_BPF_NAME_BYTES 64u
struct seep_bpf_unread {
    struct seep_bpf_event event; // address: the stack, whose last frame is in the file
    uint64_t start;              // of the mapping
    uint64_t end;
    struct seep_bpf_file file;
    char names[SEEP_BPF_NAMES_MAX][SEEP_BPF_NAME_BYTES]; // "" behind the first part
};

// The memory of a stack that was cut in code that is not read yet, from the frame of the cut on. The tool
// walks on in it when the code is read. It has one of a few sizes, because the ring reserves only constant
// ones.
#define SEEP_BPF_REST_TINY   2048u
#define SEEP_BPF_REST_SMALL  5120u
#define SEEP_BPF_REST_MIDDLE 10240u
#define SEEP_BPF_REST_BIG    20480u
#define SEEP_BPF_REST_LARGE  32768u
struct seep_bpf_rest {
    struct seep_bpf_event event; // address: the stack
    uint64_t pc;                 // its last frame
    uint64_t sp;                 // where the bytes were
    uint64_t bp;
    uint64_t start_stack; // of the main thread
    uint32_t generation;  // of the process
    uint32_t nr_bytes;
    uint8_t exact;
    uint8_t reserved[7];
    uint8_t bytes[];
};

#define SEEP_BPF_ARGS_BYTES 1024u
struct seep_bpf_exec {
    struct seep_bpf_event event;
    char path[256];                 // as it was called, ends with NUL; "" where it is not known
    uint64_t stack_rt;              // where its stack begins: differs from one exec of this pid to the next
    uint64_t nr_args_bytes;         // of args; 0: there is no room for all, or they cannot be read
    char args[SEEP_BPF_ARGS_BYTES]; // each ends with NUL
    struct seep_bpf_file file;      // the program's; its inode 0: not known
    char names[SEEP_BPF_NAMES_MAX][SEEP_BPF_NAME_BYTES]; // as in seep_bpf_unread
};

// A block, where one table has those of several processes.
struct seep_bpf_block {
    uint64_t address;
    uint64_t pid; // in the table of the sample: the address of the process's mm
};
// Where an operator new returns to, by the address and the process.
enum seep_bpf_landing {
    SEEP_BPF_LANDING_ASKED = 1,
    SEEP_BPF_LANDING_PROBED,
    SEEP_BPF_LANDING_REFUSED, // no probe can be there
};
#define SEEP_BPF_LANDINGS_MAX 65536u

#define SEEP_BPF_MAPPINGS_MAX  4096u // of one process
#define SEEP_BPF_PROCESSES_MAX 32768u

// The cookie of a probe: which function it is on.
#define SEEP_BPF_COOKIE(via, shape)   ((uint64_t)(via) | (uint64_t)(shape) << 8)
#define SEEP_BPF_COOKIE_VIA(cookie)   ((uint8_t)(cookie))
#define SEEP_BPF_COOKIE_SHAPE(cookie) ((uint8_t)((cookie) >> 8))
// How the arguments say the size.
enum seep_bpf_shape {
    SEEP_BPF_SIZE_1,          // f(size)
    SEEP_BPF_SIZE_2,          // f(x, size)
    SEEP_BPF_PRODUCT,         // f(n, size)
    SEEP_BPF_REALLOC,         // f(old, size)
    SEEP_BPF_REALLOC_PRODUCT, // f(old, n, size)
    SEEP_BPF_OUT,             // f(&result, alignment, size), 0: success
    SEEP_BPF_MMAP,            // f(x, size, x, flags); from here on of mappings
    SEEP_BPF_MREMAP,          // f(old, old size, size)
    SEEP_BPF_BRK,             // brk, sbrk: the kernel knows the end before and after
    SEEP_BPF_MUNMAP,          // f(start, size)
};
// Of free: it is the one of glibc's shared library, whose functions call it by name. A direct call of it
// frees blocks that the program has freed before, and glibc's own blocks (the cache of a thread that ends).
#define SEEP_BPF_FREE_OF_GLIBC SEEP_BPF_SIZE_2

// ---- probes that the program offers (USDT) ----

// Where an argument is when the probe is met.
enum seep_bpf_operand_kind { SEEP_BPF_CONSTANT, SEEP_BPF_REGISTER, SEEP_BPF_MEMORY };
#define SEEP_BPF_NO_REGISTER 255u
struct seep_bpf_operand {
    int64_t offset; // the constant, or what is added to the registers
    uint8_t kind;   // enum seep_bpf_operand_kind
    uint8_t base;   // a word of struct pt_regs, or SEEP_BPF_NO_REGISTER
    uint8_t index;  // the same; its value is shifted to the left by `shift`
    uint8_t shift;
    uint8_t nr_bytes; // 1, 2, 4 or 8 of it count
    uint8_t is_signed;
    uint8_t unused[2];
};
// (block, size, weight), or (block).
struct seep_bpf_usdt {
    struct seep_bpf_operand operands[3];
};
#define SEEP_BPF_USDT_MAX 4096u

_Static_assert(sizeof(struct seep_bpf_usdt) == 48, "shared size");
_Static_assert(sizeof(struct seep_bpf_sample) == 48, "shared size");
_Static_assert(sizeof(struct seep_bpf_event) == 24, "shared size");
_Static_assert(sizeof(struct seep_bpf_alloc) == 40, "shared size");
_Static_assert(sizeof(struct seep_bpf_stack) == 32, "shared size");
_Static_assert(sizeof(struct seep_bpf_mapping) == 32, "shared size");
_Static_assert(sizeof(struct seep_bpf_code) == 56, "shared size");
_Static_assert(sizeof(struct seep_bpf_unread) == 64 + 768, "shared size");

#endif
