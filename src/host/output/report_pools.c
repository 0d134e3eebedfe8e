// SPDX-License-Identifier: BSD-2-Clause
// The parts of the text report that the program told of through seep.h: its pools, and marks.
#include <inttypes.h>
#include <string.h>

#include "base/words.h"
#include "output/format.h"
#include "output/report_text.h"

static void put_who(FILE *out, const struct seep_view *view, uint32_t process) {
    if (view->nr_processes > 1)
        fprintf(out, " in pid %" PRIu32, view->session->profiles[process]->process.pid);
}

// ---- pools ----

static void put_pools(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    int widths[3] = {5, 6, 5};
    for (size_t i = 0; i < view->nr_pools; i++) {
        const struct seep_view_pool *pool = &view->pools[i];
        widths[0] = SEEP_MAX(widths[0], (int)strlen(seep_format_count(pool->nr_pools).text));
        widths[1] = SEEP_MAX(widths[1], (int)strlen(seep_format_count(pool->nr_pieces).text));
        widths[2] = SEEP_MAX(widths[2], (int)strlen(seep_format_count(pool->bytes).text));
    }
    if (view->nr_pools)
        fprintf(out, "\n%s  %*s  %*s  %*s  name%s\n", seep_style_dim(style), widths[0], "pools", widths[1],
                "pieces", widths[2], "bytes", seep_style_off(style));
    for (size_t i = 0; i < view->nr_pools; i++) {
        const struct seep_view_pool *pool = &view->pools[i];
        fprintf(out, "  %*s  %*s  %*s  ", widths[0], seep_format_count(pool->nr_pools).text, widths[1],
                seep_format_count(pool->nr_pieces).text, widths[2], seep_format_count(pool->bytes).text);
        seep_put_escaped(out, pool->name ? pool->name : pool->nr_pools ? "(no name)" : "(pieces of no pool)");
        put_who(out, view, pool->process);
        fputc('\n', out);
    }
}

static void put_sizes(FILE *out, const struct seep_counters *c) {
    if (!c->allocations || c->size_min > c->size_max)
        return;
    if (c->size_min == c->size_max)
        fprintf(out, "; each %s byte%s", seep_format_count(c->size_min).text, seep_plural(c->size_min));
    else
        fprintf(out, "; sizes %s min, %s max", seep_format_count(c->size_min).text,
                seep_format_count(c->size_max).text);
}

static struct seep_error *put_site(FILE *out, struct seep_view *view, const struct seep_view_pool_site *site,
                                   const struct seep_style *style) {
    const struct seep_counters *c = &site->counters;
    fprintf(out, "\n  %s in %s piece%s", seep_format_bytes(site->live_bytes).text,
            seep_format_count(site->live_blocks).text, seep_plural(site->live_blocks));
    if (site->name) {
        fputs(" of pools named ", out);
        seep_put_escaped(out, site->name);
    } else if (site->several) {
        fputs(" of pools of several names", out);
    }
    put_who(out, view, site->process);
    fprintf(out, "\n    %s: %s taken, %s byte%s", seep_via_name(site->stack.via),
            seep_format_count(c->allocations).text, seep_format_count(c->allocated_bytes).text,
            seep_plural(c->allocated_bytes));
    put_sizes(out, c);
    fprintf(out, "; %s freed\n", c->frees ? seep_format_count(c->frees).text : "none");
    return seep_text_stack(out, view, &site->stack, style);
}

struct seep_error *seep_text_pools(FILE *out, struct seep_view *view, const struct seep_style *style) {
    const struct seep_pool_totals *t = &view->pool_totals;
    if (!t->allocations && !t->pools_created && !t->unknown_frees)
        return NULL;
    fprintf(out, "\n%spools of the program%s: %s live in %s piece%s, of %s taken", seep_style_bold(style),
            seep_style_off(style), seep_format_bytes(t->live_bytes).text,
            seep_format_count(t->live_blocks).text, seep_plural(t->live_blocks),
            seep_format_count(t->allocations).text);
    uint64_t there = t->pools_created > t->pools_destroyed ? t->pools_created - t->pools_destroyed : 0;
    fprintf(out, "; %s pool%s, of %s created\n", seep_format_count(there).text, seep_plural(there),
            seep_format_count(t->pools_created).text);
    fputs("  Pieces lie inside blocks and mappings: they are not part of the figures above.\n", out);
    if (t->unknown_frees)
        fprintf(out, "  %s piece%s freed that were never announced\n",
                seep_format_count(t->unknown_frees).text, seep_plural(t->unknown_frees));
    put_pools(out, view, style);
    size_t nr_idle = 0;
    for (size_t i = 0; i < view->nr_pool_sites; i++) {
        if (!view->pool_sites[i].live_blocks) {
            nr_idle++;
            continue;
        }
        struct seep_error *error = put_site(out, view, &view->pool_sites[i], style);
        if (error)
            return error;
    }
    size_t nr_more = view->nr_pool_sites_all - view->nr_pool_sites;
    if (nr_idle)
        fprintf(out, "\n  %s place%s whose pieces were all freed\n", seep_format_count(nr_idle).text,
                seep_plural(nr_idle));
    if (nr_more)
        fprintf(out, "\n  %s more place%s: --top 0 shows all\n", seep_format_count(nr_more).text,
                seep_plural(nr_more));
    return NULL;
}

// ---- marks ----

enum { MARKS_SHOWN = 8 };

void seep_text_marks(FILE *out, const struct seep_view *view) {
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        uint32_t nr = profile->nr_marks;
        if (!nr)
            continue;
        fputs("marks:   ", out);
        uint32_t first = nr > MARKS_SHOWN ? nr - MARKS_SHOWN : 0;
        if (first)
            fprintf(out, "%s earlier, ", seep_format_count(first).text);
        for (uint32_t i = first; i < nr; i++) {
            fputs(i > first ? ", " : "", out);
            seep_put_escaped(out, *profile->marks[i].name ? profile->marks[i].name : "(unnamed)");
            fprintf(out, " at %s", seep_format_duration(profile->marks[i].at_ns).text);
        }
        put_who(out, view, (uint32_t)(view->first_process + p));
        fputc('\n', out);
    }
}
