// SPDX-License-Identifier: BSD-2-Clause
//
// A loop that the compiler has unrolled calls from several places that are one in the source: stacks with the
// same function, file and line all the way, inlined frames included, are one to a reader.
#ifndef SEEP_VIEW_STACKS_ALIKE_H
#define SEEP_VIEW_STACKS_ALIKE_H

#include "view/stacks.h"

// (*ret_of)[node] is the first node that looks like it, mostly itself; malloc'ed. Resolves frames, of those
// only that lie near one another and have the same caller.
SEEP_MUST_CHECK struct seep_error *seep_stacks_alike(struct seep_stacks *stacks, uint32_t **ret_of);

#endif
