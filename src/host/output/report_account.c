// SPDX-License-Identifier: BSD-2-Clause
// The account of resident memory as a table: what the kernel counts, by what it is for.
#include <inttypes.h>

#include "analysis/account.h"
#include "output/format.h"
#include "output/report_text.h"
#include "view/summary.h"
#include "view/view_pins.h"

static void put_row(FILE *out, const char *words, uint64_t bytes, uint64_t all) {
    fprintf(out, "  %-36s %16s %10s %8s\n", words, seep_format_count(bytes).text,
            seep_format_bytes(bytes).text, seep_format_share(bytes, all).text);
}

static void put_account(FILE *out, const struct seep_account *account, const struct seep_style *style) {
    fprintf(out, "%s  %-36s %16s %10s %8s%s\n", seep_style_bold(style), "what it is for", "bytes", "",
            "share", seep_style_off(style));
    for (uint32_t i = 0; i < SEEP_ACCOUNT_NR; i++)
        put_row(out, seep_account_words(i), account->bytes[i], account->rss_bytes);
    fputs(seep_style_bold(style), out);
    put_row(out, "all (the kernel's Rss)", account->rss_bytes, account->rss_bytes);
    fputs(seep_style_off(style), out);
    fprintf(out, "  Its fair share of what it shares with others (Pss) is %s",
            seep_format_bytes(account->pss_bytes).text);
    if (account->swap_bytes)
        fprintf(out, "; %s more are swapped out", seep_format_bytes(account->swap_bytes).text);
    fputs(".\n", out);
    if (account->untouched_bytes)
        fprintf(out, "  Of the live blocks %s were never touched, or are swapped out: they take no memory.\n",
                seep_format_bytes(account->untouched_bytes).text);
    if (!account->by_page)
        fputs("  The kernel does not say which pages are there: rows of one area may be wrong by what was "
              "never "
              "touched.\n",
              out);
}

// Who keeps free memory of the allocator from the kernel, where that is much.
static struct seep_error *put_pins(FILE *out, struct seep_view *view, size_t process) {
    enum { LEAST_BYTES = 1 << 20, LEAST_PART = 10, LEAST_REGIONS = 8 };
    const struct seep_account *account = &seep_text_profile(view, process)->account;
    uint64_t unused = account->bytes[SEEP_ACCOUNT_FREE];
    struct seep_view_pins pins;
    const char *place;
    if (unused < LEAST_BYTES || unused < account->rss_bytes / LEAST_PART)
        return NULL;
    struct seep_error *error = seep_view_find_pins(view, view->first_process + process, &pins);
    // Regions at the ends of a heap, and that of a thread, are nearly empty in any program.
    if (error || pins.nr_nearly_empty < LEAST_REGIONS || pins.nr_nearly_empty < pins.nr_regions / 2)
        return error;
    error = seep_summary_place(view, pins.node, &place);
    if (error)
        return error;
    fprintf(out,
            "  Free memory lies between few blocks: %s of %s regions of 2 MiB are nearly empty, with %s "
            "live; blocks from ",
            seep_format_count(pins.nr_nearly_empty).text, seep_format_count(pins.nr_regions).text,
            seep_format_bytes(pins.bytes).text);
    seep_put_escaped(out, place ? place : "a stack that is not known");
    fprintf(out, " are in %s of them.\n", seep_format_count(pins.most).text);
    return NULL;
}

struct seep_error *seep_text_accounts(FILE *out, struct seep_view *view, const struct seep_style *style) {
    struct seep_error *error = NULL;
    for (size_t p = 0; !error && p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        fprintf(out, "\n%sresident memory%s", seep_style_bold(style), seep_style_off(style));
        if (view->nr_processes > 1)
            fprintf(out, " of pid %" PRIu32, profile->process.pid);
        if (profile->account.known) {
            fputc('\n', out);
            put_account(out, &profile->account, style);
            error = put_pins(out, view, p);
        } else {
            fputs(": not known, because it was not looked at while the process ran;\n"
                  "  'seep snap PID' and 'seep report --rss PID' do\n",
                  out);
        }
    }
    return error;
}
