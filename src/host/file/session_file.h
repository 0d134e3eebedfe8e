// SPDX-License-Identifier: BSD-2-Clause
//
// A session in a file: saved as a trace (*.seep, docs/trace-format.md), loaded from a trace or from
// the raw dump that the preload library leaves when it works alone.
#ifndef SEEP_FILE_SESSION_FILE_H
#define SEEP_FILE_SESSION_FILE_H

#include "profile/profile.h"
#include "file/trace.h"

// "-" is standard output. A regular file is replaced as a whole or, on any failure, left as it was.
// What a profile means survives exactly; the derived figures are computed again on load. A brief session is
// complete under its name as any other, but a power cut may take it.
SEEP_MUST_CHECK struct seep_error *seep_session_save(const struct seep_session *session, const char *path);

// The same, where the user has not named the file: one that is there is kept, and the trace gets the first
// free name of "app.2.seep", "app.3.seep", ... *ret_name: that name, malloc'ed.
SEEP_MUST_CHECK struct seep_error *seep_session_save_beside(const struct seep_session *session,
                                                            const char *path, char **ret_name);
// The same, in the place of `file` where that still has the name; *file becomes the new one.
SEEP_MUST_CHECK struct seep_error *seep_session_save_over(const struct seep_session *session,
                                                          const char *path, struct seep_trace_file *file,
                                                          char **ret_name);
// To a descriptor, which is borrowed; `name` is for messages.
SEEP_MUST_CHECK struct seep_error *seep_session_save_fd(const struct seep_session *session, int fd,
                                                        const char *name);
// The same behind what the writer has written already (a recording), and the end of it; `path` is for
// messages.
SEEP_MUST_CHECK struct seep_error *seep_session_save_behind(const struct seep_session *session,
                                                            const char *path,
                                                            struct seep_trace_writer *writer);

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
