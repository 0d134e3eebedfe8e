// SPDX-License-Identifier: BSD-2-Clause
//
// What a user names to have its memory looked at: a traced process, a core file of one, or a trace of one
// that was looked at.
#ifndef SEEP_COMMAND_SCANNED_H
#define SEEP_COMMAND_SCANNED_H

#include "scan/scan.h"

// `trace` is of a core file, or NULL (session/core_trace.h).
SEEP_MUST_CHECK struct seep_error *seep_scanned_open(const char *operand, const char *trace,
                                                     const struct seep_scan_options *options,
                                                     struct seep_session **ret_session);

#endif
