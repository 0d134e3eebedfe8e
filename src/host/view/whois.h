// SPDX-License-Identifier: BSD-2-Clause
//
// What is known of one address of a process: the answer of `seep whois`. Filled by scan/inspect.h.
#ifndef SEEP_VIEW_WHOIS_H
#define SEEP_VIEW_WHOIS_H

#include "profile/profile.h"

enum seep_place {
    SEEP_PLACE_BLOCK,
    SEEP_PLACE_FREE, // memory of the allocator, in no live block
    SEEP_PLACE_DATA, // of a module
    SEEP_PLACE_CODE,
    SEEP_PLACE_STACK,
    SEEP_PLACE_MAPPING,
    SEEP_PLACE_SEEP, // the library's own memory
    SEEP_PLACE_NOTHING,
    SEEP_PLACE_UNKNOWN, // a saved trace has blocks only
    SEEP_PLACE_NR
};

struct seep_whois_frame {
    const char *function; // NULL: not known
    const char *file;
    unsigned line; // 0: not known
    const char *module;
    uint64_t offset; // ELF virtual address
    bool inlined;
};

struct seep_whois_stack {
    struct seep_whois_frame *frames; // innermost first
    size_t nr_frames;
    int cut; // enum seep_cut, or -1
};

struct seep_whois_pointer {
    const char *from; // "global cache+0x10 in libfoo.so"
    uint64_t address; // of the pointer; 0: a register
    uint64_t to_off;  // bytes into the block
};

struct seep_whois {
    struct seep_arena arena; // owns all texts and arrays
    uint64_t address;
    uint32_t pid;
    const char *exe;
    enum seep_place place;
    const char *what; // of a place that is no block, in words
    // Of a block:
    struct seep_block block;
    const char *class_name; // of a C++ object; NULL: not known
    uint32_t via;
    uint32_t tid;        // of the thread that allocated it; 0: not known
    uint8_t kind;        // SEEP_KIND_UNKNOWN: not scanned
    const char *held_by; // NULL: none, or not scanned
    const char *type;    // that the last pointer of held_by, to the start, is declared to lead to; or NULL
    uint64_t retained_bytes;
    uint64_t retained_blocks; // 0: not known
    struct seep_whois_stack stack;
    bool pointers_known;
    struct seep_whois_pointer *pointers; // roots first
    size_t nr_pointers;
    uint64_t nr_pointers_all;
    // Of memory that was a block and is one no more: address 0, nothing is known.
    struct seep_freed freed;
    uint32_t freed_via;   // through which it was allocated
    uint32_t release_via; // and freed
    struct seep_whois_stack freed_stack;
    struct seep_whois_stack release_stack;
};

void seep_whois_destroy(struct seep_whois *whois);  // takes NULL
const char *seep_place_name(enum seep_place place); // "block", "free", "data", ...

#endif
