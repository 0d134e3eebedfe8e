// SPDX-License-Identifier: BSD-2-Clause
// See gone.h.
#include <unistd.h>

#include "base/live_thread.h"
#include "process/gone.h"
#include "process/proc_fields.h"

bool seep_process_is_zombie(pid_t pid) {
    struct seep_stat stat;
    return seep_stat_read(pid, 0, &stat) && seep_stat_state(&stat) == 'Z';
}

static bool is_leaving(const struct seep_stat *stat) {
    enum { PF_EXITING = 4 }; // include/linux/sched.h
    return seep_stat_state(stat) == 'Z' || seep_stat_number(stat, SEEP_STAT_FLAGS) & PF_EXITING;
}

bool seep_process_is_ending(pid_t pid) {
    struct seep_stat stat;
    return !seep_stat_read(pid, seep_live_thread(pid), &stat) || is_leaving(&stat);
}

struct seep_error *seep_process_need_proc(void) {
    if (access("/proc/self/stat", F_OK) == 0)
        return NULL;
    return seep_error_hint(
        seep_error_create(SEEP_E_NOT_FOUND, "/proc does not show the processes of this machine"),
        "run: mount -t proc proc /proc");
}

struct seep_error *seep_process_gone(pid_t pid, const char *hint) {
    struct seep_error *error = seep_process_need_proc();
    if (error)
        return error;
    struct seep_stat stat;
    if (!seep_stat_read(pid, 0, &stat) || !is_leaving(&stat))
        return seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "no process %d", (int)pid), "%s", hint);
    return seep_error_hint(
        seep_error_create(SEEP_E_NOT_FOUND,
                          "process %d has ended, and its parent has not taken note of it yet", (int)pid),
        "its memory is gone; what 'seep run' saved of it, 'seep report FILE' shows");
}
