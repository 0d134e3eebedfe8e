// SPDX-License-Identifier: BSD-2-Clause
//
// The lines that a leak of `seep check` comes from, or what held the peak. Sites whose stacks differ in lines
// only are one leak, because a baseline has no lines. To mend a leak, all of its lines have to be known.
#ifndef SEEP_ANALYSIS_LEAK_PLACES_H
#define SEEP_ANALYSIS_LEAK_PLACES_H

#include <stdbool.h>

#include "analysis/check.h"

// Adds the stack of a site. false: out of memory.
SEEP_MUST_CHECK bool seep_leak_add_place(struct seep_arena *arena, struct seep_leak_places *places,
                                         const struct seep_check_stack *stack, uint64_t blocks,
                                         uint64_t bytes);
// Keeps one place for each line that is not that of `stack`, which has most bytes.
void seep_leak_join_places(struct seep_leak_places *places, const struct seep_check_stack *stack);

#endif
