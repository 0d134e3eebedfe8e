// SPDX-License-Identifier: BSD-2-Clause
// Warnings beside outputs without a health line, see warn.h.
#include <stdio.h>

#include "base/sum.h"
#include "command/warn.h"
#include "output/format.h"

#define WARNED_MAX 3u

static void put_reason(const struct seep_profile *profile, const struct seep_note *reason) {
    const struct seep_health *health = &profile->health;
    if (reason) {
        fputs(": ", stderr);
        seep_put_escaped(stderr, reason->text);
        return;
    }
    uint64_t lost = 0;
    for (size_t i = 0; i < SEEP_LOST_NR; i++)
        seep_add_up(&lost, health->lost[i]);
    if (lost)
        fprintf(stderr, ": %s lost", seep_format_count(lost).text);
}

void seep_warn_incomplete(const struct seep_session *session) {
    size_t nr = 0;
    for (size_t p = 0; p < session->nr_profiles; p++) {
        const struct seep_profile *profile = session->profiles[p];
        const struct seep_note *reason;
        enum seep_verdict verdict = seep_profile_verdict(profile, &reason);
        if (verdict == SEEP_VERDICT_COMPLETE || ++nr > WARNED_MAX)
            continue;
        fputs("seep: process ", stderr);
        seep_put_escaped(stderr, profile->process.name);
        fprintf(stderr, " (%d) is %s", (int)profile->process.pid,
                verdict == SEEP_VERDICT_NOT_TRACED ? "not traced" : "incomplete");
        put_reason(profile, reason);
        fputc('\n', stderr);
    }
    if (nr > WARNED_MAX)
        fprintf(stderr, "seep: %zu more incomplete or not traced (seep report tells of all)\n",
                nr - WARNED_MAX);
}
