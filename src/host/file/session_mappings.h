// SPDX-License-Identifier: BSD-2-Clause
// The MAPPINGS, WRONG_RELEASES, ACCOUNT and FIRST_RELEASES sections of a trace, both ways; for session_save.c
// and session_load.c. See docs/trace-format.md.
#ifndef SEEP_FILE_SESSION_MAPPINGS_H
#define SEEP_FILE_SESSION_MAPPINGS_H

#include "profile/profile.h"
#include "base/records.h"

void seep_mappings_put(struct seep_put *put, const struct seep_profile *profile);
void seep_wrong_releases_put(struct seep_put *put, const struct seep_profile *profile);
bool seep_first_releases_known(const struct seep_profile *profile);
void seep_first_releases_put(struct seep_put *put, const struct seep_profile *profile);
void seep_account_put(struct seep_put *put, const struct seep_profile *profile);

// Into a profile whose sites are there. What is wrong, static text, or NULL; *ret_no_memory. That numbers are
// whole is for the caller to see in *take.
const char *seep_mappings_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);
const char *seep_wrong_releases_take(struct seep_take *take, struct seep_profile *profile,
                                     bool *ret_no_memory);
const char *seep_first_releases_take(struct seep_take *take, struct seep_profile *profile,
                                     bool *ret_no_memory);
const char *seep_account_take_saved(struct seep_take *take, struct seep_profile *profile,
                                    bool *ret_no_memory);

#endif
