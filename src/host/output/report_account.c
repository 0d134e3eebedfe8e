// SPDX-License-Identifier: BSD-2-Clause
// The account of resident memory as a table: what the kernel counts, by what it is for.
#include <inttypes.h>

#include "analysis/account.h"
#include "output/format.h"
#include "output/report_text.h"

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

void seep_text_accounts(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        fprintf(out, "\n%sresident memory%s", seep_style_bold(style), seep_style_off(style));
        if (view->nr_processes > 1)
            fprintf(out, " of pid %" PRIu32, profile->process.pid);
        if (profile->account.known) {
            fputc('\n', out);
            put_account(out, &profile->account, style);
        } else {
            fputs(": not known, because it was not looked at while the process ran;\n"
                  "  'seep snap PID' and 'seep report --rss PID' do\n",
                  out);
        }
    }
}
