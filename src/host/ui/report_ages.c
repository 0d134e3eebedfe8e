// SPDX-License-Identifier: BSD-2-Clause
// When the live blocks were born: a row for each span of ages, where ages are kept.
#include <inttypes.h>

#include "ui/format.h"
#include "ui/report_text.h"

#define MS     INT64_C(1000000)
#define SECOND (1000 * MS)

static const struct span {
    int64_t below_ns;
    const char *name;
} spans[] = {
    {10 * MS, "below 10 ms"},         {100 * MS, "10 to 100 ms"},        {SECOND, "100 ms to 1 s"},
    {10 * SECOND, "1 to 10 s"},       {60 * SECOND, "10 s to 1 min"},    {600 * SECOND, "1 to 10 min"},
    {3600 * SECOND, "10 min to 1 h"}, {24 * 3600 * SECOND, "1 to 24 h"}, {INT64_MAX, "above 24 h"},
};
#define NR_SPANS (sizeof(spans) / sizeof(spans[0]))

static size_t span_of(int64_t age_ns) {
    size_t i = 0;
    while (i + 1 < NR_SPANS && age_ns >= spans[i].below_ns)
        i++;
    return i;
}

void seep_text_ages(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    uint64_t blocks[NR_SPANS] = {0}, bytes[NR_SPANS] = {0}, all = 0;
    bool any = false;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        for (size_t i = 0; i < profile->nr_blocks; i++) {
            const struct seep_block *block = &profile->blocks[i];
            if (block->age_ns < 0)
                continue;
            any = true;
            blocks[span_of(block->age_ns)]++;
            bytes[span_of(block->age_ns)] += block->size;
            all += block->size;
        }
    }
    if (!any)
        return;
    fprintf(out, "\n%s%-17s %12s %19s%s   all live blocks, the youngest first\n", seep_style_bold(style),
            "ages", "blocks", "bytes", seep_style_off(style));
    for (size_t i = 0; i < NR_SPANS; i++)
        if (blocks[i])
            fprintf(out, "  %-15s %12s %19s   %s\n", spans[i].name, seep_format_count(blocks[i]).text,
                    seep_format_count(bytes[i]).text, seep_format_share(bytes[i], all).text);
}
