// SPDX-License-Identifier: BSD-2-Clause
//
// What a view shows beside the heap: where memory was mapped, and where blocks were freed in a
// wrong way. Rows of several processes stay apart. Only the filters on frames apply.
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "profile/verdict.h"
#include "view/own_operators.h"
#include "view/view_build.h"

uint64_t seep_view_runtime_bytes(const struct seep_view *view, enum seep_runtime runtime) {
    enum { LEAST_MAPPED = 4 << 20 }; // Python has half of that in a program of one line
    uint64_t bytes = 0, heap = 0;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = view->session->profiles[view->first_process + p];
        seep_add_up(&heap, profile->totals.peak_bytes);
        seep_add_up(&bytes, seep_runtime_bytes(profile, runtime));
    }
    bool are_most = bytes > heap && bytes >= LEAST_MAPPED;
    return !view->filtered && (are_most || !seep_runtime_memory[runtime].is_mapped) ? bytes : 0;
}

static void add_counts(struct seep_mapping_counts *into, const struct seep_mapping_counts *from) {
    seep_add_up(&into->maps, from->maps);
    seep_add_up(&into->mapped_bytes, from->mapped_bytes);
    seep_add_up(&into->unmaps, from->unmaps);
    seep_add_up(&into->unmapped_bytes, from->unmapped_bytes);
    seep_add_up(&into->peak_bytes, from->peak_bytes);
}

static struct seep_view_row stack_of(const struct seep_view_build *build, const struct seep_view_part *part,
                                     uint32_t site) {
    const struct seep_site *from = &part->profile->sites[site];
    uint32_t node = part->nodes[from->node];
    return (struct seep_view_row){.node = node, .via = from->via, .cut = build->stacks->nodes[node].cut};
}

static int compare_mappings(const void *left, const void *right) {
    const struct seep_view_mapping *a = left, *b = right;
    if (a->live_bytes != b->live_bytes)
        return a->live_bytes > b->live_bytes ? -1 : 1;
    if (a->counts.mapped_bytes != b->counts.mapped_bytes)
        return a->counts.mapped_bytes > b->counts.mapped_bytes ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->site > b->site) - (a->site < b->site);
}

static void keep_top(const struct seep_view *view, struct seep_view_mapping *all, size_t *nr,
                     size_t *nr_all) {
    if (*nr)
        qsort(all, *nr, sizeof(*all), compare_mappings);
    *nr_all = *nr;
    if (view->options.top && view->options.top < *nr)
        *nr = (size_t)view->options.top;
}

static struct seep_error *collect_mappings(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    size_t nr = 0;
    for (size_t p = 0; p < build->nr_parts; p++)
        nr += build->parts[p].profile->nr_mapping_sites;
    view->mappings = seep_arena_alloc(&view->arena, SEEP_MAX(nr, (size_t)1), sizeof(*view->mappings));
    view->faults = seep_arena_alloc(&view->arena, SEEP_MAX(nr, (size_t)1), sizeof(*view->faults));
    if (!view->mappings || !view->faults)
        return seep_error_no_memory();
    for (size_t p = 0; p < build->nr_parts; p++) {
        const struct seep_view_part *part = &build->parts[p];
        add_counts(&view->mapping_totals, &part->profile->mapping_totals);
        for (uint32_t i = 0; i < part->profile->nr_mapping_sites; i++) {
            const struct seep_mapping_site *site = &part->profile->mapping_sites[i];
            bool is_fault = part->profile->sites[site->site].via == SEEP_VIA_FAULT;
            seep_add_up(is_fault ? &view->fault_bytes : &view->map_live_bytes, site->live_bytes);
            seep_add_up(is_fault ? &view->nr_page_faults : &view->nr_map_live,
                        is_fault ? site->counts.maps : site->nr_live);
            if (!part->site_ok[site->site])
                continue;
            view->cut_in_mappings |= stack_of(build, part, site->site).cut >= 0;
            *(is_fault ? &view->faults[view->nr_faults++] : &view->mappings[view->nr_mappings++]) =
                (struct seep_view_mapping){
                    .stack = stack_of(build, part, site->site),
                    .counts = site->counts,
                    .live_bytes = site->live_bytes,
                    .nr_live = site->nr_live,
                    .process = part->process,
                    .site = site->site,
                };
        }
    }
    keep_top(view, view->mappings, &view->nr_mappings, &view->nr_mappings_all);
    keep_top(view, view->faults, &view->nr_faults, &view->nr_faults_all);
    return NULL;
}

static struct seep_error *collect_wrong_releases(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    size_t nr = 0;
    for (size_t p = 0; p < build->nr_parts; p++)
        nr += build->parts[p].profile->nr_wrong_releases;
    view->wrong_releases =
        seep_arena_alloc(&view->arena, SEEP_MAX(nr, (size_t)1), sizeof(*view->wrong_releases));
    if (!view->wrong_releases)
        return seep_error_no_memory();
    for (size_t p = 0; p < build->nr_parts; p++) {
        const struct seep_view_part *part = &build->parts[p];
        for (uint32_t i = 0; i < part->profile->nr_wrong_releases; i++) {
            const struct seep_wrong_release *from = &part->profile->wrong_releases[i];
            if (seep_profile_may_be_right(part->profile, from))
                continue;
            bool is_none;
            struct seep_error *error =
                seep_is_own_operator(build->stacks, part->profile, part->nodes, from, &is_none);
            if (error)
                return error;
            if (!is_none && (part->site_ok[from->site] || part->site_ok[from->release_site] ||
                             (from->first_site && part->site_ok[from->first_site])))
                view->wrong_releases[view->nr_wrong_releases++] = (struct seep_view_wrong_release){
                    .from = stack_of(build, part, from->site),
                    .at = stack_of(build, part, from->release_site),
                    .first = stack_of(build, part, from->first_site),
                    .what = *from,
                    .process = part->process,
                    .is_uncertain = seep_profile_is_uncertain(part->profile, from),
                };
        }
    }
    return NULL;
}

struct seep_error *seep_view_build_mappings(struct seep_view_build *build) {
    struct seep_error *error = collect_mappings(build);
    return error ? error : collect_wrong_releases(build);
}
