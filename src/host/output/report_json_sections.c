// SPDX-License-Identifier: BSD-2-Clause
//
// What a process in the JSON report has beside its sites: mappings, page faults, pools, marks, wrong
// releases, and the account of its resident memory.
#include <inttypes.h>
#include <jansson.h>

#include "output/json_build.h"
#include "output/report_json.h"
#include "view/view.h"

// ---- mappings and wrong releases ----

static json_t *map_counts_json(const struct seep_mapping_counts *counts, uint64_t nr_live,
                               uint64_t live_bytes) {
    json_t *object = json_object();
    set(&object, "maps", integer(counts->maps));
    set(&object, "mapped_bytes", integer(counts->mapped_bytes));
    set(&object, "unmaps", integer(counts->unmaps));
    set(&object, "unmapped_bytes", integer(counts->unmapped_bytes));
    set(&object, "live", integer(nr_live));
    set(&object, "live_bytes", integer(live_bytes));
    set(&object, "peak_bytes", integer(counts->peak_bytes));
    return object;
}

// NULL in *ret_stack: out of memory.
static struct seep_error *stack_json(struct seep_json_report *report, const struct seep_view_row *row,
                                     json_t **ret_stack) {
    if (report->schema >= 2) {
        uint32_t node;
        struct seep_error *error = seep_stack_filler_add(&report->part.filler, row, &node);
        *ret_stack = error ? NULL : node == SEEP_NO_STACK ? json_null() : json_integer(node);
        return error;
    }
    struct seep_view *view = report->part.sites;
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    struct seep_error *error = seep_view_frames(view, row, &frames, &nr, &more);
    if (error)
        return error;
    json_t *stack = json_array();
    for (size_t i = 0; i < nr; i++)
        append(&stack, seep_json_frame(&frames[i]));
    *ret_stack = stack;
    return NULL;
}

static struct seep_error *put_mapping(struct seep_json_report *report,
                                      const struct seep_view_mapping *mapping) {
    json_t *stack = NULL;
    struct seep_error *error = stack_json(report, &mapping->stack, &stack);
    if (error)
        return error;
    json_t *object = map_counts_json(&mapping->counts, mapping->nr_live, mapping->live_bytes);
    set(&object, "via", json_string(seep_via_name(mapping->stack.via)));
    set(&object, "stack", stack);
    return seep_json_dump(report->out, object);
}

struct seep_error *seep_json_put_mappings(struct seep_json_report *report) {
    FILE *out = report->out;
    struct seep_view *view = report->part.sites;
    fputs(" \"mappings\": {\"totals\": ", out);
    struct seep_error *error =
        seep_json_dump(out, map_counts_json(&view->mapping_totals, view->nr_map_live, view->map_live_bytes));
    fprintf(out, ",\n  \"sites_left_out\": %zu, \"sites\": [", view->nr_mappings_all - view->nr_mappings);
    for (size_t i = 0; !error && i < view->nr_mappings; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        error = put_mapping(report, &view->mappings[i]);
    }
    fputs("]},\n", out);
    return error;
}

struct seep_error *seep_json_put_faults(struct seep_json_report *report) {
    FILE *out = report->out;
    struct seep_view *view = report->part.sites;
    if (!view->nr_page_faults)
        return NULL;
    fprintf(out, " \"page_faults\": {\"faults\": %" PRIu64 ", \"resident_bytes\": %" PRIu64,
            view->nr_page_faults, view->fault_bytes);
    fprintf(out, ",\n  \"sites_left_out\": %zu, \"sites\": [", view->nr_faults_all - view->nr_faults);
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < view->nr_faults; i++) {
        json_t *stack = NULL;
        error = stack_json(report, &view->faults[i].stack, &stack);
        if (error)
            break;
        json_t *object = json_object();
        set(&object, "faults", integer(view->faults[i].counts.maps));
        set(&object, "bytes", integer(view->faults[i].counts.mapped_bytes));
        set(&object, "resident_bytes", integer(view->faults[i].live_bytes));
        set(&object, "stack", stack);
        fputs(i ? ",\n  " : "\n  ", out);
        error = seep_json_dump(out, object);
    }
    fputs("]},\n", out);
    return error;
}

// ---- pools and marks ----

static json_t *pool_totals_json(const struct seep_pool_totals *totals) {
    json_t *object = json_object();
    set(&object, "allocations", integer(totals->allocations));
    set(&object, "allocated_bytes", integer(totals->allocated_bytes));
    set(&object, "frees", integer(totals->frees));
    set(&object, "freed_bytes", integer(totals->freed_bytes));
    set(&object, "live_blocks", integer(totals->live_blocks));
    set(&object, "live_bytes", integer(totals->live_bytes));
    set(&object, "pools_created", integer(totals->pools_created));
    set(&object, "pools_destroyed", integer(totals->pools_destroyed));
    set(&object, "unknown_frees", integer(totals->unknown_frees));
    return object;
}

static struct seep_error *put_pool_site(struct seep_json_report *report,
                                        const struct seep_view_pool_site *site) {
    json_t *stack = NULL;
    struct seep_error *error = stack_json(report, &site->stack, &stack);
    if (error)
        return error;
    const struct seep_counters *c = &site->counters;
    bool sizes = c->allocations && c->size_min <= c->size_max;
    json_t *object = json_object();
    set(&object, "live_blocks", integer(site->live_blocks));
    set(&object, "live_bytes", integer(site->live_bytes));
    set(&object, "allocations", integer(c->allocations));
    set(&object, "allocated_bytes", integer(c->allocated_bytes));
    set(&object, "frees", integer(c->frees));
    set(&object, "freed_bytes", integer(c->freed_bytes));
    set(&object, "size_min", sizes ? integer(c->size_min) : json_null());
    set(&object, "size_max", sizes ? integer(c->size_max) : json_null());
    set(&object, "via", json_string(seep_via_name(site->stack.via)));
    set(&object, "pool", string(site->name));
    set(&object, "stack", stack);
    return seep_json_dump(report->out, object);
}

// Only where the program told of pools.
struct seep_error *seep_json_put_pools(struct seep_json_report *report) {
    FILE *out = report->out;
    struct seep_view *view = report->part.sites;
    const struct seep_pool_totals *totals = &view->pool_totals;
    if (!totals->allocations && !totals->pools_created && !totals->unknown_frees)
        return NULL;
    fputs(" \"pools\": {\"totals\": ", out);
    struct seep_error *error = seep_json_dump(out, pool_totals_json(totals));
    json_t *names = json_array();
    for (size_t i = 0; i < view->nr_pools; i++) {
        json_t *object = json_object();
        set(&object, "name", string(view->pools[i].name));
        set(&object, "pools", integer(view->pools[i].nr_pools));
        set(&object, "live_blocks", integer(view->pools[i].nr_pieces));
        set(&object, "live_bytes", integer(view->pools[i].bytes));
        append(&names, object);
    }
    if (error) {
        json_decref(names);
        return error;
    }
    fputs(",\n  \"by_name\": ", out);
    error = seep_json_dump(out, names);
    fprintf(out, ",\n  \"sites_left_out\": %zu, \"sites\": [", view->nr_pool_sites_all - view->nr_pool_sites);
    for (size_t i = 0; !error && i < view->nr_pool_sites; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        error = put_pool_site(report, &view->pool_sites[i]);
    }
    fputs("]},\n", out);
    return error;
}

json_t *seep_json_of_marks(const struct seep_profile *profile) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < profile->nr_marks; i++) {
        const struct seep_mark *mark = &profile->marks[i];
        json_t *object = json_object();
        set(&object, "name", string(mark->name));
        set(&object, "at_s", json_real((double)mark->at_ns / 1e9));
        set(&object, "thread", mark->tid ? integer(mark->tid) : json_null());
        set(&object, "counted", json_boolean(mark->counted));
        append(&array, object);
    }
    return array;
}

static struct seep_error *put_wrong_release(struct seep_json_report *report,
                                            const struct seep_view_wrong_release *wrong) {
    json_t *from = NULL;
    json_t *at = NULL;
    json_t *first = NULL;
    struct seep_error *error = stack_json(report, &wrong->from, &from);
    if (!error)
        error = stack_json(report, &wrong->at, &at);
    if (!error && wrong->what.first_site)
        error = stack_json(report, &wrong->first, &first);
    if (error) {
        json_decref(from);
        json_decref(at);
        return error;
    }
    char address[24];
    snprintf(address, sizeof(address), "0x%" PRIx64, wrong->what.address);
    json_t *object = json_object();
    set(&object, "kind", json_string(seep_misuse_name(wrong->what.kind)));
    if (report->schema >= 2 && wrong->is_uncertain)
        set(&object, "uncertain", json_true());
    set(&object, "count", integer(wrong->what.count));
    set(&object, "address", json_string(address));
    set(&object, "size", wrong->what.size ? integer(wrong->what.size) : json_null());
    set(&object, "allocated_via",
        wrong->what.site ? json_string(seep_via_name(wrong->from.via)) : json_null());
    set(&object, "released_via", json_string(seep_via_name(wrong->at.via)));
    set(&object, "allocation_stack", from);
    set(&object, "release_stack", at);
    set(&object, "first_released_via", first ? json_string(seep_via_name(wrong->first.via)) : json_null());
    set(&object, "first_release_stack", first ? first : json_null());
    return seep_json_dump(report->out, object);
}

struct seep_error *seep_json_put_wrong_releases(struct seep_json_report *report) {
    FILE *out = report->out;
    struct seep_view *view = report->part.sites;
    struct seep_error *error = NULL;
    fputs(" \"mismatches\": [", out);
    for (size_t i = 0; !error && i < view->nr_wrong_releases; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        error = put_wrong_release(report, &view->wrong_releases[i]);
    }
    fputs("],\n", out);
    return error;
}

// Nearly empty regions of 2 MiB, and the stack that has blocks in most of them. null: blocks are samples.
static struct seep_error *regions_json(struct seep_json_report *report, bool sampled, json_t **ret_regions) {
    const struct seep_view_pins *pins = &report->part.pins;
    json_t *most = NULL;
    if (pins->most) {
        const struct seep_view_row row = {.node = pins->node};
        json_t *stack;
        struct seep_error *error = stack_json(report, &row, &stack);
        if (error)
            return error;
        most = json_object();
        set(&most, "regions", integer(pins->most));
        set(&most, "bytes", integer(pins->most_bytes));
        set(&most, "stack", stack);
    }
    json_t *object = json_object();
    set(&object, "with_blocks", integer(pins->nr_regions));
    set(&object, "nearly_empty", integer(pins->nr_nearly_empty));
    set(&object, "nearly_empty_bytes", integer(pins->bytes));
    set(&object, "most", pins->most ? most : json_null());
    if (sampled) {
        json_decref(object);
        object = json_null();
    }
    *ret_regions = object;
    return NULL;
}

// null: not taken.
struct seep_error *seep_json_put_account(struct seep_json_report *report, size_t process) {
    const struct seep_profile *profile = report->all->session->profiles[process];
    const struct seep_account *account = &profile->account;
    json_t *object = json_null(), *regions = NULL;
    if (account->known) {
        object = json_object();
        set(&object, "rss", integer(account->rss_bytes));
        set(&object, "pss", integer(account->pss_bytes));
        set(&object, "swap", integer(account->swap_bytes));
        set(&object, "live_untouched", integer(account->untouched_bytes));
        set(&object, "by_page", json_boolean(account->by_page));
        json_t *rows = json_object();
        for (uint32_t i = 0; i < SEEP_ACCOUNT_NR; i++)
            set(&rows, seep_account_name(i), integer(account->bytes[i]));
        set(&object, "rows", rows);
    }
    if (account->known && report->schema >= 2) {
        struct seep_error *error = regions_json(report, profile->health.sample_bytes != 0, &regions);
        if (error) {
            json_decref(object);
            return error;
        }
        set(&object, "regions", regions);
    }
    fputs(" \"resident\": ", report->out);
    struct seep_error *error = seep_json_dump(report->out, object);
    fputs(",\n", report->out);
    return error;
}
