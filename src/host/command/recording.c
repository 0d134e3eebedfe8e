// SPDX-License-Identifier: BSD-2-Clause
// The trace of a recording, see recording.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_copy.h"
#include "command/recording.h"
#include "command/trace_name.h"
#include "file/session_file.h"
#include "source/run/run.h"

static struct seep_error *open_trace(void *data, pid_t pid, struct seep_trace_writer **ret_writer) {
    struct seep_recording *recording = data;
    struct seep_trace_writer *writer = NULL;
    recording->has_begun = true;
    struct seep_error *err =
        seep_trace_name(recording->pattern, recording->program, (uint32_t)pid, &recording->name);
    if (!err)
        err = recording->keeps_others ? seep_trace_writer_create_entry(recording->name, NULL, &writer)
                                      : seep_trace_writer_create(recording->name, &writer);
    if (!err && recording->keep_bytes && !seep_trace_writer_path(writer))
        err = seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                "--keep-last needs a file of its own, and %s is none",
                                                recording->name),
                              "name one with -o");
    if (err) {
        seep_trace_writer_destroy(writer);
        return err;
    }
    *ret_writer = writer;
    return NULL;
}

static struct seep_error *show_trace(void *data, struct seep_trace_writer *writer) {
    struct seep_recording *recording = data;
    struct seep_error *err = seep_trace_writer_show(writer);
    const char *taken = err ? NULL : seep_trace_writer_path(writer);
    if (taken && recording->keeps_others) {
        free(recording->name);
        recording->name = strdup(taken);
        err = recording->name ? NULL : seep_error_no_memory();
    }
    return err;
}

struct seep_error *seep_recording_begin(struct seep_recording *recording) {
    struct seep_recorder_options options = {.open = open_trace,
                                            .show = show_trace,
                                            .data = recording,
                                            .keep_bytes = recording->keep_bytes,
                                            .rest = recording->rest};
    return seep_recorder_create(&options, &recording->recorder);
}

char *seep_recording_rest(const char *pattern) {
    if (strcmp(pattern, "-") == 0)
        pattern = SEEP_TRACE_NAME_DEFAULT;
    const char *slash = strrchr(pattern, '/');
    char *folder = slash ? seep_text_copy(pattern, (size_t)(slash - pattern) + 1) : strdup(".");
    char *whole = folder ? realpath(folder, NULL) : NULL;
    struct stat about;
    char *rest = NULL;
    // As the library asks for it.
    bool safe = whole && stat(whole, &about) == 0 &&
                (about.st_uid == 0 || about.st_uid == geteuid() || about.st_mode & S_ISVTX);
    if (safe && asprintf(&rest, "%s/%s.%%p", whole, slash ? slash + 1 : pattern) < 0)
        rest = NULL;
    if (rest && strlen(rest) >= SEEP_OUT_BYTES_MAX) {
        free(rest);
        rest = NULL;
    }
    free(folder);
    free(whole);
    return rest;
}

void seep_recording_deinit(struct seep_recording *recording) {
    seep_recorder_destroy(recording->recorder);
    free(recording->name);
    *recording = (struct seep_recording){NULL};
}

bool seep_recording_has_begun(const struct seep_recording *recording) {
    return recording->has_begun;
}

struct seep_error *seep_recording_save(struct seep_recording *recording, const struct seep_session *session,
                                       char **ret_name) {
    struct seep_trace_writer *writer = NULL;
    struct seep_error *err = seep_recorder_finish(recording->recorder, &writer);
    for (size_t i = 0; i < session->nr_profiles; i++) { // what is missing because of an error, too
        struct seep_error *told = seep_recorder_tell(recording->recorder, session->profiles[i]);
        if (err)
            seep_error_destroy(told);
        else
            err = told;
    }
    if (!err)
        err = seep_session_save_behind(session, recording->name, writer);
    seep_trace_writer_destroy(writer);
    if (err)
        return err;
    if (strcmp(recording->name, "-") != 0) {
        *ret_name = recording->name;
        recording->name = NULL;
    }
    return NULL;
}
