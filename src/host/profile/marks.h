// SPDX-License-Identifier: BSD-2-Clause
//
// The marks of a session by name: NAME is the last of that name, NAME#2 the second. "peak" is the moment at
// which the live bytes were highest, unless the program has a mark of that name.
#ifndef SEEP_PROFILE_MARKS_H
#define SEEP_PROFILE_MARKS_H

#include "profile/profile.h"

// NULL where the profile has no such mark.
const struct seep_mark *seep_marks_find(const struct seep_profile *profile, const char *name);

// When that was, in ns after the start of the process with this index; of a process without the mark, when
// others have it. SEEP_E_NOT_FOUND, with the marks there are.
SEEP_MUST_CHECK struct seep_error *seep_marks_time(const struct seep_session *session, const char *name,
                                                   size_t process, int64_t *ret_ns);

// SEEP_E_NOT_FOUND, with the marks there are.
SEEP_MUST_CHECK struct seep_error *seep_marks_missing(const struct seep_session *session, const char *name);

#endif
