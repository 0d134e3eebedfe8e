// SPDX-License-Identifier: BSD-2-Clause
//
// The pointers between all blocks, and from their holders: what a scan keeps where it is asked to. Of a
// million blocks it takes tens of megabytes, so it is not part of a trace.
#ifndef SEEP_PROFILE_POINTERS_H
#define SEEP_PROFILE_POINTERS_H

#include "profile/chain.h"

struct seep_pointer {
    uint32_t target; // block, by index in those of the profile
    uint32_t off;    // from the start of what has it; UINT32_MAX: or more. Of a holder: not known, 0
};

// A variable, a thread, a mapping.
struct seep_pointer_holder {
    struct seep_link link;
    uint32_t nr; // of its pointers, which are next in `held`
};

// A block that is a C++ object.
struct seep_pointer_object {
    uint32_t block;
    uint32_t module;
    uint64_t vtable; // ELF virtual address
};

struct seep_pointers {
    const struct seep_pointer *items; // those of block i: [first[i], first[i + 1])
    const uint64_t *first;
    struct seep_pointer_holder *holders;
    uint32_t nr_holders;
    struct seep_pointer *held;
    struct seep_pointer_object *objects; // by block
    size_t nr_objects;
};

#endif
