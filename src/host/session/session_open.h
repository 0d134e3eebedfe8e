// SPDX-License-Identifier: BSD-2-Clause
//
// What a user names as FILE|PID, as a session.
#ifndef SEEP_SESSION_SESSION_OPEN_H
#define SEEP_SESSION_SESSION_OPEN_H

#include <sys/types.h>

#include "profile/profile.h"

// Digits only are a pid (./123 is a file of that name), "-" is standard input, everything else a
// file: a trace or a raw dump.
SEEP_MUST_CHECK struct seep_error *seep_session_open(const char *file_or_pid,
                                                     struct seep_session **ret_session);

// Of a file at least the processes that seep_session_select() would take; the others are not read where
// that is possible.
SEEP_MUST_CHECK struct seep_error *seep_session_open_some(const char *file_or_pid, uint64_t only_pid,
                                                          const regex_t *program,
                                                          struct seep_session **ret_session);

// The live image of a traced process, which is neither stopped nor signalled.
SEEP_MUST_CHECK struct seep_error *seep_session_from_pid(pid_t pid, struct seep_session **ret_session);

// Digits only: then *ret_pid, if it fits a pid.
SEEP_MUST_CHECK struct seep_error *seep_parse_pid(const char *text, bool *ret_is_pid, pid_t *ret_pid);

#endif
