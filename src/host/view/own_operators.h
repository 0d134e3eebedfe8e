// SPDX-License-Identifier: BSD-2-Clause
//
// A library with a C++ runtime of its own (-static-libstdc++, hidden symbols) has operators that libseep.so
// cannot see: its operator new appears as a malloc, its operator delete as a free. If only one of allocation
// and release is of that kind, the pair is still a match. Such an operator delete jumps to free and leaves no
// frame, and a library without symbols names none. So where a module of the process has a runtime of its own,
// a release counts as an operator's unless the code at the call shows that the visible function calls free or
// realloc itself.
#ifndef SEEP_VIEW_OWN_OPERATORS_H
#define SEEP_VIEW_OWN_OPERATORS_H

#include "view/view.h"

// Whether a reported mismatch is in truth a match, by the functions that called malloc and free.
// `nodes` are the profile's nodes in `stacks`.
SEEP_MUST_CHECK struct seep_error *seep_is_own_operator(struct seep_stacks *stacks,
                                                        const struct seep_profile *profile,
                                                        const uint32_t *nodes,
                                                        const struct seep_wrong_release *wrong, bool *ret_is);

#endif
