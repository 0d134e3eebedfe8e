// SPDX-License-Identifier: BSD-2-Clause
// A history as JSON, see report_history.h; the keys are in docs/recording.md.
#include "base/version.h"
#include "output/json_build.h"
#include "output/json_stack.h"
#include "output/report_history.h"
#include "view/summary.h"

struct making {
    const struct seep_history_report *report;
    const struct seep_profile *profile;
    const struct seep_history *history;
    size_t process;
    struct seep_error *error; // the first
};

static json_t *signed_integer(int64_t value) {
    return json_integer(value);
}

static json_t *timeline_of(const struct making *making) {
    json_t *rows = json_array();
    for (size_t i = 0; i < making->history->nr_bins; i++) {
        const struct seep_history_bin *bin = &making->history->bins[i];
        json_t *row = json_object();
        set(&row, "until_s", json_real((double)bin->until_ns / 1e9));
        set(&row, "live_blocks", signed_integer(bin->live_blocks));
        set(&row, "live_bytes", signed_integer(bin->live_bytes));
        set(&row, "most_bytes", signed_integer(bin->most_bytes));
        if (making->history->recorded) {
            set(&row, "allocations", integer(bin->allocations));
            set(&row, "allocated_bytes", integer(bin->allocated_bytes));
            set(&row, "frees", integer(bin->frees));
            set(&row, "freed_bytes", integer(bin->freed_bytes));
        }
        if (making->report->pages) {
            set(&row, "pages", integer(bin->pages));
            set(&row, "regions", integer(bin->regions));
        }
        append(&rows, row);
    }
    return rows;
}

static json_t *stack_of(struct making *making, uint32_t site) {
    struct seep_view *view = making->report->view;
    const struct seep_view_frame *frames;
    size_t nr = 0;
    uint32_t more;
    const struct seep_site *of = &making->profile->sites[site];
    struct seep_view_row row = {.node = view->nodes[making->process][of->node], .via = of->via, .cut = -1};
    if (!making->error)
        making->error = seep_view_frames(view, &row, &frames, &nr, &more);
    json_t *stack = json_array();
    for (size_t i = 0; !making->error && i < nr; i++)
        append(&stack, seep_json_frame(&frames[i]));
    return stack;
}

static json_t *place_of(struct making *making, uint32_t site) {
    struct seep_view *view = making->report->view;
    const char *place = NULL;
    if (!making->error)
        making->error =
            seep_summary_place(view, view->nodes[making->process][making->profile->sites[site].node], &place);
    return string(place);
}

static json_t *lives_of(const struct seep_history_site *site) {
    json_t *lives = json_array();
    for (unsigned i = 0; i < SEEP_HISTORY_LIVES; i++)
        append(&lives, integer(site->lives[i]));
    return lives;
}

// Sites that had something, with what they had when it changed: [part, blocks, bytes, highest bytes].
static json_t *sites_of(struct making *making) {
    const struct seep_history *history = making->history;
    json_t **live = calloc((size_t)history->nr_sites + 1, sizeof(*live));
    if (!live)
        return NULL;
    for (size_t i = 0; i < history->nr_changes; i++) {
        const struct seep_history_change *change = &history->changes[i];
        if (!live[change->site])
            live[change->site] = json_array();
        append(&live[change->site],
               json_pack("[i,I,I,I]", (int)change->bin, (json_int_t)change->live_blocks,
                         (json_int_t)change->live_bytes, (json_int_t)change->most_bytes));
    }
    json_t *rows = json_array();
    for (uint32_t i = 1; i < history->nr_sites; i++) {
        // One that never lasts to the end of a part has lives, too.
        if (!live[i] && !(history->recorded && history->sites[i].freed))
            continue;
        json_t *row = json_object();
        set(&row, "site", integer(i));
        set(&row, "place", place_of(making, i));
        set(&row, "stack", stack_of(making, i));
        set(&row, "live", live[i] ? live[i] : json_array());
        if (history->recorded) {
            const struct seep_history_site *site = &history->sites[i];
            set(&row, "freed", integer(site->freed));
            set(&row, "lives", lives_of(site));
            set(&row, "life_least_ns", signed_integer(site->life_least_ns));
            set(&row, "life_most_ns", signed_integer(site->life_most_ns));
            set(&row, "life_mean_ns",
                site->freed ? json_real(site->life_sum_ns / (double)site->freed) : json_null());
            set(&row, "temporary", integer(site->temporary));
            set(&row, "freed_elsewhere", integer(site->elsewhere));
            set(&row, "freed_elsewhere_bytes", integer(site->elsewhere_bytes));
        }
        append(&rows, row);
    }
    free(live);
    return rows;
}

static json_t *resizes_of(const struct making *making) {
    json_t *rows = json_array();
    for (size_t i = 0; i < making->history->nr_resizes; i++) {
        const struct seep_history_resize *resize = &making->history->resizes[i];
        json_t *row = json_object();
        set(&row, "site", integer(resize->site));
        set(&row, "begun_at", integer(resize->first));
        set(&row, "resizes", integer(resize->resizes));
        set(&row, "moved", integer(resize->moved));
        set(&row, "copied_bytes", integer(resize->copied_bytes));
        set(&row, "most_in_a_row", integer(resize->most_in_a_row));
        set(&row, "most_bytes", integer(resize->most_bytes));
        append(&rows, row);
    }
    return rows;
}

static json_t *thread_of(const struct making *making, uint32_t slot) {
    json_t *thread = json_object();
    bool known = slot < making->profile->nr_threads;
    set(&thread, "slot", integer(slot));
    set(&thread, "tid", known ? integer(making->profile->threads[slot].tid) : json_null());
    set(&thread, "name", known ? string(making->profile->threads[slot].name) : json_null());
    return thread;
}

static json_t *handovers_of(const struct making *making) {
    json_t *rows = json_array();
    for (size_t i = 0; i < making->history->nr_handovers; i++) {
        const struct seep_history_handover *handover = &making->history->handovers[i];
        json_t *row = json_object();
        set(&row, "from", thread_of(making, handover->from));
        set(&row, "to", thread_of(making, handover->to));
        set(&row, "blocks", integer(handover->blocks));
        set(&row, "bytes", integer(handover->bytes));
        append(&rows, row);
    }
    return rows;
}

static json_t *pages_of(const struct making *making) {
    const struct seep_history *history = making->history;
    json_t *pages = json_object(), *pins = json_array();
    for (size_t i = 0; i < history->nr_pins; i++) {
        json_t *row = json_object();
        set(&row, "site", integer(history->pins[i].site));
        set(&row, "regions", integer(history->pins[i].regions));
        set(&row, "alone", integer(history->pins[i].alone));
        set(&row, "blocks", integer(history->pins[i].blocks));
        set(&row, "bytes", integer(history->pins[i].bytes));
        append(&pins, row);
    }
    set(&pages, "part", integer(history->pages_bin));
    set(&pages, "nearly_empty_regions", integer(history->nearly_empty));
    set(&pages, "held_by", pins);
    return pages;
}

static json_t *process_of(struct making *making) {
    json_t *process = json_object();
    set(&process, "pid", integer(making->profile->process.pid));
    set(&process, "exe", string(making->profile->process.exe));
    set(&process, "recorded", json_boolean(making->history->recorded));
    set(&process, "part_s", json_real((double)making->history->bin_ns / 1e9));
    set(&process, "timeline", timeline_of(making));
    set(&process, "sites", sites_of(making));
    if (making->history->recorded) {
        set(&process, "resizes", resizes_of(making));
        set(&process, "handovers", handovers_of(making));
    }
    if (making->history->recorded && making->report->pages)
        set(&process, "pages", pages_of(making));
    return process;
}

struct seep_error *seep_history_json(FILE *out, const struct seep_history_report *report) {
    const struct seep_view *view = report->view;
    json_t *whole = json_object(), *processes = json_array();
    struct seep_error *error = NULL;
    for (size_t p = 0; !error && p < view->nr_processes; p++) {
        struct making making = {.report = report,
                                .profile = view->session->profiles[view->first_process + p],
                                .history = &report->histories[view->first_process + p],
                                .process = p};
        append(&processes, process_of(&making));
        error = making.error;
    }
    set(&whole, "seep", json_pack("{s:s,s:s}", "version", SEEP_VERSION, "kind", "history"));
    set(&whole, "processes", processes);
    char *text = text_of_json(whole, JSON_COMPACT | JSON_PRESERVE_ORDER);
    if (!error && !text)
        error = seep_error_no_memory();
    if (!error)
        fprintf(out, "%s\n", text);
    free(text);
    return error;
}
