// SPDX-License-Identifier: BSD-2-Clause
// See run_trace.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command/run_trace.h"
#include "command/trace_name.h"
#include "file/session_file.h"

void seep_run_trace_deinit(struct seep_run_trace *trace) {
    free(trace->name);
    trace->name = NULL;
}

static const char *pattern_of(const struct seep_run_trace *trace) {
    return trace->pattern ? trace->pattern : SEEP_TRACE_NAME_DEFAULT;
}

static struct seep_error *name_of(const struct seep_run_trace *trace, const struct seep_session *session,
                                  char **ret_name) {
    return seep_trace_name(pattern_of(trace), trace->program, session->profiles[0]->process.pid, ret_name);
}

static struct seep_error *save_first(struct seep_run_trace *trace, const struct seep_session *session) {
    char *name = NULL;
    if (trace->pattern && strcmp(trace->pattern, "-") == 0)
        return seep_session_save(session, "-");
    struct seep_error *err = name_of(trace, session, &name);
    if (!err && !trace->pattern) {
        trace->file = (struct seep_trace_file){.inode = 0};
        err = seep_session_save_over(session, name, &trace->file, &trace->name);
        free(name);
        return err;
    }
    if (!err)
        err = seep_session_save(session, name);
    if (err)
        free(name);
    else
        trace->name = name;
    return err;
}

static bool is_ours(const struct seep_run_trace *trace, const char *name) {
    struct stat there;
    return name && lstat(name, &there) == 0 && there.st_dev == trace->file.device &&
           there.st_ino == trace->file.inode;
}

// Others may write to the folder, too: what they put there in its stead is not replaced.
struct seep_error *seep_run_trace_save(struct seep_run_trace *trace, const struct seep_session *session) {
    if (trace->recording && seep_recording_has_begun(trace->recording))
        return seep_recording_save(trace->recording, session, &trace->name);
    if (trace->name && trace->pattern)
        return seep_session_save(session, trace->name);
    char *before = trace->name;
    bool ours = is_ours(trace, before);
    trace->name = NULL;
    struct seep_error *err = ours ? seep_session_save_over(session, before, &trace->file, &trace->name)
                                  : save_first(trace, session);
    if (err && ours)
        trace->name = before;
    else
        free(before);
    return err;
}

// A pipe or a device takes one trace, the final one.
static bool takes_many(const struct seep_run_trace *trace, const struct seep_session *session) {
    char *name = NULL;
    struct stat there;
    struct seep_error *err = trace->pattern ? name_of(trace, session, &name) : NULL;
    bool is_file = !err && (!name || stat(name, &there) != 0 || S_ISREG(there.st_mode));
    seep_error_destroy(err); // the final trace says it
    free(name);
    return is_file;
}

struct seep_error *seep_run_trace_keep(struct seep_run_trace *trace, const struct seep_session *session) {
    bool has_name = trace->name || session->profiles[0]->process.is_main;
    return has_name && takes_many(trace, session) ? seep_run_trace_save(trace, session) : NULL;
}

struct seep_error *seep_run_trace_snap(const struct seep_run_trace *trace, const struct seep_session *session,
                                       char **ret_name) {
    const char *pattern = strcmp(pattern_of(trace), "-") == 0 ? SEEP_TRACE_NAME_DEFAULT : pattern_of(trace);
    size_t length = strlen(pattern);
    bool ends = length > 5 && strcmp(pattern + length - 5, ".seep") == 0;
    char *longer = NULL, *name = NULL;
    if (asprintf(&longer, "%.*s.snap.seep", (int)(ends ? length - 5 : length), pattern) < 0)
        return seep_error_no_memory();
    struct seep_error *err =
        seep_trace_name(longer, trace->program, session->profiles[0]->process.pid, &name);
    free(longer);
    if (!err)
        err = seep_session_save_beside(session, name, ret_name);
    free(name);
    return err;
}
