// SPDX-License-Identifier: BSD-2-Clause
// What was scanned, see scanned.h.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command/scanned.h"
#include "file/trace.h"
#include "scan/core_file.h"
#include "session/core_trace.h"
#include "session/session_open.h"

static struct seep_error *scan_core(const char *path, const char *trace,
                                    const struct seep_scan_options *options,
                                    struct seep_session **ret_session) {
    struct seep_core *core = NULL;
    struct seep_session *session = NULL;
    struct seep_error *err = seep_core_open(path, &core);
    if (!err)
        err = seep_core_trace_load(core, path, trace, &session);
    if (!err)
        err = seep_scan_core(core, options, session->profiles[0]);
    if (!err && core->missing_bytes)
        err = seep_profile_note(session->profiles[0], SEEP_NOTE_CORE_CUT,
                                "%s was cut: %llu bytes of memory are missing (ulimit -c, or a full disk)",
                                path, (unsigned long long)core->missing_bytes);
    seep_core_close(core);
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}

// By its first bytes; what cannot be read is left to those who say why.
static bool is_trace(const char *path) {
    char magic[SEEP_TRACE_MAGIC_BYTES] = {0};
    FILE *file = fopen(path, "re");
    bool whole = file && fread(magic, sizeof(magic), 1, file) == 1;
    if (file)
        fclose(file);
    return whole && memcmp(magic, SEEP_TRACE_MAGIC, sizeof(magic)) == 0;
}

// A trace has no memory; `seep run` and `seep scan -o` have looked when there was some.
static struct seep_error *open_scanned(const char *path, const char *trace,
                                       struct seep_session **ret_session) {
    if (trace)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: a saved trace, not a core file", path),
                               "name the core file, and the trace with --trace");
    struct seep_session *session = NULL;
    struct seep_error *err = seep_session_open(path, &session);
    bool any = false;
    for (size_t i = 0; !err && i < session->nr_profiles; i++)
        any |= session->profiles[i]->leaks.known;
    if (!err && !any)
        err =
            seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                              "%s: no one looked at the memory, and a trace has none", path),
                            "of a process that crashed: seep scan CORE --trace %s", path);
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}

struct seep_error *seep_scanned_open(const char *operand, const char *trace,
                                     const struct seep_scan_options *options,
                                     struct seep_session **ret_session) {
    bool is_pid;
    pid_t pid;
    struct seep_error *err = seep_parse_pid(operand, &is_pid, &pid);
    if (err)
        return err;
    if (is_pid && trace)
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--trace goes with a core file, not with a PID"),
            "leave it out: the process has its image");
    if (!is_pid && options->cow)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--cow goes with a PID, not with a core file"),
                               "leave it out: a core file changes no more");
    if (is_pid)
        return seep_scan_process(pid, options, ret_session);
    if (access(operand, F_OK))
        return seep_error_hint(
            seep_error_system(errno, "'%s' is no PID, and no core file can be opened under that name",
                              operand),
            "a PID is a number; 'seep report' shows saved traces");
    return is_trace(operand) ? open_scanned(operand, trace, ret_session)
                             : scan_core(operand, trace, options, ret_session);
}
