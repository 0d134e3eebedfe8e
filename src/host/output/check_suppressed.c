// SPDX-License-Identifier: BSD-2-Clause
// What a check says of suppressions: those that did nothing, and what was not read. See check_report.h.
#include <string.h>

#include "output/check_report.h"
#include "output/format.h"
#include "output/report_text.h"

#define UNUSED_SHOWN 3u // on one line; the report has more

static bool is_unused(const struct seep_suppression *suppression) {
    return suppression->given && !suppression->blocks;
}

// A session's figures are those of all its processes: what is unused here is so in each.
static void put_unused(FILE *out, const struct seep_session *session) {
    uint64_t nr = 0;
    for (uint32_t i = 0; i < session->nr_suppressions; i++) {
        if (!is_unused(&session->suppressions[i]) || nr++ >= UNUSED_SHOWN)
            continue;
        fputs(nr == 1 ? "seep: check: unused: " : "; ", out);
        seep_put_suppression(out, &session->suppressions[i]);
    }
    if (nr > UNUSED_SHOWN)
        fprintf(out, "; %s more, which --report FILE --json lists",
                seep_format_count(nr - UNUSED_SHOWN).text);
    fputs(nr ? "\n" : "", out);
}

// The first process of each program has it.
static void put_unread(FILE *out, const struct seep_session *session) {
    for (size_t i = 0; i < session->nr_profiles; i++) {
        const struct seep_profile *profile = session->profiles[i];
        for (size_t n = 0; n < profile->health.nr_notes; n++) {
            const struct seep_note *note = &profile->health.notes[n];
            if (note->code != SEEP_NOTE_SUPPRESSIONS_UNREAD)
                continue;
            fputs("seep: check: note: ", out);
            seep_put_escaped(out, profile->process.name);
            fputs(": ", out);
            seep_put_escaped(out, note->text);
            fputc('\n', out);
        }
    }
}

void seep_check_put_suppressions(FILE *out, const struct seep_check *check) {
    put_unread(out, check->session);
    put_unused(out, check->session);
}
