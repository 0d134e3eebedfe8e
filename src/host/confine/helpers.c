// SPDX-License-Identifier: BSD-2-Clause
// The tool's own processes, see helpers.h.
#include <stdatomic.h>

#include "confine/helpers.h"
#include "core/attr.h"

// The opener, a worker for each kind of question, and helpers that wait in the kernel for a file system.
static _Atomic pid_t helpers[32];

static bool exchange(pid_t from, pid_t to) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(helpers); i++) {
        pid_t expected = from;
        if (atomic_compare_exchange_strong(&helpers[i], &expected, to))
            return true;
    }
    return false;
}

void seep_helper_add(pid_t pid) {
    (void)exchange(0, pid);
}

void seep_helper_remove(pid_t pid) {
    (void)exchange(pid, 0);
}

bool seep_is_helper(pid_t pid) {
    return pid > 0 && exchange(pid, pid);
}
