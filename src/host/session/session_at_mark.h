// SPDX-License-Identifier: BSD-2-Clause
//
// A session as it was at a mark or a snapshot: what a user names as FILE@NAME, PID@NAME, FILE@3 or FILE@12s.
#ifndef SEEP_SESSION_SESSION_AT_MARK_H
#define SEEP_SESSION_SESSION_AT_MARK_H

#include <regex.h>

#include "profile/profile.h"

// FILE|PID, or with @NAME the state at the last mark of that name; @NAME#2 is the second of that name. Where
// no mark has the name: @3 is the third snapshot of the first process that has any, @12s the last one until
// then. A file whose own name has an @ is found first.
SEEP_MUST_CHECK struct seep_error *seep_at_mark_open(const char *source, struct seep_session **ret_session);

// The same of the processes that seep_session_open_some() reads.
SEEP_MUST_CHECK struct seep_error *seep_at_mark_open_some(const char *source, uint64_t only_pid,
                                                          const regex_t *program,
                                                          struct seep_session **ret_session);

// Turns the session into what it was at the mark. Only what a mark keeps is left: the counts of each site.
// Processes that began later are empty then; of those without the mark the others decide (a note says so).
// SEEP_E_NOT_FOUND, with the marks there are.
SEEP_MUST_CHECK struct seep_error *seep_at_mark_go(struct seep_session *session, const char *name);

// The same for what is a recording, where `when` may also be a time since the start ("12.5s") or "peak":
// session/recording_rebuild.h. `source`: the file that the session is of.
// session/recording_rebuild.h says what counts_only leaves out.
SEEP_MUST_CHECK struct seep_error *seep_at_mark_go_in(struct seep_session *session, const char *source,
                                                      const char *when, bool counts_only);

// What neither the counts of a mark nor events know is taken out of the profile.
void seep_at_mark_drop_details(struct seep_profile *profile);

#endif
