// SPDX-License-Identifier: BSD-2-Clause
// Warnings beside outputs without a health line, see warn.h.
#include <stdio.h>

#include "command/warn.h"
#include "output/format.h"
#include "profile/health.h"

#define WARNED_MAX 3u

void seep_warn_incomplete(const struct seep_session *session) {
    struct seep_arena arena = SEEP_ARENA_INIT;
    size_t nr = 0;
    for (size_t p = 0; p < session->nr_profiles; p++) {
        const struct seep_profile *profile = session->profiles[p];
        enum seep_verdict verdict = seep_profile_verdict(profile);
        if (verdict == SEEP_VERDICT_COMPLETE || ++nr > WARNED_MAX)
            continue;
        fputs("seep: process ", stderr);
        seep_put_escaped(stderr, profile->process.name);
        const char *why = seep_profile_why_incomplete(profile, &arena);
        fprintf(stderr, " (%d) is %s: ", (int)profile->process.pid, seep_verdict_name(verdict));
        seep_put_escaped(stderr, why ? why : "out of memory");
        fputc('\n', stderr);
    }
    seep_arena_deinit(&arena);
    if (nr > WARNED_MAX)
        fprintf(stderr, "seep: %zu more incomplete or not traced; 'seep report' lists all\n",
                nr - WARNED_MAX);
}
