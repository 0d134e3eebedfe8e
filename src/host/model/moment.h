// SPDX-License-Identifier: BSD-2-Clause
//
// A session as it was at a mark: what a user names as FILE@NAME or PID@NAME.
#ifndef SEEP_MODEL_MOMENT_H
#define SEEP_MODEL_MOMENT_H

#include "model/profile.h"

// FILE|PID, or with @NAME the state at the last mark of that name; @NAME#2 is the second of that name. A file
// whose own name has an @ is found first.
SEEP_MUST_CHECK struct seep_error *seep_moment_open(const char *source, struct seep_session **ret_session);

// Turns the session into what it was at the mark. Only what a mark keeps is left: the counts of each site.
// Processes that began later are empty then; of those without the mark the others decide (a note says so).
// SEEP_E_NOT_FOUND, with the marks there are.
SEEP_MUST_CHECK struct seep_error *seep_moment_go(struct seep_session *session, const char *name);

// When that was, in ns after the start of the process with this index; of a process without the mark, when
// others have it. SEEP_E_NOT_FOUND, with the marks there are.
SEEP_MUST_CHECK struct seep_error *seep_moment_time(const struct seep_session *session, const char *name,
                                                    size_t process, int64_t *ret_ns);

#endif
