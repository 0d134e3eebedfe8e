// SPDX-License-Identifier: BSD-2-Clause
// A source opened, taken and closed again, see session_open.h.
#include "session/session_open.h"

struct seep_error *seep_session_open_some(const char *spec, uint64_t only_pid, const regex_t *program,
                                          struct seep_session **ret_session) {
    struct seep_source source;
    struct seep_error *err = seep_source_open(
        spec, &(struct seep_source_options){.only_pid = only_pid, .program = program}, &source);
    if (err)
        return err;
    err = seep_source_snapshot(&source, ret_session);
    seep_source_close(&source);
    return err;
}

struct seep_error *seep_session_open(const char *spec, struct seep_session **ret_session) {
    return seep_session_open_some(spec, 0, NULL, ret_session);
}
