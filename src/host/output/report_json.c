// SPDX-License-Identifier: BSD-2-Clause
//
// The JSON report (docs/report.schema.json): schema 2, where sites refer to a table of frames and a tree of
// stacks, and schema 1, where each has its stack as a list of frames. Keys come in a fixed order. A figure
// that is not known is null. Sites are written one by one, a line each, so that the text of a report of a
// hundred thousand sites does not have to be in memory. Bytes that are not UTF-8 become U+FFFD.
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "analysis/ages.h"
#include "analysis/process_tree.h"
#include "output/format.h"
#include "output/json_build.h"
#include "output/json_stack.h"
#include "output/output.h"
#include "output/report_json.h"
#include "profile/verdict.h"
#include "view/exception_pool.h"
#include "view/sampling_error.h"
#include "view/stack_table.h"

struct seep_error *seep_json_dump(FILE *out, json_t *value) {
    char *text = text_of_json(value, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY);
    if (!text)
        return seep_error_no_memory();
    fputs(text, out);
    free(text);
    return NULL;
}

static struct seep_error *put_key(FILE *out, const char *key, json_t *value) {
    fprintf(out, " \"%s\": ", key);
    struct seep_error *error = seep_json_dump(out, value);
    fputs(",\n", out);
    return error;
}

// ---- process, health, totals ----

static json_t *process_json(const struct seep_session *session, const struct seep_process_tree *tree,
                            size_t index) {
    const struct seep_process *process = &session->profiles[index]->process;
    const struct seep_process_node *node = &tree->nodes[index];
    json_t *object = json_object();
    set(&object, "pid", integer(process->pid));
    set(&object, "parent", integer(process->ppid));
    set(&object, "started_by",
        node->parent == SEEP_NO_PROCESS ? json_null()
                                        : integer(session->profiles[node->parent]->process.pid));
    set(&object, "origin", json_string(seep_origin_name(node->origin)));
    set(&object, "exe", string(process->exe));
    set(&object, "name", string(process->name));
    json_t *args = json_array();
    for (uint32_t i = 0; i < process->nr_args; i++)
        append(&args, string(process->args[i]));
    set(&object, "args", args);
    set(&object, "args_left_out",
        integer(process->nr_args_all > process->nr_args ? process->nr_args_all - process->nr_args : 0));
    set(&object, "start",
        process->start_realtime_ns > 0 ? json_string(seep_format_time(process->start_realtime_ns).text)
                                       : json_null());
    set(&object, "duration_s",
        process->duration_ns >= 0 ? json_real((double)process->duration_ns / 1e9) : json_null());
    json_t *exit = json_null();
    if (process->exit_kind == SEEP_EXIT_CODE || process->exit_kind == SEEP_EXIT_SIGNAL) {
        exit = json_object();
        set(&exit, process->exit_kind == SEEP_EXIT_CODE ? "code" : "signal",
            json_integer(process->exit_value));
    }
    set(&object, "exit", exit);
    set(&object, "went_on", json_boolean(process->exit_kind == SEEP_EXIT_EXEC));
    return object;
}

// In schema 2 a note has a code, for programs; what it says is for people.
static void add_note(json_t **notes, unsigned schema, const char *code, const char *text) {
    if (schema < 2) {
        append(notes, string(text));
        return;
    }
    json_t *note = json_object();
    set(&note, "code", json_string(code));
    set(&note, "text", string(text));
    append(notes, note);
}

static void add_own_note(json_t **notes, unsigned schema, const struct seep_note *note) {
    char *text;
    if (asprintf(&text, "%s%s", seep_note_lead(note), note->text) < 0)
        text = NULL;
    add_note(notes, schema, seep_note_name(note->code), text ? text : note->text);
    free(text);
}

static json_t *notes_json(const struct seep_profile *profile, unsigned schema) {
    const struct seep_health *health = &profile->health;
    json_t *notes = json_array();
    if (health->state == SEEP_STATE_PASSIVE)
        add_note(&notes, schema, "gave_up", seep_passive_meaning(health->passive_reason));
    const char *other = seep_profile_preempted_by(profile);
    if (other) {
        char note[512];
        snprintf(note, sizeof(note), "allocations through the malloc of %.400s are not covered; %s", other,
                 seep_profile_preempted_advice(profile));
        add_note(&notes, schema, "not_covered", note);
    }
    if (health->flags & SEEP_FLAG_FORKED)
        add_note(&notes, schema, "forked", "began with the live blocks of its fork parent");
    for (size_t i = 0; i < health->nr_notes; i++)
        add_own_note(&notes, schema, &health->notes[i]);
    return notes;
}

static json_t *health_json(const struct seep_profile *profile, const struct seep_view *view,
                           unsigned schema) {
    const struct seep_health *health = &profile->health;
    json_t *object = json_object();
    set(&object, "complete", json_boolean(seep_profile_verdict(profile) == SEEP_VERDICT_COMPLETE));
    set(&object, "events", integer(health->events));
    json_t *lost = json_object();
    for (uint32_t i = 0; i < SEEP_LOST_NR; i++)
        if (health->lost[i])
            set(&lost, seep_lost_name(i), integer(health->lost[i]));
    set(&object, "lost", lost);
    set(&object, "stacks_cut", integer(health->stacks_cut));
    json_t *cut = json_object();
    for (uint32_t i = 0; i < SEEP_CUT_NR; i++)
        if (health->cut[i])
            set(&cut, seep_cut_name(i), integer(health->cut[i]));
    set(&object, "cut", cut);
    json_t *modules = json_array();
    for (size_t i = 0; i < view->nr_without_symbols; i++)
        append(&modules, string(view->without_symbols[i].module));
    set(&object, "modules_without_symbols", modules);
    set(&object, "notes", notes_json(profile, schema));
    set(&object, "sample_bytes", health->sample_bytes ? integer(health->sample_bytes) : json_null());
    return object;
}

// Allocations by size, each class by the largest size that is in it.
static json_t *sizes_json(const struct seep_totals *totals) {
    json_t *array = json_array();
    for (unsigned i = 0; i < SEEP_IMAGE_SIZE_CLASSES; i++) {
        if (!totals->size_class[i])
            continue;
        json_t *object = json_object();
        set(&object, "size_max", integer((UINT64_C(1) << i) - 1));
        set(&object, "allocations", integer(totals->size_class[i]));
        append(&array, object);
    }
    return array;
}

// Where calls are only counted it is not known whose block was freed.
static json_t *totals_json(const struct seep_profile *profile) {
    const struct seep_totals *totals = &profile->totals;
    bool blocks = !(profile->health.flags & SEEP_FLAG_CALLS);
    json_t *object = json_object();
    set(&object, "allocations", integer(totals->allocations));
    set(&object, "allocated_bytes", integer(totals->allocated_bytes));
    set(&object, "frees", integer(totals->frees));
    set(&object, "freed_bytes", blocks ? integer(totals->freed_bytes) : json_null());
    set(&object, "live_blocks", integer(totals->live_blocks));
    set(&object, "live_bytes", blocks ? integer(totals->live_bytes) : json_null());
    set(&object, "peak_bytes", blocks ? integer(totals->peak_bytes) : json_null());
    set(&object, "peak_exact", json_boolean(blocks && totals->peak_exact));
    set(&object, "peak_error_bytes",
        blocks ? integer(totals->peak_exact ? 0 : totals->peak_error_bytes) : json_null());
    set(&object, "temporary", blocks ? integer(totals->temporary) : json_null());
    if (profile->health.sample_bytes) {
        const struct seep_profile *const one[] = {profile};
        struct seep_live_error error = seep_live_error_of(one, 1);
        set(&object, "live_samples", integer(error.nr_samples));
        set(&object, "live_error_percent", json_real(error.percent));
        double peak_percent = seep_peak_error_percent(profile);
        set(&object, "peak_error_percent", peak_percent > 0 ? json_real(peak_percent) : json_null());
    }
    if (!blocks)
        set(&object, "by_size", sizes_json(totals));
    set(&object, "failed", integer(totals->failed));
    set(&object, "unknown_frees", integer(totals->unknown_frees));
    if (totals->inherited_blocks || totals->inherited_bytes) {
        set(&object, "inherited_blocks", integer(totals->inherited_blocks));
        set(&object, "inherited_bytes", integer(totals->inherited_bytes));
    }
    json_t *by_function = json_object();
    for (uint32_t i = 0; i < SEEP_VIA_HEAP_NR; i++)
        if (totals->by_function[i])
            set(&by_function, seep_via_name(i), integer(totals->by_function[i]));
    set(&object, "by_function", by_function);
    json_t *releases = json_object();
    for (uint32_t i = 0; i < SEEP_RELEASE_NR; i++)
        if (totals->releases[i])
            set(&releases, seep_release_name(i), integer(totals->releases[i]));
    set(&object, "by_release", releases);
    return object;
}

static struct seep_error *holders_json(struct seep_view *view, const struct seep_leaks *leaks,
                                       json_t **ret_holders) {
    json_t *holders = json_array();
    for (uint32_t i = 0; i < leaks->nr_holders; i++) {
        const char *what;
        struct seep_error *error =
            seep_view_holder(view, (uint32_t)view->first_process, &leaks->holders[i], &what, NULL);
        if (error) {
            json_decref(holders);
            return error;
        }
        json_t *holder = json_object();
        set(&holder, "what", string(what));
        set(&holder, "retained_blocks", integer(leaks->holders[i].blocks));
        set(&holder, "retained_bytes", integer(leaks->holders[i].bytes));
        append(&holders, holder);
    }
    *ret_holders = holders;
    return NULL;
}

static struct seep_error *put_leaks(FILE *out, struct seep_view *view, const struct seep_leaks *leaks) {
    if (!leaks->known)
        return put_key(out, "leaks", json_null());
    json_t *object = json_object();
    for (uint32_t i = SEEP_KIND_LOST; i < SEEP_KIND_NR; i++) {
        json_t *kind = json_object();
        set(&kind, "blocks", integer(leaks->blocks[i]));
        set(&kind, "bytes", integer(leaks->bytes[i]));
        set(&object, seep_kind_name(i), kind);
    }
    json_t *suppressed = json_object();
    set(&suppressed, "blocks", integer(leaks->suppressed_blocks));
    set(&suppressed, "bytes", integer(leaks->suppressed_bytes));
    set(&object, "suppressed", suppressed);
    set(&object, "pause_s", json_real((double)leaks->pause_ns / 1e9));
    set(&object, "read_bytes", integer(leaks->read_bytes));
    set(&object, "unread_bytes", integer(leaks->unread_bytes));
    json_t *holders = NULL;
    struct seep_error *error = holders_json(view, leaks, &holders);
    if (error) {
        json_decref(object);
        return error;
    }
    set(&object, "holders", holders);
    set(&object, "holders_left_out", integer(leaks->nr_holders_all - leaks->nr_holders));
    return put_key(out, "leaks", object);
}

// ---- rows ----

// `key` with its quotes, its colon and what goes before it.
static void put_integer(FILE *out, const char *key, bool is_known, int64_t value) {
    fputs(key, out);
    if (is_known)
        seep_put_signed(out, value);
    else
        fputs("null", out);
}

static void put_known(FILE *out, const char *key, const struct seep_view_row *row, uint32_t bits,
                      uint64_t value) {
    put_integer(out, key, (row->known & bits) == bits, (int64_t)SEEP_MIN(value, (uint64_t)INT64_MAX));
}

// Members of an object that is open, straight to the stream: there is one for each site.
static void put_figures(FILE *out, const struct seep_view *view, const struct seep_view_row *row) {
    const struct seep_counters *c = &row->counters;
    bool live = row->known & SEEP_KNOWN_LIVE && !view->live_is_net;
    bool sizes = row->known & SEEP_KNOWN_SIZES && c->allocations && c->size_min <= c->size_max;
    put_integer(out, "\"live_blocks\":", live, row->live_blocks);
    put_integer(out, ",\"live_bytes\":", live, row->live_bytes);
    put_known(out, ",\"allocations\":", row, SEEP_KNOWN_ALLOCATIONS, c->allocations);
    put_known(out, ",\"allocated_bytes\":", row, SEEP_KNOWN_BYTES, c->allocated_bytes);
    put_known(out, ",\"frees\":", row, SEEP_KNOWN_FREES, c->frees);
    put_known(out, ",\"freed_bytes\":", row, SEEP_KNOWN_FREES, c->freed_bytes);
    put_known(out, ",\"temporary\":", row, SEEP_KNOWN_TEMPORARY, c->temporary);
    put_known(out, ",\"peak_bytes\":", row, SEEP_KNOWN_PEAK, c->peak_bytes);
    if (view->sampled)
        put_known(out, ",\"samples\":", row, 0, c->peak_bytes);
    put_known(out, ",\"size_min\":", row, sizes ? 0 : UINT32_MAX, c->size_min);
    put_known(out, ",\"size_max\":", row, sizes ? 0 : UINT32_MAX, c->size_max);
    if (row->slab_bytes)
        put_known(out, ",\"slab_bytes\":", row, 0, row->slab_bytes);
    if (view->live_is_net) {
        put_integer(out, ",\"net_blocks\":", true, row->live_blocks);
        put_integer(out, ",\"net_bytes\":", true, row->live_bytes);
    }
}

static json_t *blocks_json(const struct seep_view_row *row) {
    json_t *array = json_array();
    for (size_t i = 0; i < row->nr_blocks; i++) {
        const struct seep_view_block *block = &row->blocks[i];
        char address[24];
        snprintf(address, sizeof(address), "0x%" PRIx64, block->address);
        json_t *object = json_object();
        set(&object, "address", json_string(address));
        set(&object, "size", integer(block->size));
        set(&object, "age_s", block->age_ns >= 0 ? json_real((double)block->age_ns / 1e9) : json_null());
        set(&object, "thread", block->tid ? integer(block->tid) : json_null());
        if (block->kind)
            set(&object, "kind", json_string(seep_kind_name(block->kind)));
        append(&array, object);
    }
    return array;
}

// As jansson writes it, which is asked only for what it escapes: there are several texts for each site.
static struct seep_error *put_text(FILE *out, const char *text) {
    size_t plain = 0;
    while (text && text[plain] >= 0x20 && text[plain] < 0x7f && text[plain] != '"' && text[plain] != '\\')
        plain++;
    if (!text || text[plain])
        return seep_json_dump(out, string(text));
    fputc('"', out);
    fwrite(text, 1, plain, out);
    fputc('"', out);
    return NULL;
}

static void put_amount(FILE *out, uint64_t blocks, uint64_t bytes) {
    put_integer(out, "{\"blocks\":", true, (int64_t)SEEP_MIN(blocks, (uint64_t)INT64_MAX));
    put_integer(out, ",\"bytes\":", true, (int64_t)SEEP_MIN(bytes, (uint64_t)INT64_MAX));
    fputc('}', out);
}

static void put_kinds(FILE *out, const struct seep_view_kinds *kinds) {
    bool any = false;
    fputc('{', out);
    for (uint32_t i = 0; i < SEEP_KIND_NR; i++) {
        if (!kinds->blocks[i])
            continue;
        fprintf(out, "%s\"%s\":", any ? "," : "", i ? seep_kind_name(i) : "not_scanned");
        put_amount(out, kinds->blocks[i], kinds->bytes[i]);
        any = true;
    }
    fputc('}', out);
}

static json_t *suppressed_json(const struct seep_view *view, const struct seep_view_row *row) {
    const struct seep_suppression *by = &view->session->suppressions[row->suppressed_by - 1];
    json_t *object = json_object();
    set(&object, "blocks", json_integer(row->suppressed_blocks));
    set(&object, "bytes", json_integer(row->suppressed_bytes));
    set(&object, "file", string(by->file));
    set(&object, "line", by->line ? integer(by->line) : json_null());
    set(&object, "name", string(by->name));
    return object;
}

// The node of a stack in the table, null for one without frames.
static struct seep_error *put_stack_node(struct seep_json_report *report, const struct seep_view_row *row) {
    uint32_t node;
    struct seep_error *error = seep_stack_filler_add(&report->part.filler, row, &node);
    if (error)
        return error;
    if (node == SEEP_NO_STACK)
        fputs("null", report->out);
    else
        seep_put_number(report->out, node);
    return NULL;
}

static struct seep_error *put_stack(struct seep_json_report *report, const struct seep_view_row *row) {
    fputs(",\"stack\":", report->out);
    if (report->schema >= 2)
        return put_stack_node(report, row);
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    struct seep_error *error = seep_view_frames(report->part.sites, row, &frames, &nr, &more);
    if (!error)
        error = seep_json_stack_put(&report->texts, report->out, frames, nr);
    if (!error && more)
        fprintf(report->out, ",\"frames_left_out\":%" PRIu32, more);
    return error;
}

static struct seep_error *put_holder(FILE *out, uint8_t kind, uint64_t blocks, const char *text) {
    fputs("{\"kind\":", out);
    struct seep_error *error = put_text(out, kind ? seep_kind_name(kind) : NULL);
    put_integer(out, ",\"blocks\":", true, (int64_t)SEEP_MIN(blocks, (uint64_t)INT64_MAX));
    fputs(",\"text\":", out);
    if (!error)
        error = put_text(out, text);
    fputc('}', out);
    return error;
}

static struct seep_error *put_held(struct seep_json_report *report, const struct seep_view_row *row,
                                   const char *held_by) {
    struct seep_view *view = report->part.sites;
    FILE *out = report->out;
    if (report->schema < 2)
        return put_text(out, row->held_kind == row->kind ? held_by : NULL);
    uint32_t nr;
    const struct seep_held *held = seep_view_held(view, row, &nr);
    struct seep_error *error = NULL;
    fputc('[', out);
    if (nr < 2)
        error = put_holder(out, row->held_kind, row->kinds.blocks[row->held_kind], held_by);
    for (uint32_t i = 0, nr_put = 0; !error && nr > 1 && i < nr; i++) {
        const char *text = NULL;
        error = seep_view_chain(view, row->held_process, held[i].chain, &text, NULL);
        if (error || !text)
            continue;
        fputs(nr_put++ ? "," : "", out);
        error = put_holder(out, held[i].kind, held[i].blocks, text);
    }
    fputc(']', out);
    return error;
}

// `key` as of put_integer().
static void put_member(FILE *out, const char *key, json_t *value, struct seep_error **error) {
    if (*error) {
        json_decref(value);
        return;
    }
    fputs(key, out);
    *error = seep_json_dump(out, value);
}

static struct seep_error *put_site(struct seep_json_report *report, const struct seep_view_row *row) {
    struct seep_view *view = report->part.sites;
    FILE *out = report->out;
    const char *held_by = NULL, *type = NULL;
    struct seep_error *error = seep_view_chain(view, row->held_process, row->held, &held_by, &type);
    if (error)
        return error;
    fputc('{', out);
    put_figures(out, view, row);
    if (report->schema >= 2)
        put_known(out, ",\"at_peak_bytes\":", row, SEEP_KNOWN_AT_PEAK, row->counters.at_peak_bytes);
    fprintf(out, ",\"via\":\"%s\"", seep_via_name(row->via));
    if (row->kind) {
        fprintf(out, ",\"kind\":\"%s\",\"partly\":%s", seep_kind_name(row->kind),
                seep_view_nr_kinds(&row->kinds) > 1 ? "true" : "false");
        fputs(",\"kinds\":", out);
        put_kinds(out, &row->kinds);
    } else {
        fputs(",\"kind\":null", out);
    }
    fputs(",\"held_by\":", out);
    if (held_by)
        error = put_held(report, row, held_by);
    else
        fputs("null", out);
    if (type && !error) {
        fputs(",\"type\":", out);
        error = put_text(out, type);
    }
    if (row->retained_bytes)
        put_integer(out, ",\"retained_bytes\":", true,
                    (int64_t)SEEP_MIN(row->retained_bytes, (uint64_t)INT64_MAX));
    if (row->suppressed_by)
        put_member(out, ",\"suppressed\":", suppressed_json(view, row), &error);
    if (view->at_exit.known)
        put_member(out,
                   ",\"freed_at_exit\":", seep_json_of_exit(row->exit_blocks, row->exit_bytes, row->exit_all),
                   &error);
    if (row->growth) {
        uint64_t left, limit = seep_view_limit(view, row->growth_process, &left);
        put_member(out, ",\"growth\":", seep_json_of_growth(row->growth, limit, left), &error);
    }
    if (row->cut >= 0)
        fprintf(out, ",\"cut\":\"%s\"", seep_cut_name((uint32_t)row->cut));
    else
        fputs(",\"cut\":null", out);
    if (!error)
        error = put_stack(report, row);
    if (view->options.blocks)
        put_member(out, ",\"blocks\":", blocks_json(row), &error);
    fputc('}', out);
    return error;
}

static struct seep_error *put_group(FILE *out, struct seep_view *view, const struct seep_view_row *row) {
    struct seep_error *error = NULL;
    put_member(out, "{\"key\":", string(row->key), &error);
    fputc(',', out);
    put_figures(out, view, row);
    fputc('}', out);
    return error;
}

static struct seep_error *put_rows(struct seep_json_report *report, struct seep_view *view) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        fputs(i ? ",\n  " : "\n  ", report->out);
        error = view->options.by == SEEP_BY_SITE ? put_site(report, &view->rows[i])
                                                 : put_group(report->out, view, &view->rows[i]);
    }
    if (!error)
        fputs("\n ]", report->out);
    return error;
}

// ---- the whole ----

// All keys of one process, without the braces.
static struct seep_error *put_process(struct seep_json_report *report, size_t index) {
    FILE *out = report->out;
    struct seep_view *sites = report->part.sites, *groups = report->part.groups;
    const struct seep_profile *profile = sites->session->profiles[index];
    struct seep_error *error = put_key(out, "process", process_json(sites->session, &report->tree, index));
    if (!error)
        error = put_key(out, "health", health_json(profile, sites, report->schema));
    if (!error)
        error = put_key(out, "totals", totals_json(profile));
    if (!error)
        error = seep_json_put_mappings(report);
    if (!error)
        error = seep_json_put_faults(report);
    if (!error)
        error = seep_json_put_pools(report);
    if (!error && profile->nr_marks)
        error = put_key(out, "marks", seep_json_of_marks(profile));
    struct seep_ages ages = {0};
    seep_ages_add(&ages, profile);
    if (!error && sites->at_exit.known)
        error = put_key(out, "freed_only_at_exit", seep_json_of_exit_sum(&sites->at_exit));
    if (!error && ages.known)
        error = put_key(out, "ages", seep_json_of_ages(&ages));
    if (!error && profile->growth)
        error = put_key(out, "growth", seep_json_of_process_growth(sites, (uint32_t)index));
    if (!error)
        error = seep_json_put_wrong_releases(report);
    if (!error && sites->options.rss)
        error = seep_json_put_account(report, index);
    if (!error)
        error = put_leaks(out, sites, &profile->leaks);
    if (!error && groups) {
        fprintf(out, " \"by\": \"%s\",\n \"groups_left_out\": %zu,\n \"groups\": [",
                seep_view_by_name(groups->options.by), groups->nr_rows_all - groups->nr_rows);
        error = put_rows(report, groups);
        fputs(",\n", out);
    }
    if (!error) {
        fprintf(out, " \"sites_left_out\": %zu,\n \"sites\": [", sites->nr_rows_all - sites->nr_rows);
        error = put_rows(report, sites);
    }
    return error;
}

// Of what is built in only what took something: the others need no cleaning up.
static json_t *suppressions_json(const struct seep_session *session) {
    json_t *rules = json_array();
    for (uint32_t i = 0; i < session->nr_suppressions; i++) {
        const struct seep_suppression *suppression = &session->suppressions[i];
        if (!suppression->line && !suppression->blocks)
            continue;
        json_t *rule = json_object();
        set(&rule, "name", string(suppression->name));
        set(&rule, "file", string(suppression->file));
        set(&rule, "line", suppression->line ? integer(suppression->line) : json_null());
        set(&rule, "reason", string(suppression->reason));
        set(&rule, "sites", integer(suppression->nr_sites));
        set(&rule, "blocks", integer(suppression->blocks));
        set(&rule, "bytes", integer(suppression->bytes));
        append(&rules, rule);
    }
    json_t *object = json_object();
    set(&object, "skipped", integer(session->nr_suppressions_skipped));
    set(&object, "rules", rules);
    return object;
}

// ---- tables ----

static bool has_tables(const struct seep_json_report *report) {
    return report->schema >= 2;
}

static void close_part(struct seep_json_report *report) {
    struct seep_json_part *part = &report->part;
    seep_stack_filler_deinit(&part->filler);
    seep_view_destroy(part->groups);
    if (!part->borrowed)
        seep_view_destroy(part->sites);
    *part = (struct seep_json_part){.sites = NULL};
}

// The views of a process by itself.
static struct seep_error *open_part(struct seep_json_report *report, size_t process) {
    struct seep_json_part *part = &report->part;
    struct seep_view *all = report->all;
    struct seep_view_options by_site = all->options;
    by_site.by = SEEP_BY_SITE;
    by_site.no_leaders = true;
    struct seep_error *error = NULL;
    part->borrowed = all->session->nr_profiles == 1 && all->options.by == SEEP_BY_SITE;
    if (part->borrowed)
        part->sites = all;
    else
        error = seep_view_create(all->session, process, all->stacks->symbols, &by_site, &part->sites);
    if (!error && all->options.by != SEEP_BY_SITE)
        error = seep_view_create(all->session, process, all->stacks->symbols, &all->options, &part->groups);
    if (!error && has_tables(report) && all->options.rss && all->session->profiles[process]->account.known)
        error = seep_view_find_pins(part->sites, process, &part->pins);
    if (!error && has_tables(report))
        error = seep_stack_filler_init(&part->filler, &report->table, part->sites);
    return error;
}

// Every stack of the process at hand that the report refers to.
static struct seep_error *add_stacks(struct seep_json_report *report) {
    struct seep_json_part *part = &report->part;
    const struct seep_view *view = part->sites;
    struct seep_error *error = NULL;
    uint32_t node;
    for (size_t i = 0; !error && i < view->nr_rows; i++)
        error = seep_stack_filler_add(&part->filler, &view->rows[i], &node);
    for (size_t i = 0; !error && i < view->nr_mappings; i++)
        error = seep_stack_filler_add(&part->filler, &view->mappings[i].stack, &node);
    for (size_t i = 0; !error && i < view->nr_faults; i++)
        error = seep_stack_filler_add(&part->filler, &view->faults[i].stack, &node);
    for (size_t i = 0; !error && i < view->nr_pool_sites; i++)
        error = seep_stack_filler_add(&part->filler, &view->pool_sites[i].stack, &node);
    for (size_t i = 0; !error && i < view->nr_wrong_releases; i++) {
        error = seep_stack_filler_add(&part->filler, &view->wrong_releases[i].from, &node);
        if (!error)
            error = seep_stack_filler_add(&part->filler, &view->wrong_releases[i].at, &node);
        if (!error)
            error = seep_stack_filler_add(&part->filler, &view->wrong_releases[i].first, &node);
    }
    const struct seep_view_row pinning = {.node = part->pins.node};
    if (!error && part->pins.most)
        error = seep_stack_filler_add(&part->filler, &pinning, &node);
    return error;
}

// The table comes before the processes, and a view that cannot be made must be known before anything is
// written. Views take several times the memory of the data that is read from them. So the views of several
// processes are made twice, one at a time.
static struct seep_error *prepare(struct seep_json_report *report) {
    size_t nr = report->all->session->nr_profiles;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < nr; i++) {
        error = open_part(report, i);
        if (!error && has_tables(report))
            error = add_stacks(report);
        if (nr > 1)
            close_part(report);
    }
    return error;
}

// ---- all processes ----

static void report_deinit(struct seep_json_report *report) {
    close_part(report);
    seep_stack_table_deinit(&report->table);
    seep_json_stack_deinit(&report->texts);
    seep_process_tree_deinit(&report->tree);
}

static json_t *findings_json(const struct seep_summary *summary) {
    json_t *array = json_array();
    for (size_t i = 0; i < summary->nr_findings; i++) {
        const struct seep_finding *finding = &summary->findings[i];
        json_t *object = json_object();
        set(&object, "kind", json_string(seep_finding_name(finding->kind)));
        set(&object, "bad", json_boolean(finding->bad));
        set(&object, "text", string(finding->text));
        set(&object, "value", integer(finding->value));
        set(&object, "place", finding->place ? string(finding->place) : json_null());
        set(&object, "place_value", integer(finding->place_value));
        append(&array, object);
    }
    return array;
}

// An entry that is added after the table was written is missing from the report.
static struct seep_error *check_table(const struct seep_json_report *report, size_t nr_nodes) {
    if (report->table.nr_nodes == nr_nodes)
        return NULL;
    return seep_error_create(SEEP_E_UNSUPPORTED,
                             "two names have the same hash: the report cannot refer to them");
}

static struct seep_error *put_processes(struct seep_json_report *report) {
    FILE *out = report->out;
    size_t nr = report->all->session->nr_profiles, nr_nodes = report->table.nr_nodes;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < nr; i++) {
        if (!report->part.sites)
            error = open_part(report, i);
        fputs(nr == 1 ? "" : i ? ",\n{" : "{", out);
        if (!error)
            error = put_process(report, i);
        if (!error)
            error = check_table(report, nr_nodes);
        fputs(nr == 1 ? "" : "}", out);
        close_part(report);
    }
    return error;
}

static struct seep_error *put_report(struct seep_json_report *report, const struct seep_session *session) {
    FILE *out = report->out;
    bool several = session->nr_profiles > 1;
    fprintf(out, "{\"seep\": {\"version\": \"%s\", \"schema\": %u},\n", SEEP_VERSION, report->schema);
    struct seep_error *error = NULL;
    if (has_tables(report)) {
        seep_json_put_tables(out, &report->table);
        error = put_key(out, "findings", findings_json(report->summary));
    }
    if (!error && session->suppressions_applied)
        error = put_key(out, "suppressions", suppressions_json(session));
    if (several)
        fputs("\"processes\": [\n", out);
    if (!error)
        error = put_processes(report);
    fputs(several ? "]}\n" : "}\n", out);
    return error;
}

static struct seep_error *write_schema(FILE *out, struct seep_view *view, const struct seep_summary *summary,
                                       unsigned schema) {
    struct seep_json_report report = {.out = out, .schema = schema, .summary = summary, .all = view};
    struct seep_error *error = seep_process_tree_init(view->session, &report.tree);
    if (error)
        return error;
    error = prepare(&report);
    if (!error)
        error = put_report(&report, view->session);
    report_deinit(&report);
    return error;
}

static struct seep_error *write_json(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    return write_schema(out, view, summary, 2);
}

static struct seep_error *write_json1(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    return write_schema(out, view, summary, 1);
}

const struct seep_output seep_output_json = {
    .name = "json",
    .suffix = ".json",
    .what = "everything, for programs",
    .needs = SEEP_OUTPUT_ALL | SEEP_OUTPUT_HEALTH,
    .is_json = true,
    .write = write_json,
};

const struct seep_output seep_output_json1 = {
    .name = "json1",
    .suffix = ".json",
    .what = "the older schema of JSON, with whole stacks at each site",
    .needs = SEEP_OUTPUT_ALL | SEEP_OUTPUT_HEALTH,
    .is_json = true,
    .write = write_json1,
};
