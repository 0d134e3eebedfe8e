// SPDX-License-Identifier: BSD-2-Clause
//
// Variables by DWARF: the global ones of a module, and those of the functions of a thread's stack.
#ifndef SEEP_NAMES_DEBUG_VARIABLES_H
#define SEEP_NAMES_DEBUG_VARIABLES_H

#include "names/call_frames.h"
#include "names/debug_info.h"

struct seep_debug_variables;

// Borrows `info`.
SEEP_MUST_CHECK struct seep_error *seep_debug_variables_create(struct seep_debug_info *info,
                                                               struct seep_debug_variables **ret_variables);
void seep_debug_variables_destroy(struct seep_debug_variables *variables); // takes NULL

// The entry of the variable that begins at the ELF virtual address `start`; false in *ret_found: none is
// known. Units are read one after the other until one has it, each of them once. *ret_function is the name of
// the function that a static local variable is of, or NULL.
SEEP_MUST_CHECK struct seep_error *seep_debug_variables_global(struct seep_debug_variables *variables,
                                                               uint64_t start, bool *ret_found,
                                                               Dwarf_Die *ret_entry,
                                                               const char **ret_function);

// What is asked for in a frame: the word at an address, or (address 0) one that a register still has.
struct seep_wanted_word {
    uint64_t address;
    uint64_t value;
};

// The variable or parameter of the function of `frame` that has the word. The function may be inlined into
// that of the frame. *ret_off is how far the word lies in the variable.
SEEP_MUST_CHECK struct seep_error *seep_debug_variables_local(struct seep_debug_variables *variables,
                                                              const struct seep_call_frame *frame,
                                                              const struct seep_thread_stack *stack,
                                                              const struct seep_wanted_word *wanted,
                                                              bool *ret_found, Dwarf_Die *ret_entry,
                                                              Dwarf_Die *ret_function, uint64_t *ret_off);

#endif
