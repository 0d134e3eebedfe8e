// SPDX-License-Identifier: BSD-2-Clause
//
// Registers and stacks of the threads as they were when the process was stopped, so that the functions that
// hold something can be found when it runs again. Of a very deep stack the innermost part is kept. Only the
// tables of calls are read of files (.eh_frame): names are for later, see profile/chain.h.
#ifndef SEEP_SCAN_KEPT_STACKS_H
#define SEEP_SCAN_KEPT_STACKS_H

#include "profile/chain.h"
#include "profile/profile.h"
#include "scan/memory.h"
#include "scan/stop.h"
#include "names/symbols.h"

struct seep_kept_stack;

struct seep_kept_stacks {
    struct seep_kept_stack *items; // by index in the stopped threads
    size_t nr_items;
    struct seep_symbols *symbols; // made when frames are first asked for, or borrowed
    bool is_borrowed;
};

// While the process is stopped. false: out of memory; deinit all the same. `symbols`: hasty ones, borrowed,
// of many scans, or NULL.
SEEP_MUST_CHECK bool seep_kept_stacks_take(struct seep_memory *memory, const struct seep_stopped *stopped,
                                           struct seep_symbols *symbols, struct seep_kept_stacks *ret_kept);
void seep_kept_stacks_deinit(struct seep_kept_stacks *kept);

// The functions of a thread in whose variables the word at `address` of its stack may be or, with address 0,
// the `value` that a register has: the function in whose frame it lies, then those that had it in a register
// which that function saved there. Returns how many; 0: not known. Needs nothing of the process any more.
size_t seep_kept_stacks_find(struct seep_kept_stacks *kept, const struct seep_profile *profile, pid_t tid,
                             uint64_t address, uint64_t value,
                             struct seep_link_frame ret_frames[SEEP_LINK_FRAMES_MAX]);

#endif
