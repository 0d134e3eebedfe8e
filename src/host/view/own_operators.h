// SPDX-License-Identifier: BSD-2-Clause
//
// A library with a C++ runtime of its own (-static-libstdc++, its symbols hidden) has operators that the
// library in the program cannot see: its operator new comes as a malloc, its operator delete as a free. Where
// only one side of a block is of that kind, the two fit all the same.
#ifndef SEEP_VIEW_OWN_OPERATORS_H
#define SEEP_VIEW_OWN_OPERATORS_H

#include "view/view.h"

// Whether a mismatch is none, by the names of the functions that called malloc and free. `nodes` are those of
// the profile in `stacks`.
SEEP_MUST_CHECK struct seep_error *seep_is_own_operator(struct seep_stacks *stacks,
                                                        const struct seep_profile *profile,
                                                        const uint32_t *nodes,
                                                        const struct seep_wrong_release *wrong, bool *ret_is);

#endif
