// SPDX-License-Identifier: BSD-2-Clause
// The LEAKS and HOLDERS sections of a trace, both ways; for session_save.c and session_load.c. See
// docs/trace-format.md.
#ifndef SEEP_MODEL_SESSION_LEAKS_H
#define SEEP_MODEL_SESSION_LEAKS_H

#include "model/profile.h"
#include "trace/records.h"

void seep_leaks_put(struct seep_put *put, const struct seep_profile *profile);

// Fills leaks, block_kinds and held_by of a profile whose sites and blocks are there; the kinds of
// sites follow by seep_profile_derive_leaks. What is wrong, static text, or NULL; *ret_no_memory.
const char *seep_leaks_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);

// The HOLDERS section: leaks.holders, and retained_bytes of sites.
void seep_holders_put(struct seep_put *put, const struct seep_profile *profile);
const char *seep_holders_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);

#endif
