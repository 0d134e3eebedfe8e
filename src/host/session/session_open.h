// SPDX-License-Identifier: BSD-2-Clause
//
// A source opened, taken as a session and closed again (source.h).
#ifndef SEEP_SESSION_SESSION_OPEN_H
#define SEEP_SESSION_SESSION_OPEN_H

#include "session/source.h"

// Digits only are a pid (./123 is a file of that name), "-" is standard input, everything else a
// file: a trace, a raw dump, or a core file whose process has a trace beside it.
SEEP_MUST_CHECK struct seep_error *seep_session_open(const char *spec, struct seep_session **ret_session);

// Of a file the processes that seep_source_options says.
SEEP_MUST_CHECK struct seep_error *seep_session_open_some(const char *spec, uint64_t only_pid,
                                                          const regex_t *program,
                                                          struct seep_session **ret_session);

// The live image of a traced process, which is neither stopped nor signalled, with notes on the allocators in
// its files. Repeated looks do without those: seep_session_from_image_pid.
SEEP_MUST_CHECK struct seep_error *seep_session_from_pid(pid_t pid, struct seep_session **ret_session);

#endif
