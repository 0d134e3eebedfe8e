// SPDX-License-Identifier: BSD-2-Clause
//
// What was traced of the process that a core file is of. The image itself is not in a core: it lies in memory
// that is not dumped, because it can be larger than the program. But the tool has it, and saves it when the
// process dies.
#ifndef SEEP_SESSION_CORE_TRACE_H
#define SEEP_SESSION_CORE_TRACE_H

#include "profile/profile.h"
#include "scan/core_file.h"

// `trace` NULL: the one that 'seep run' or 'seep snap' saved under its usual name, beside the core or in the
// current folder. The session has that process only.
SEEP_MUST_CHECK struct seep_error *seep_core_trace_load(const struct seep_core *core, const char *core_path,
                                                        const char *trace, struct seep_session **ret_session);

#endif
