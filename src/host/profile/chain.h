// SPDX-License-Identifier: BSD-2-Clause
//
// A chain of pointers from a root to a block, as a scan finds it and a trace keeps it: places, not words.
// Words ("global cache+0x10 in libfoo.so -> block of 4096 B from table_new (hash.c:88) +0x18") are made of it
// when it is shown, because they need symbols, and a program that leaves must not wait for those.
#ifndef SEEP_PROFILE_CHAIN_H
#define SEEP_PROFILE_CHAIN_H

#include "core/attr.h"

enum seep_link_kind {
    SEEP_LINK_TEXT,     // words already: what no module is known of, and all of older traces
    SEEP_LINK_DATA,     // a variable of a module
    SEEP_LINK_STACK,    // of a thread, as are the next three
    SEEP_LINK_TLS,      // thread-local storage
    SEEP_LINK_REGISTER, //
    SEEP_LINK_REALLOC,  // what it is moving
    SEEP_LINK_KEPT,     // the control block of a thread that has ended
    SEEP_LINK_IGNORED,  // seep_ignore()
    SEEP_LINK_TOLD,     // seep_root_add()
    SEEP_LINK_MEMORY,   // mapped by the program
    SEEP_LINK_BLOCK,
    SEEP_LINK_SEVERAL,  // what precedes is held by several; what follows is one of them
    SEEP_LINK_LEFT_OUT, // so many blocks of a long chain
    SEEP_LINK_TOO_LONG, // the chain has more blocks than were followed
    SEEP_LINK_EPOLL,    // data of epoll, which the kernel keeps
    SEEP_LINK_TIMER,    // the value of a POSIX timer, which the kernel keeps
    SEEP_LINK_KERNEL,   // what else the kernel keeps
    SEEP_LINK_NR
};

// What holds a block in a link of SEEP_LINK_KERNEL. Numbers of the trace.
enum seep_kernel_place {
    SEEP_KERNEL_SIGNAL_STACK, // alternate signal stack of a thread
    SEEP_KERNEL_ROBUST_LIST,  // head of a thread's list of robust futexes
    SEEP_KERNEL_RSEQ,         // area of a thread's restartable sequences
    SEEP_KERNEL_SIGNAL,       // value of a signal that is queued
    SEEP_KERNEL_BUFFER,       // registered with io_uring
    SEEP_KERNEL_NR
};

// A function at work whose variables may have the word of a link: by these numbers debug information finds
// them. Addresses are those of the process.
struct seep_link_frame {
    uint32_t module;
    uint64_t address; // in the module, as an ELF virtual address: of the instruction or of the call
    uint64_t cfa;     // where the frame ends; 0: not known
    uint64_t sp;
    uint64_t bp;
    uint8_t reg; // number by DWARF of the register that had the word, or SEEP_LINK_NO_REGISTER: it is in the
                 // frame
};
#define SEEP_LINK_NO_REGISTER 255u
#define SEEP_LINK_REGISTERS   33u
#define SEEP_LINK_FRAMES_MAX  4u

// A block that is not shown, or several that are alike: types go through it.
struct seep_link_step {
    uint64_t nr; // how many in a row
    uint64_t bytes;
    uint64_t off; // as in a link, as are the rest
    uint64_t arrival;
    uint32_t vtable_module;
    uint64_t vtable;
};
#define SEEP_LINK_STEPS_MAX 64u

struct seep_link {
    uint8_t kind;      // enum seep_link_kind
    bool whole;        // the thing itself is meant: `off` says nothing
    bool lost;         // of a block
    uint8_t nr_frames; // of stacks and registers: frames that may have it; of the first it is at least a part
    uint8_t nr_steps;  // of blocks left out; 0: not known
    uint32_t id; // module, thread id, site, descriptor of epoll or io_uring, number of a timer or signal
    uint32_t vtable_module; // of a block that is a C++ object; 0: none is known
    uint64_t at;      // of data: ELF virtual address of the pointer, or where `whole` any in the variable; of
                      // a stack: the pointer's, of a register: what it had, both with frames only; of
                      // memory: its start; of a block: its size; number of blocks left out; of epoll: the
                      // watched descriptor; of what else the kernel keeps: enum seep_kernel_place
    uint64_t off;     // of memory and blocks: of the pointer, from the start; UINT32_MAX of a block: or more
    uint64_t arrival; // of a block: where the pointer before it leads, from the start, + 1; 0: not known
    uint64_t vtable;  // of a block: ELF virtual address
    union {           // thousands of processes have thousands of links each
        const struct seep_link_frame *frames; // of stacks and registers
        const struct seep_link_step *steps;   // of blocks left out
        const char *text;                     // of SEEP_LINK_TEXT
    };
};

// Whether two links lead from the same place in blocks of the same kind.
SEEP_INLINE bool seep_link_steps_are_same(const struct seep_link_step *a, const struct seep_link_step *b) {
    return a->bytes == b->bytes && a->off == b->off && a->arrival == b->arrival &&
           a->vtable_module == b->vtable_module && a->vtable == b->vtable;
}

#define SEEP_CHAIN_LINKS_MAX  64u   // longer ones are not made
#define SEEP_CHAIN_BLOCKS_MAX 4096u // that are followed, whether they become links or not

// Links from the root to what points to the block in question, which is not one of them.
struct seep_chain {
    struct seep_link *links;
    uint32_t nr_links;
};

#endif
