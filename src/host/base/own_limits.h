// SPDX-License-Identifier: BSD-2-Clause
//
// Soft limits of this process, which its parent may have set for another program.
#ifndef SEEP_BASE_OWN_LIMITS_H
#define SEEP_BASE_OWN_LIMITS_H

#include <signal.h>
#include <sys/resource.h>

#include "core/attr.h"

// For a process that keeps a descriptor for each traced process, or writes traces or memory files.
// RLIMIT_FSIZE holds for memory files, too. After the call, a file beyond the hard limit is an error and does
// not end the process.
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
