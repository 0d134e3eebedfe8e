// SPDX-License-Identifier: BSD-2-Clause
// Calls that were counted and nothing else, as three tables: by function, by size, by thread.
#include <inttypes.h>
#include <stdlib.h>

#include "base/sum.h"
#include "output/format.h"
#include "output/report_text.h"

bool seep_text_only_calls(const struct seep_view *view) {
    size_t nr = 0;
    for (size_t p = 0; p < view->nr_processes; p++)
        nr += (seep_text_profile(view, p)->health.flags & SEEP_FLAG_CALLS) != 0;
    return nr && nr == view->nr_processes;
}

// What came through one function, over all processes.
static struct seep_counters sum_of_via(const struct seep_view *view, uint32_t via) {
    struct seep_counters sum = {.size_min = UINT64_MAX};
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        for (uint32_t i = 1; i < profile->nr_sites; i++) {
            const struct seep_counters *counters = &profile->sites[i].counters;
            if (profile->sites[i].via != via || !counters->allocations)
                continue;
            seep_add_up(&sum.allocations, counters->allocations);
            seep_add_up(&sum.allocated_bytes, counters->allocated_bytes);
            sum.size_min = SEEP_MIN(sum.size_min, counters->size_min);
            sum.size_max = SEEP_MAX(sum.size_max, counters->size_max);
        }
    }
    return sum;
}

static void put_functions(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    fprintf(out, "\n%s%-20s %15s %19s %9s %9s %13s%s\n", seep_style_bold(style), "function", "calls", "bytes",
            "least", "mean", "most", seep_style_off(style));
    for (uint32_t via = 0; via < SEEP_VIA_HEAP_NR; via++) {
        struct seep_counters sum = sum_of_via(view, via);
        if (!sum.allocations)
            continue;
        fprintf(out, "  %-18s %15s %19s %9s %9s %13s\n", seep_via_name(via),
                seep_format_count(sum.allocations).text, seep_format_count(sum.allocated_bytes).text,
                seep_format_count(sum.size_min).text,
                seep_format_count(sum.allocated_bytes / sum.allocations).text,
                seep_format_count(sum.size_max).text);
    }
    for (uint32_t i = 0; i < SEEP_RELEASE_NR; i++)
        if (view->totals.releases[i] && i != SEEP_RELEASE_REALLOC)
            fprintf(out, "  %-18s %15s\n", seep_release_name(i),
                    seep_format_count(view->totals.releases[i]).text);
}

static void put_sizes(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    const struct seep_totals *t = &view->totals;
    fprintf(out, "\n%s%-20s %15s %8s%s\n", seep_style_bold(style), "size", "allocations", "share",
            seep_style_off(style));
    for (unsigned i = 0; i < SEEP_IMAGE_SIZE_CLASSES; i++) {
        if (!t->size_class[i])
            continue;
        char range[96];
        if (i < 2)
            snprintf(range, sizeof(range), "%u", i);
        else
            snprintf(range, sizeof(range), "%s to %s", seep_format_count(UINT64_C(1) << (i - 1)).text,
                     seep_format_count((UINT64_C(1) << i) - 1).text);
        fprintf(out, "  %-24s %9s %8s\n", range, seep_format_count(t->size_class[i]).text,
                seep_format_share(t->size_class[i], t->allocations).text);
    }
}

static int compare_threads(const void *left, const void *right) {
    const struct seep_thread *a = *(const struct seep_thread *const *)left;
    const struct seep_thread *b = *(const struct seep_thread *const *)right;
    if (a->allocations != b->allocations)
        return a->allocations < b->allocations ? 1 : -1;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

static struct seep_error *put_threads(FILE *out, const struct seep_view *view,
                                      const struct seep_style *style) {
    size_t nr = 0;
    for (size_t p = 0; p < view->nr_processes; p++)
        nr += seep_text_profile(view, p)->nr_threads;
    const struct seep_thread **threads = calloc(SEEP_MAX(nr, (size_t)1), sizeof(const struct seep_thread *));
    if (!threads)
        return seep_error_no_memory();
    nr = 0;
    for (size_t p = 0; p < view->nr_processes; p++)
        for (uint32_t i = 0; i < seep_text_profile(view, p)->nr_threads; i++)
            threads[nr++] = &seep_text_profile(view, p)->threads[i];
    qsort(threads, nr, sizeof(*threads), compare_threads);
    fprintf(out, "\n%s%-20s %15s %19s %15s%s\n", seep_style_bold(style), "thread", "allocations", "bytes",
            "frees", seep_style_off(style));
    size_t shown = view->options.top ? SEEP_MIN(nr, (size_t)view->options.top) : nr;
    for (size_t i = 0; i < shown; i++) {
        char tid[16];
        snprintf(tid, sizeof(tid), "%" PRIu32, threads[i]->tid);
        fprintf(out, "  %-8s", tid);
        int left = 10;
        for (const char *at = threads[i]->name; *at && left > 0; at++, left--)
            fputc((unsigned char)*at >= ' ' && (unsigned char)*at < 127 ? *at : '?', out);
        fprintf(out, "%*s %15s %19s %15s\n", left, "", seep_format_count(threads[i]->allocations).text,
                seep_format_count(threads[i]->allocated_bytes).text,
                seep_format_count(threads[i]->frees).text);
    }
    if (shown < nr)
        fprintf(out, "  %s more: --top 0 shows them\n", seep_format_count(nr - shown).text);
    free(threads);
    return NULL;
}

struct seep_error *seep_text_calls(FILE *out, const struct seep_view *view, const struct seep_style *style) {
    put_functions(out, view, style);
    put_sizes(out, view, style);
    struct seep_error *error = put_threads(out, view, style);
    fputs("\nnext: seep run PROG   (with stacks and live blocks: who allocated, and what is not freed)\n",
          out);
    return error;
}
