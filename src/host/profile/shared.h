// SPDX-License-Identifier: BSD-2-Clause
//
// Memory of the profiles of one trace: what is the same for many processes, as a forked process has its
// parent's stacks and pointers, and what each has for itself. It ends with the last of the profiles.
//
// Invariant: nothing that several show changes; what must change there is copied first.
// Not thread-safe: profiles of one trace are used by one thread.
#ifndef SEEP_PROFILE_SHARED_H
#define SEEP_PROFILE_SHARED_H

#include "base/arena.h"
#include "base/error.h"
#include "base/ids.h"
#include "profile/chain.h"

struct seep_shared {
    struct seep_arena arena;
    size_t nr_owners;
    const struct seep_chain **chains; // each distinct one; malloc'ed
    size_t nr_chains;
    size_t chains_capacity;
    struct seep_ids chain_ids;
};

// With one owner, who makes it.
SEEP_MUST_CHECK struct seep_error *seep_shared_create(struct seep_shared **ret_shared);
void seep_shared_release(struct seep_shared *shared); // by one of its owners; takes NULL

// The one copy of a chain with all that it points to. NULL: out of memory.
SEEP_MUST_CHECK const struct seep_chain *seep_shared_chain(struct seep_shared *shared,
                                                           const struct seep_chain *chain);

#endif
