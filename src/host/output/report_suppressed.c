// SPDX-License-Identifier: BSD-2-Clause
// What was suppressed and by which line, in the text report; and which lines did nothing.
#include <string.h>

#include "output/report_text.h"

// Unused lines are listed up to this many: a file that several programs share has hundreds.
#define UNUSED_SHOWN 10u

void seep_put_suppression(FILE *out, const struct seep_suppression *suppression) {
    if (suppression->line) {
        seep_put_escaped(out, suppression->file);
        fprintf(out, ":%u  ", suppression->line);
        seep_put_escaped(out, suppression->name);
    } else {
        fprintf(out, "%s  ", suppression->file);
        seep_put_escaped(out, suppression->name);
        if (suppression->reason)
            fprintf(out, " (%s)", suppression->reason);
    }
}

// Whether a suppression matched blocks of a process that was not scanned. After a scan no reachable block is
// suppressed.
static bool has_unscanned(const struct seep_session *session) {
    for (size_t i = 0; i < session->nr_profiles; i++)
        if (session->profiles[i]->suppressed && !session->profiles[i]->leaks.known)
            return true;
    return false;
}

static void put_used(FILE *out, const struct seep_session *session, const struct seep_style *style) {
    bool any = false;
    for (uint32_t i = 0; i < session->nr_suppressions; i++) {
        const struct seep_suppression *suppression = &session->suppressions[i];
        if (!suppression->blocks)
            continue;
        if (!any)
            fprintf(out, "\n%s%-17s %12s %19s%s   by\n", seep_style_bold(style), "suppressed", "blocks",
                    "bytes", seep_style_off(style));
        any = true;
        fprintf(out, "  %-15s %12s %19s   ", "", seep_format_count(suppression->blocks).text,
                seep_format_count(suppression->bytes).text);
        seep_put_suppression(out, suppression);
        fputc('\n', out);
    }
    if (!any)
        fprintf(out, "\n%ssuppressed%s  nothing\n", seep_style_bold(style), seep_style_off(style));
    else if (has_unscanned(session))
        fputs("  without a scan these figures include reachable blocks\n", out);
}

void seep_text_suppressed(FILE *out, const struct seep_session *session, const struct seep_style *style) {
    uint64_t nr_unused = 0, nr_given = 0, blocks = 0;
    for (uint32_t i = 0; i < session->nr_suppressions; i++) {
        nr_given += session->suppressions[i].line != 0;
        blocks += session->suppressions[i].blocks;
    }
    // What is built in is not told of as long as it does nothing.
    if (!nr_given && !blocks && !session->nr_suppressions_skipped)
        return;
    put_used(out, session, style);
    for (uint32_t i = 0; i < session->nr_suppressions; i++) {
        const struct seep_suppression *suppression = &session->suppressions[i];
        if (!suppression->line || suppression->blocks || nr_unused++ >= UNUSED_SHOWN)
            continue;
        fputs("  unused: ", out);
        seep_put_suppression(out, suppression);
        fputc('\n', out);
    }
    if (nr_unused > UNUSED_SHOWN)
        fprintf(out, "  unused: %s more, which --json lists\n",
                seep_format_count(nr_unused - UNUSED_SHOWN).text);
    if (session->nr_suppressions_skipped)
        fprintf(out, "  skipped: %s entr%s about other errors than leaks\n",
                seep_format_count(session->nr_suppressions_skipped).text,
                session->nr_suppressions_skipped == 1 ? "y" : "ies");
}
