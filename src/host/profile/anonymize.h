// SPDX-License-Identifier: BSD-2-Clause
// Takes what tells of the program and its machine out of a session: for a trace that is given away.
#ifndef SEEP_PROFILE_ANONYMIZE_H
#define SEEP_PROFILE_ANONYMIZE_H

#include "profile/profile.h"

// Paths become "module1", names of threads, marks and pools numbers; arguments, build-ids, functions, notes
// and who holds what in words go. Offsets in modules, addresses, sizes, times and pids stay.
SEEP_MUST_CHECK struct seep_error *seep_session_anonymize(struct seep_session *session);

#endif
