// SPDX-License-Identifier: BSD-2-Clause
// The POOLS, PIECES, MARKS, SNAPSHOTS and NAMES sections of a trace, both ways; for session_save.c and
// session_load.c. See docs/trace-format.md.
#ifndef SEEP_FILE_SESSION_ANNOTATIONS_H
#define SEEP_FILE_SESSION_ANNOTATIONS_H

#include "profile/profile.h"
#include "base/records.h"

bool seep_pools_worth_saving(const struct seep_profile *profile);
void seep_pools_put(struct seep_put *put, const struct seep_profile *profile);
// Pieces [first, first + nr): a section of them.
void seep_pieces_put(struct seep_put *put, const struct seep_profile *profile, uint32_t first, uint32_t nr);
void seep_mark_put(struct seep_put *put, const struct seep_mark *mark);
void seep_snapshot_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index);

// The names of a module, for which no file is asked.
void seep_names_put(struct seep_put *put, const struct seep_profile *profile, uint32_t module);

// Fill a profile whose sites are there. What is wrong, static text, or NULL; *ret_no_memory.
const char *seep_pools_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);
const char *seep_pieces_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);
const char *seep_mark_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);
const char *seep_peak_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);
// Appends: snapshots come in the order of time.
const char *seep_snapshot_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);

// Once for a module.
const char *seep_names_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);

#endif
