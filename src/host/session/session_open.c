// SPDX-License-Identifier: BSD-2-Clause
// FILE|PID as a session, see session_open.h.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "source/image/image_copy.h"
#include "source/image/profile_image.h"
#include "file/session_file.h"
#include "session/past.h"
#include "session/session_open.h"
#include "source/image/unseen.h"

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
    struct seep_image_copy *copy = NULL;
    struct seep_profile *profile = NULL;
    struct seep_session *session = NULL;
    struct seep_error *err = seep_image_copy_from_pid(pid, 0, &copy);
    if (!err)
        err = seep_profile_from_image(copy, &profile);
    seep_image_copy_destroy(copy);
    if (!err)
        err = seep_profile_note_allocators(profile, pid);
    if (!err)
        err = seep_session_create(&session);
    if (err) {
        seep_profile_destroy(profile);
        return err;
    }
    profile->process.pid = (uint32_t)pid;
    profile->process.is_main = true;
    err = seep_session_add(session, profile);
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}

struct seep_error *seep_session_open_some(const char *file_or_pid, uint64_t only_pid, const regex_t *program,
                                          struct seep_session **ret_session) {
    bool is_pid;
    pid_t pid;
    struct seep_error *err = seep_parse_pid(file_or_pid, &is_pid, &pid);
    if (err)
        return err;
    if (is_pid)
        return seep_session_from_pid(pid, ret_session);
    err = only_pid || program ? seep_session_load_some(file_or_pid, only_pid, program, ret_session)
                              : seep_session_load(file_or_pid, ret_session);
    if (!err || err->code != SEEP_E_FORMAT || !seep_past_is_recording(file_or_pid))
        return err;
    struct seep_error *other = seep_past_recover(file_or_pid, ret_session);
    seep_error_destroy(other ? other : err);
    return other ? err : NULL;
}

struct seep_error *seep_session_open(const char *file_or_pid, struct seep_session **ret_session) {
    return seep_session_open_some(file_or_pid, 0, NULL, ret_session);
}
