// SPDX-License-Identifier: BSD-2-Clause
//
// A session in a file: saved as a trace (*.seep, docs/trace-format.md), loaded from a trace or from
// the raw dump that the preload library leaves when it works alone.
#ifndef SEEP_MODEL_SESSION_FILE_H
#define SEEP_MODEL_SESSION_FILE_H

#include "model/profile.h"

// "-" is standard output. A regular file is replaced as a whole or, on any failure, left as it was.
// What a profile means survives exactly; the derived figures are computed again on load.
SEEP_MUST_CHECK struct seep_error *seep_session_save(const struct seep_session *session, const char *path);

// "-" is standard input. The session has at least one profile, and all ids in it were checked. A
// trace that was cut gives what precedes the cut and says so in health.notes.
SEEP_MUST_CHECK struct seep_error *seep_session_load(const char *path, struct seep_session **ret_session);

// The same from memory; `name` is for messages only. Nothing of `bytes` is kept.
SEEP_MUST_CHECK struct seep_error *seep_session_load_bytes(const void *bytes, size_t size, const char *name,
                                                           struct seep_session **ret_session);

#endif
