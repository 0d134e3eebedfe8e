// SPDX-License-Identifier: BSD-2-Clause
// The LEAKS, HOLDERS, CHAINS, LEADERS and ARRIVALS sections of a trace, both ways; for session_save.c and
// session_load.c. See docs/trace-format.md.
#ifndef SEEP_FILE_SESSION_LEAKS_H
#define SEEP_FILE_SESSION_LEAKS_H

#include "profile/profile.h"
#include "base/records.h"

void seep_leaks_put(struct seep_put *put, const struct seep_profile *profile);

// Fills leaks, block_kinds and held of a profile whose sites and blocks are there; the kinds of
// sites follow by seep_profile_derive_leaks. What is wrong, static text, or NULL; *ret_no_memory.
const char *seep_leaks_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);

// The HOLDERS section: leaks.holders, and retained_bytes of sites.
void seep_holders_put(struct seep_put *put, const struct seep_profile *profile);
const char *seep_holders_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);

// The CHAINS section: held of sites, and chain of leaks.holders, which must be there already.
// The LEADERS section.
bool seep_leaders_worth_saving(const struct seep_profile *profile);
void seep_leaders_put(struct seep_put *put, const struct seep_profile *profile);
const char *seep_leaders_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);

bool seep_chains_worth_saving(const struct seep_profile *profile);
void seep_chains_put(struct seep_put *put, const struct seep_profile *profile);
const char *seep_chains_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);

// The ARRIVALS section, of chains that must be there already.
bool seep_arrivals_worth_saving(const struct seep_profile *profile);
void seep_arrivals_put(struct seep_put *put, const struct seep_profile *profile);
const char *seep_arrivals_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);

#endif
