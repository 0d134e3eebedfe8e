// SPDX-License-Identifier: BSD-2-Clause
// A process that is traced, by its PID: its live image. See source.h.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/words.h"
#include "process/process_group.h"
#include "profile/verdict.h"
#include "scan/scan.h"
#include "session/session_open.h"
#include "session/source.h"
#include "source/image/image_copy.h"
#include "source/image/profile_image.h"
#include "source/image/unseen_allocators.h"

struct seep_error *seep_parse_pid(const char *text, bool *ret_is_pid, pid_t *ret_pid) {
    *ret_is_pid = *text && text[strspn(text, "0123456789")] == 0;
    if (!*ret_is_pid)
        return NULL;
    unsigned long pid = strlen(text) <= 10 ? strtoul(text, NULL, 10) : ULONG_MAX;
    if (pid == 0 || pid > INT_MAX)
        return seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "no process %s", text),
                               "for a file of that name say ./%s", text);
    *ret_pid = (pid_t)pid;
    return NULL;
}

struct seep_error *seep_session_from_pid(pid_t pid, struct seep_session **ret_session) {
    struct seep_session *session = NULL;
    struct seep_error *err = seep_session_from_image_pid(pid, &session);
    if (!err)
        err = seep_profile_note_allocators(session->profiles[0], pid);
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}

static bool takes(const char *spec) {
    return *spec && spec[strspn(spec, "0123456789")] == 0;
}

static struct seep_error *open_pid(struct seep_source *source) {
    bool is_pid;
    return seep_parse_pid(source->spec, &is_pid, &source->pid);
}

// A report is of one process, where seep top shows it with its descendants.
static struct seep_error *note_descendants(struct seep_profile *profile, pid_t pid) {
    struct seep_pids family = {NULL};
    struct seep_error *err = seep_pids_add_family(&family, pid);
    size_t nr = 0;
    for (size_t i = 0; !err && i < family.nr_items; i++) {
        int fd = family.items[i] == pid ? -1 : seep_image_open_pid(family.items[i]);
        nr += fd >= 0;
        if (fd >= 0)
            close(fd);
    }
    seep_pids_deinit(&family);
    if (!err && nr)
        err = seep_profile_note(profile, SEEP_NOTE_DESCENDANTS,
                                "this is pid %d alone, without %zu traced descendant%s: 'seep top %d' shows "
                                "them together",
                                (int)pid, nr, seep_plural(nr), (int)pid);
    return err;
}

static struct seep_error *told(struct seep_error *err, struct seep_source *source,
                               struct seep_session *session, struct seep_session **ret_session) {
    if (err)
        return err;
    err = note_descendants(session->profiles[0], source->pid);
    if (err)
        seep_session_destroy(session);
    else
        *ret_session = session;
    return err;
}

static struct seep_error *snapshot(struct seep_source *source, struct seep_session **ret_session) {
    struct seep_session *session = NULL;
    struct seep_error *err = seep_session_from_pid(source->pid, &session);
    return told(err, source, session, ret_session);
}

static struct seep_error *scan(struct seep_source *source, const struct seep_scan_options *options,
                               struct seep_session **ret_session) {
    struct seep_session *session = NULL;
    struct seep_error *err = seep_scan_process(source->pid, options, &session);
    return told(err, source, session, ret_session);
}

const struct seep_source_ops seep_source_pid = {
    .form = "PID", .is_live = true, .takes = takes, .open = open_pid, .snapshot = snapshot, .scan = scan};
