// SPDX-License-Identifier: BSD-2-Clause
//
// The frames of a thread that was stopped, from a copy of its registers and of its stack: what each
// function's registers were, and where they are saved. By the call-frame information of its modules, and
// expressions of DWARF. Source: DWARF 5, sections 2.5, 2.6 and 6.4.
#ifndef SEEP_NAMES_CALL_FRAMES_H
#define SEEP_NAMES_CALL_FRAMES_H

#include <elfutils/libdw.h>

#include "base/error.h"
#include "names/symbols.h"

struct seep_call_frames; // of a module

// Borrows `elf`. *ret_frames is NULL where it has no call-frame information.
SEEP_MUST_CHECK struct seep_error *seep_call_frames_create(Elf *elf, struct seep_call_frames **ret_frames);
void seep_call_frames_destroy(struct seep_call_frames *frames); // takes NULL

// Leaves `frame`, whose pc is `address` in the module as an ELF virtual address. Fills frame->cfa. false:
// there is no caller, or it is not known where.
SEEP_MUST_CHECK bool seep_call_frames_step(struct seep_call_frames *frames, uint64_t address,
                                           const struct seep_thread_stack *stack,
                                           struct seep_call_frame *frame, struct seep_call_frame *ret_caller);

// Where or what a variable is.
enum seep_location_kind {
    SEEP_LOCATION_NONE,
    SEEP_LOCATION_MEMORY,
    SEEP_LOCATION_REGISTER,
    SEEP_LOCATION_VALUE
};
struct seep_location {
    enum seep_location_kind kind;
    uint64_t value; // an address, the number of a register, or the value
};

// Evaluates an expression in a frame. `frame_base` is for DW_OP_fbreg, NULL: not known.
struct seep_location seep_location_find(const Dwarf_Op *ops, size_t nr_ops,
                                        const struct seep_call_frame *frame,
                                        const struct seep_thread_stack *stack, const uint64_t *frame_base);

#endif
