// SPDX-License-Identifier: BSD-2-Clause
// Scans a process that is traced by probes, see attach_scan.h.
#include "command/attach_scan.h"
#include "source/attach/profile_traced.h"
#include "scan/scan.h"

struct moment {
    struct seep_attached *attached;
    size_t index; // of the process
};

// The process stands still: what it has done is in the ring.
static struct seep_error *profile_now(void *data, struct seep_profile **ret_profile) {
    const struct moment *moment = data;
    struct seep_error *err = seep_attached_settle(moment->attached);
    return err ? err : seep_profile_from_trace(moment->attached, moment->index, ret_profile);
}

struct seep_error *seep_attach_scan(struct seep_attached *attached, bool from_start,
                                    struct seep_session *session) {
    // The program may have gone on as another one.
    struct moment moment = {attached, 0};
    while (moment.index + 1 < session->nr_profiles &&
           session->profiles[moment.index]->process.exit_kind != SEEP_EXIT_RUNNING)
        moment.index++;
    struct seep_profile **place = &session->profiles[moment.index];
    struct seep_scan_target target = {
        .pid = (pid_t)(*place)->process.pid, .image_fd = -1, .profile = profile_now, .profile_data = &moment};
    struct seep_scan_options options = {.roots = from_start ? SEEP_ROOTS_ALL : SEEP_ROOTS_HEAP};
    struct seep_scan *scan = NULL;
    struct seep_profile *profile = NULL;
    struct seep_error *err = seep_scan_look(&target, &options, &scan);
    if (!err)
        err = seep_scan_finish(scan, &profile);
    seep_scan_destroy(scan);
    if (err)
        return err;
    seep_profile_destroy(*place);
    *place = profile;
    return NULL;
}
