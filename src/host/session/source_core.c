// SPDX-License-Identifier: BSD-2-Clause
// A core file of a process that was traced: its memory, and what a trace has of the process. See source.h.
#include <sys/stat.h>

#include "profile/verdict.h"
#include "scan/core_file.h"
#include "scan/scan.h"
#include "session/core_trace.h"
#include "session/source.h"

// To open a FIFO might let its writer go on, before somebody reads it.
static bool takes(const char *spec) {
    struct stat status;
    return stat(spec, &status) == 0 && S_ISREG(status.st_mode) && seep_core_is_one(spec);
}

static struct seep_error *open_core(struct seep_source *source) {
    struct seep_core *core;
    struct seep_error *err = seep_core_open(source->spec, &core);
    if (err)
        return err;
    source->data = core;
    source->pid = core->pid;
    return NULL;
}

static struct seep_error *snapshot(struct seep_source *source, struct seep_session **ret_session) {
    return seep_core_trace_load(source->data, source->spec, source->options.trace, ret_session);
}

static struct seep_error *scan(struct seep_source *source, const struct seep_scan_options *options,
                               struct seep_session **ret_session) {
    const struct seep_core *core = source->data;
    struct seep_session *session = NULL;
    struct seep_error *err = snapshot(source, &session);
    if (!err)
        err = seep_scan_core(core, options, session->profiles[0]);
    if (!err && core->missing_bytes)
        err = seep_profile_note(session->profiles[0], SEEP_NOTE_CORE_CUT,
                                "%s was cut: %llu bytes of memory are missing (ulimit -c, or a full disk)",
                                source->spec, (unsigned long long)core->missing_bytes);
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}

static void close_core(struct seep_source *source) {
    seep_core_close(source->data);
}

const struct seep_source_ops seep_source_core = {.form = "CORE",
                                                 .takes = takes,
                                                 .open = open_core,
                                                 .snapshot = snapshot,
                                                 .scan = scan,
                                                 .close = close_core};
