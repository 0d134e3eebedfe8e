// SPDX-License-Identifier: BSD-2-Clause
// Finds the trace of a core's process, and the process in it, see core_trace.h.
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_copy.h"
#include "session/core_trace.h"
#include "file/session_file.h"

#define HOW                                                                                                  \
    "give the trace that 'seep run' saved when the process ended, or 'seep snap' when the core was made, "   \
    "with "                                                                                                  \
    "--trace FILE"

// ---- the file ----

// *ret_name is malloc'ed; NULL: there is none of this pid, or there are several.
static struct seep_error *look_in(const char *folder, pid_t pid, char **ret_name) {
    char *pattern;
    if (asprintf(&pattern, "%sseep.*.%d.seep", folder, (int)pid) < 0)
        return seep_error_no_memory();
    glob_t found;
    int failed = glob(pattern, GLOB_NOSORT, NULL, &found);
    free(pattern);
    *ret_name = !failed && found.gl_pathc == 1 ? strdup(found.gl_pathv[0]) : NULL;
    bool lost = !failed && found.gl_pathc == 1 && !*ret_name;
    if (!failed)
        globfree(&found);
    return lost ? seep_error_no_memory() : NULL;
}

static struct seep_error *find_trace(const struct seep_core *core, const char *core_path, char **ret_name) {
    const char *slash = strrchr(core_path, '/');
    char *folder = seep_text_copy(core_path, slash ? (size_t)(slash - core_path) + 1 : 0);
    if (!folder)
        return seep_error_no_memory();
    *ret_name = NULL;
    struct seep_error *err = look_in(folder, core->pid, ret_name);
    free(folder);
    if (!err && !*ret_name)
        err = look_in("", core->pid, ret_name);
    if (!err && !*ret_name)
        err = seep_error_hint(
            seep_error_create(
                SEEP_E_NOT_FOUND,
                "%s: its process %d (%s) has no trace here, and a core alone does not say what was "
                "allocated where",
                core_path, (int)core->pid, core->name),
            HOW);
    return err;
}

// ---- the process ----

// Modules lie at places of their own in each process: one that is where it was, and the process is the same.
static bool is_of_core(const struct seep_profile *profile, const struct seep_core *core) {
    uint32_t nr_asked = 0;
    for (uint32_t i = 1; i < profile->nr_modules; i++) {
        const struct seep_module *module = &profile->modules[i];
        if (module->unloaded_ns >= 0 || module->path[0] != '/')
            continue;
        nr_asked++;
        const struct seep_core_segment *segment = seep_core_find(core, module->start_rt);
        if (!segment)
            return false;
    }
    return nr_asked > 0;
}

// The latest process of the session that is the core's; its pid may be another one in a namespace of its own.
static size_t choose(const struct seep_session *session, const struct seep_core *core) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < session->nr_profiles; i++) {
        const struct seep_profile *profile = session->profiles[i];
        bool same_pid = profile->process.pid == (uint32_t)core->pid;
        bool found_pid = found != SIZE_MAX && session->profiles[found]->process.pid == (uint32_t)core->pid;
        if (is_of_core(profile, core) && (same_pid || !found_pid))
            found = i;
    }
    return found;
}

static void keep_only(struct seep_session *session, size_t kept) {
    for (size_t i = 0; i < session->nr_profiles; i++)
        if (i != kept)
            seep_profile_destroy(session->profiles[i]);
    session->profiles[0] = session->profiles[kept];
    session->nr_profiles = 1;
}

struct seep_error *seep_core_trace_load(const struct seep_core *core, const char *core_path,
                                        const char *trace, struct seep_session **ret_session) {
    char *name = NULL;
    struct seep_session *session = NULL;
    struct seep_error *err = trace ? NULL : find_trace(core, core_path, &name);
    if (!err)
        err = seep_session_load(trace ? trace : name, &session);
    size_t place = err ? SIZE_MAX : choose(session, core);
    if (!err && place == SIZE_MAX)
        err = seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND,
                                                "%s: none of its processes is that of %s (%d, %s)",
                                                trace ? trace : name, core_path, (int)core->pid, core->name),
                              HOW);
    free(name);
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    keep_only(session, place);
    *ret_session = session;
    return NULL;
}
