// SPDX-License-Identifier: BSD-2-Clause
// scan/process_copy.h for the agent, which makes no copies: it scans stopped processes.
#include "scan/process_copy.h"

struct seep_error *seep_process_copy_prepare(pid_t pid, struct seep_process_copy *ret_copy) {
    (void)pid, (void)ret_copy;
    return seep_error_create(SEEP_E_UNSUPPORTED, "the agent makes no copies of processes");
}

struct seep_error *seep_process_copy_stop(struct seep_process_copy *copied,
                                          struct seep_stopped **ret_stopped) {
    (void)ret_stopped;
    return seep_process_copy_prepare(copied->of, copied);
}

struct seep_error *seep_process_copy_take(struct seep_process_copy *copied, int64_t *ret_pause_ns) {
    *ret_pause_ns = 0;
    return seep_process_copy_prepare(copied->of, copied);
}

void seep_process_copy_drop(struct seep_process_copy *copied, int64_t *ret_pause_ns) {
    (void)copied;
    *ret_pause_ns = 0;
}
