// SPDX-License-Identifier: BSD-2-Clause
// A file, or what comes in by standard input: a trace or a raw dump. See source.h.
#include <string.h>

#include "base/shown_text.h"
#include "file/session_file.h"
#include "session/recording_rebuild.h"
#include "session/source.h"
#include "profile/verdict.h"

static bool takes_stream(const char *spec) {
    return strcmp(spec, "-") == 0;
}

static bool takes_any(const char *spec) {
    return true;
}

static bool was_cut_short(const struct seep_session *session) {
    return seep_profile_has_note(session->profiles[0], SEEP_NOTE_IMAGE_CUT);
}

static struct seep_error *load(const struct seep_source *source, struct seep_session **ret_session) {
    const struct seep_source_options *only = &source->options;
    struct seep_error *error =
        only->only_pid || only->program
            ? seep_session_load_some(source->spec, only->only_pid, only->program, ret_session)
            : seep_session_load(source->spec, ret_session);
    if (error || !was_cut_short(*ret_session) || !seep_rebuild_is_recording(source->spec))
        return error;
    error = seep_rebuild_fill(*ret_session, source->spec);
    if (error)
        seep_session_destroy(*ret_session);
    return error;
}

// A recording that is still written has files beside it (NAME.PID). Such a file gets its last name when its
// process ends, and goes when its events are in the recording. One that was found and is not there any more
// is a reason to look again.
static struct seep_error *snapshot(struct seep_source *source, struct seep_session **ret_session) {
    enum { TURNS = 3 };
    for (int turn = 1;; turn++) {
        struct seep_error *error = load(source, ret_session);
        if (!error || error->code != SEEP_E_FORMAT || !seep_rebuild_is_recording(source->spec))
            return error;
        struct seep_error *other = seep_rebuild_recover(source->spec, ret_session);
        if (other && other->code == SEEP_E_FORMAT) { // the error of the whole says more
            seep_error_destroy(other);
            return error;
        }
        seep_error_destroy(error);
        if (!other || other->code == SEEP_E_MEMORY || turn == TURNS)
            return other;
        seep_error_destroy(other);
    }
}

// A trace has no memory; `seep run` and `seep scan -o` have looked when there was some.
static struct seep_error *scan(struct seep_source *source, const struct seep_scan_options *options,
                               struct seep_session **ret_session) {
    (void)options;
    struct seep_session *session = NULL;
    struct seep_error *err = snapshot(source, &session);
    if (!err && source->options.trace)
        err = seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "%s: a saved trace, not a core file", source->spec),
            "name the core file, and the trace with --trace");
    bool any = false;
    for (size_t i = 0; !err && i < session->nr_profiles; i++)
        any |= session->profiles[i]->leaks.known;
    if (!err && !any)
        err = seep_shell_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                "%s: it has no leak scan, and a trace has no memory to scan",
                                                source->spec),
                              "of a process that crashed: seep scan CORE --trace", source->spec, "");
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}

const struct seep_source_ops seep_source_stream = {
    .form = "-", .takes = takes_stream, .snapshot = snapshot, .scan = scan};
const struct seep_source_ops seep_source_file = {
    .form = "FILE", .takes = takes_any, .snapshot = snapshot, .scan = scan};
