// SPDX-License-Identifier: BSD-2-Clause
//
// Limits that the one who started us has set for something else.
#ifndef SEEP_BASE_OWN_LIMITS_H
#define SEEP_BASE_OWN_LIMITS_H

#include <signal.h>
#include <sys/resource.h>

#include "core/attr.h"

// Of who keeps a descriptor for each process, and writes traces or memory files, which the kernel holds to
// RLIMIT_FSIZE as it does others. A file beyond the hard limit is an error, not the end of the process.
static inline void seep_raise_own_limits(void) {
    static const int limits[] = {RLIMIT_NOFILE, RLIMIT_FSIZE};
    struct rlimit limit;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(limits); i++)
        if (getrlimit(limits[i], &limit) == 0) {
            limit.rlim_cur = limit.rlim_max;
            setrlimit(limits[i], &limit);
        }
    signal(SIGXFSZ, SIG_IGN);
}

#endif
