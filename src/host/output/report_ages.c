// SPDX-License-Identifier: BSD-2-Clause
// When the live blocks were born: a row for each span of ages, where ages are kept.
#include "base/words.h"
#include "base/sum.h"
#include "analysis/ages.h"
#include "output/format.h"
#include "output/report_text.h"

static void put_exit(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    const struct seep_view_exit *all = &view->at_exit;
    if (!all->known)
        return;
    fprintf(out, "\n%s%-17s %12s %19s%s   no leaks, but held until the program was leaving\n",
            seep_style_bold(style), "freed only at exit", seep_format_count(all->blocks).text,
            seep_format_count(all->bytes).text, seep_style_off(style));
    if (all->nr_sites && view->options.sort != SEEP_SORT_EXIT)
        fprintf(out, "  from %s site%s: --sort exit shows %s\n", seep_format_count(all->nr_sites).text,
                seep_plural(all->nr_sites), all->nr_sites == 1 ? "it" : "them");
}

void seep_text_ages(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    struct seep_ages ages = {0};
    uint64_t all = 0;
    for (size_t p = 0; p < view->nr_processes; p++)
        seep_ages_add(&ages, seep_text_profile(view, p));
    put_exit(out, view, style);
    if (!ages.known)
        return;
    for (size_t i = 0; i < SEEP_AGE_SPANS; i++)
        seep_add_up(&all, ages.spans[i].bytes);
    fprintf(out, "\n%s%-17s %12s %19s%s   all live blocks, the youngest first\n", seep_style_bold(style),
            "ages", "blocks", "bytes", seep_style_off(style));
    for (size_t i = 0; i < SEEP_AGE_SPANS; i++)
        if (ages.spans[i].blocks)
            fprintf(out, "  %-15s %12s %19s   %s\n", seep_age_words(i),
                    seep_format_count(ages.spans[i].blocks).text, seep_format_count(ages.spans[i].bytes).text,
                    seep_format_share(ages.spans[i].bytes, all).text);
}
