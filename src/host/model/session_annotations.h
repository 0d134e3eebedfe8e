// SPDX-License-Identifier: BSD-2-Clause
// The POOLS, PIECES and MARKS sections of a trace, both ways; for session_save.c and session_load.c. See
// docs/trace-format.md.
#ifndef SEEP_MODEL_SESSION_ANNOTATIONS_H
#define SEEP_MODEL_SESSION_ANNOTATIONS_H

#include "model/profile.h"
#include "trace/records.h"

bool seep_pools_worth_saving(const struct seep_profile *profile);
void seep_pools_put(struct seep_put *put, const struct seep_profile *profile);
// Pieces [first, first + nr): a section of them.
void seep_pieces_put(struct seep_put *put, const struct seep_profile *profile, uint32_t first, uint32_t nr);
void seep_mark_put(struct seep_put *put, const struct seep_mark *mark);

// Fill a profile whose sites are there. What is wrong, static text, or NULL; *ret_no_memory.
const char *seep_pools_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);
const char *seep_pieces_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);
const char *seep_mark_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);

#endif
