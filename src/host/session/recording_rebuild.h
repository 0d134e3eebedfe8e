// SPDX-License-Identifier: BSD-2-Clause
//
// A recording as it was at a moment: its events up to then, one after the other, make the heap of each
// process anew.
#ifndef SEEP_SESSION_RECORDING_REBUILD_H
#define SEEP_SESSION_RECORDING_REBUILD_H

#include "profile/profile.h"

// "peak", or a time since the start of the program ("12.5s", "300ms"): SEEP_REBUILD_PEAK or ns. false:
// neither.
#define SEEP_REBUILD_PEAK INT64_MIN
SEEP_MUST_CHECK bool seep_rebuild_parse(const char *text, int64_t *ret_at_ns);

// Whether the file has events. One that cannot be read has none: opening it says why.
bool seep_rebuild_is_recording(const char *path);

// Turns the session, which was read from the file, into what it was. At the peak each process is at its own.
// Sites, live blocks and their ages are exact; what a recording does not have (leaks, mappings) is left out.
// `counts_only`: what threads did and which blocks were live is not asked for. Of a long recording it is left
// out then, and the sums of the file are gone on from.
SEEP_MUST_CHECK struct seep_error *seep_rebuild_go(struct seep_session *session, const char *path,
                                                   int64_t at_ns, bool counts_only);

// Gives the live blocks of the end their ages and threads, where the file is a recording and they have none.
// It reads all events.
SEEP_MUST_CHECK struct seep_error *seep_rebuild_births(struct seep_session *session, const char *path);

// A recording that has no end, because it is still being written, or was cut: a session of what is in it, up
// to the last good chunk. What the program told besides (marks, mappings) is not in it.
SEEP_MUST_CHECK struct seep_error *seep_rebuild_recover(const char *path, struct seep_session **ret_session);

// The same of the file of a library that recorded alone and was killed: the session, which was read from it,
// has stacks only.
SEEP_MUST_CHECK struct seep_error *seep_rebuild_fill(struct seep_session *session, const char *path);

#endif
