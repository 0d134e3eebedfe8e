// SPDX-License-Identifier: BSD-2-Clause
//
// A session in a file: saved as a trace (*.seep, docs/trace-format.md), loaded from a trace or from
// the raw dump that the preload library leaves when it works alone.
#ifndef SEEP_MODEL_SESSION_FILE_H
#define SEEP_MODEL_SESSION_FILE_H

#include "model/profile.h"
#include "trace/trace.h"

// "-" is standard output. A regular file is replaced as a whole or, on any failure, left as it was.
// What a profile means survives exactly; the derived figures are computed again on load. A brief session is
// complete under its name as any other, but a power cut may take it.
SEEP_MUST_CHECK struct seep_error *seep_session_save(const struct seep_session *session, const char *path);

// "-" is standard input. The session has at least one profile, and all ids in it were checked. A
// trace that was cut gives what precedes the cut and says so in health.notes.
SEEP_MUST_CHECK struct seep_error *seep_session_load(const char *path, struct seep_session **ret_session);

// Of a regular file only the processes that seep_session_select() would take, where the file has an
// index; else all. SEEP_E_NOT_FOUND where there is none of them.
SEEP_MUST_CHECK struct seep_error *seep_session_load_some(const char *path, uint64_t pid,
                                                          const regex_t *program,
                                                          struct seep_session **ret_session);

// One process: the sections of its group.
SEEP_MUST_CHECK struct seep_error *seep_profile_save(const struct seep_profile *profile,
                                                     struct seep_trace_writer *writer);
// `part` holds that and nothing else (seep_trace_reader_part).
SEEP_MUST_CHECK struct seep_error *seep_profile_load(const struct seep_trace_reader *part,
                                                     struct seep_profile **ret_profile);

// The same from memory; `name` is for messages only. Nothing of `bytes` is kept.
SEEP_MUST_CHECK struct seep_error *seep_session_load_bytes(const void *bytes, size_t size, const char *name,
                                                           struct seep_session **ret_session);

#endif
