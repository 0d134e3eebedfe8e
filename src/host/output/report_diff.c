// SPDX-License-Identifier: BSD-2-Clause
//
// The report of a diff: what the two are and how far they can be compared, the totals side by side, then
// what changed, most growth first. Numbers with a sign are changes. Rows of JSON and CSV refer to a table of
// frames and a tree of stacks.
#include "output/report_diff.h"

#include <inttypes.h>

#include "analysis/diff_findings.h"
#include "base/sum.h"
#include "base/version.h"
#include "base/words.h"
#include "output/csv.h"
#include "output/json_build.h"
#include "output/json_stack.h"
#include "output/report_json.h"
#include "output/report_text.h"
#include "output/wrap.h"
#include "profile/verdict.h"

// "+1,234", "-5", "0".
static struct seep_number signed_text(int64_t value) {
    struct seep_number number = seep_format_signed(value);
    if (value > 0) {
        memmove(number.text + 1, number.text, sizeof(number.text) - 1);
        number.text[0] = '+';
        number.text[sizeof(number.text) - 1] = 0;
    }
    return number;
}

static bool is_shown(const struct seep_diff_row *row, int sort) {
    if (row->change != SEEP_DIFF_SAME && row->change != SEEP_DIFF_EMPTY)
        return true;
    return sort == SEEP_SORT_ALLOCATIONS ? row->allocations != 0
           : sort == SEEP_SORT_BYTES     ? row->allocated_bytes != 0
           : sort == SEEP_SORT_TEMPORARY ? row->temporary != 0
                                         : false;
}

// ---- text ----

static void put_side(FILE *out, const char *which, const char *name, const struct seep_view *view,
                     const struct seep_style *style) {
    const struct seep_process *process = &seep_text_profile(view, 0)->process;
    fprintf(out, "%s%s%s ", seep_style_bold(style), which, seep_style_off(style));
    seep_put_escaped(out, name);
    fputs(": ", out);
    if (seep_process_is_named_otherwise(process)) {
        seep_put_escaped(out, process->name);
        fputs(" = ", out);
    }
    seep_put_escaped(out, process->exe && *process->exe ? process->exe : "(program not known)");
    fprintf(out, ", pid %" PRIu32 ", after %s", process->pid,
            seep_format_duration(process->duration_ns).text);
    if (view->nr_processes > 1)
        fprintf(out, ", and %s more process%s", seep_format_count(view->nr_processes - 1).text,
                view->nr_processes == 2 ? "" : "es");
    if (process->start_realtime_ns > 0)
        fprintf(out, ", started %s", seep_format_time(process->start_realtime_ns).text);
    fputc('\n', out);
}

static void put_incomplete(FILE *out, const struct seep_view *view, const char *which,
                           const struct seep_style *style) {
    struct seep_arena arena = SEEP_ARENA_INIT;
    size_t nr = 0;
    for (size_t p = 0; p < view->nr_processes; p++) {
        const struct seep_profile *profile = seep_text_profile(view, p);
        if (seep_profile_verdict(profile) == SEEP_VERDICT_COMPLETE || nr++)
            continue;
        const char *why = seep_profile_why_incomplete(profile, &arena);
        fprintf(out, "%sincomplete%s: the %s one: ", seep_style_warn(style), seep_style_off(style), which);
        seep_put_escaped(out, why ? why : "out of memory");
    }
    if (nr > 1)
        fprintf(out, " (and %zu more process%s)", nr - 1, nr == 2 ? "" : "es");
    if (nr)
        fputc('\n', out);
    seep_arena_deinit(&arena);
}

// What is the same of both is said once.
static struct seep_error *put_without_symbols(FILE *out, const struct seep_diff *diff) {
    char *texts[2] = {NULL, NULL};
    size_t nr_bytes;
    for (int i = 0; i < 2; i++) {
        FILE *text = open_memstream(&texts[i], &nr_bytes);
        if (text)
            seep_text_without_symbols(text, i ? diff->after : diff->before, "both: ");
        if (!text || fclose(text) || !texts[i]) {
            free(texts[0]);
            free(texts[1]);
            return seep_error_no_memory();
        }
    }
    if (strcmp(texts[0], texts[1]) == 0) {
        fputs(texts[0], out);
    } else {
        seep_text_without_symbols(out, diff->before, "old: ");
        seep_text_without_symbols(out, diff->after, "new: ");
    }
    free(texts[0]);
    free(texts[1]);
    return NULL;
}

static bool lacks_file(const struct seep_view *view) {
    for (size_t i = 0; i < view->nr_without_symbols; i++)
        if (view->without_symbols[i].lacks_file)
            return true;
    return false;
}

static struct seep_error *put_notes(FILE *out, const struct seep_diff *diff,
                                    const struct seep_diff_names *names, const struct seep_style *style) {
    const char *warn = seep_style_warn(style), *off = seep_style_off(style);
    put_incomplete(out, diff->before, "old", style);
    put_incomplete(out, diff->after, "new", style);
    struct seep_error *error = put_without_symbols(out, diff);
    if (lacks_file(diff->before) || lacks_file(diff->after))
        fputs("  without names only the same build can match: keep the file that ran, in a folder DIR, and "
              "add --sysroot DIR\n",
              out);
    if (diff->scanned_before != diff->scanned_after)
        fprintf(out, "Only the %s one was scanned for leaks: what is lost cannot be compared.\n",
                diff->scanned_after ? "new" : "old");
    if (diff->other_program)
        fprintf(out, "%sdifferent programs%s: only what runs the same functions can match\n", warn, off);
    if (diff->other_sampling)
        fprintf(out, "%sdifferent sampling%s: a site with few samples may seem to grow or shrink\n", warn,
                off);
    else if (diff->after->sampled)
        fputs("Both are sampled: a change smaller than the error of its samples is chance.\n", out);
    if (strcmp(names->before, names->after) == 0)
        fputs("Both are the same: nothing can differ.\n", out);
    return error;
}

#define SHARE_MOST_TIMES 10 // "393 times" is easier to read than +39202.9%

static void put_total(FILE *out, const char *what, uint64_t before, uint64_t after, int64_t change) {
    char share[48] = "";
    double times = before ? (double)after / (double)before : 0;
    if (times >= SHARE_MOST_TIMES)
        snprintf(share, sizeof(share), "%s times", seep_format_times(times).text);
    else if (change && before)
        snprintf(share, sizeof(share), "%+.1f%%", (double)change / (double)before * 100);
    fprintf(out, "  %-15s %15s  %16s  %16s%s%s\n", what, seep_format_count(before).text,
            seep_format_count(after).text, signed_text(change).text, *share ? "  " : "", share);
}

static void put_lost_total(FILE *out, const char *what, int64_t before, int64_t after) {
    if (before || after)
        put_total(out, what, (uint64_t)before, (uint64_t)after, after - before);
}

// The peak of a mark or a snapshot is not known.
static bool has_peak(const struct seep_view *view) {
    return !view->filtered && (view->totals.peak_exact || view->totals.peak_error_bytes);
}

static void put_totals(FILE *out, const struct seep_diff *diff, const struct seep_style *style) {
    const struct seep_view_row *a = &diff->before->all, *b = &diff->after->all;
    fprintf(out, "\n%s%-17s %15s  %16s  %16s%s\n", seep_style_bold(style),
            diff->after->filtered ? "what matches" : "totals", "old", "new", "change", seep_style_off(style));
    put_total(out, "live bytes", (uint64_t)SEEP_MAX(a->live_bytes, 0), (uint64_t)SEEP_MAX(b->live_bytes, 0),
              diff->all.live_bytes);
    put_total(out, "live blocks", (uint64_t)SEEP_MAX(a->live_blocks, 0),
              (uint64_t)SEEP_MAX(b->live_blocks, 0), diff->all.live_blocks);
    put_total(out, "allocations", a->counters.allocations, b->counters.allocations, diff->all.allocations);
    put_total(out, "allocated bytes", a->counters.allocated_bytes, b->counters.allocated_bytes,
              diff->all.allocated_bytes);
    put_total(out, "temporary", a->counters.temporary, b->counters.temporary, diff->all.temporary);
    if (has_peak(diff->before) && has_peak(diff->after))
        put_total(out, "peak bytes", diff->before->totals.peak_bytes, diff->after->totals.peak_bytes,
                  (int64_t)(diff->after->totals.peak_bytes - diff->before->totals.peak_bytes));
    if (!diff->scanned_before || !diff->scanned_after)
        return;
    struct seep_diff_lost was = seep_diff_lost_of(a), is = seep_diff_lost_of(b);
    put_total(out, "lost bytes", (uint64_t)was.bytes, (uint64_t)is.bytes, is.bytes - was.bytes);
    put_total(out, "lost blocks", (uint64_t)was.blocks, (uint64_t)is.blocks, is.blocks - was.blocks);
    put_lost_total(out, "possibly lost", was.possible_bytes, is.possible_bytes);
    put_lost_total(out, "  in blocks", was.possible_blocks, is.possible_blocks);
}

static bool are_totals_same(const struct seep_diff *diff) {
    return !diff->all.allocations && !diff->all.allocated_bytes && !diff->all.temporary &&
           diff->before->totals.peak_bytes == diff->after->totals.peak_bytes;
}

// Only what there is: "3 grew, 30 as before".
static void put_heading(FILE *out, const struct seep_diff *diff, int sort, size_t nr_shown,
                        const struct seep_style *style) {
    static const char *const orders[SEEP_SORT_NR] = {[SEEP_SORT_ALLOCATIONS] = "most allocations more first",
                                                     [SEEP_SORT_BYTES] = "most allocated bytes more first",
                                                     [SEEP_SORT_TEMPORARY] =
                                                         "most temporary ones more first"};
    static const struct {
        enum seep_diff_change change;
        const char *words;
    } parts[] = {{SEEP_DIFF_WORSE, "now lost"}, {SEEP_DIFF_GREW, "grew"}, {SEEP_DIFF_NEW, "new"},
                 {SEEP_DIFF_SHRANK, "shrank"},  {SEEP_DIFF_GONE, "gone"}, {SEEP_DIFF_BETTER, "less lost"},
                 {SEEP_DIFF_SAME, "as before"}};
    const char *by = seep_view_by_name(diff->after->options.by), *between = "";
    const char *order = sort >= 0 && sort < SEEP_SORT_NR && orders[sort] ? orders[sort] : "most growth first";
    fprintf(out, "\n%s%ss: ", seep_style_bold(style), strcmp(by, "process") == 0 ? "processe" : by);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(parts); i++) {
        size_t nr = diff->nr_changes[parts[i].change];
        if (nr)
            fprintf(out, "%s%s %s", between, seep_format_count(nr).text, parts[i].words);
        between = nr ? ", " : between;
    }
    fprintf(out, "%s%s%s%s\n", *between ? "" : "none", seep_style_off(style), nr_shown > 1 ? "; " : "",
            nr_shown > 1 ? order : "");
}

static void put_lost(FILE *out, const char *what, int64_t bytes, int64_t blocks) {
    if (bytes || blocks)
        fprintf(out, "    %s %s: %s byte%s in %s block%s\n",
                (bytes ? bytes : blocks) > 0 ? "now" : "no longer", what,
                seep_format_count(seep_magnitude(bytes)).text, seep_plural(seep_magnitude(bytes)),
                seep_format_count(seep_magnitude(blocks)).text, seep_plural(seep_magnitude(blocks)));
}

static struct seep_error *put_row(FILE *out, const struct seep_diff *diff, const struct seep_diff_row *row,
                                  size_t rank, const struct seep_style *style) {
    const struct seep_view_row *shown = row->after ? row->after : row->before;
    fprintf(out, "\n%s#%-3zu %s byte%s live in %s block%s", seep_style_bold(style), rank,
            signed_text(row->live_bytes).text, seep_plural(seep_magnitude(row->live_bytes)),
            signed_text(row->live_blocks).text, seep_plural(seep_magnitude(row->live_blocks)));
    fprintf(out, "%s  ", seep_style_off(style));
    if (row->change == SEEP_DIFF_NEW)
        fputs("new", out);
    else if (row->change == SEEP_DIFF_GONE)
        fprintf(out, "gone: was %s", seep_format_count((uint64_t)SEEP_MAX(row->before->live_bytes, 0)).text);
    else
        fprintf(out, "%s -> %s", seep_format_signed(row->before ? row->before->live_bytes : 0).text,
                seep_format_signed(row->after ? row->after->live_bytes : 0).text);
    if (row->moved)
        fputs("  (lines moved)", out);
    fputc('\n', out);
    if (diff->after->options.by != SEEP_BY_SITE) {
        fputs("     ", out);
        seep_put_escaped(out, shown->key);
        fputc('\n', out);
    }
    put_lost(out, "lost", row->lost.bytes, row->lost.blocks);
    put_lost(out, "possibly lost", row->lost.possible_bytes, row->lost.possible_blocks);
    fprintf(out, "    %s%s%s allocation%s, %s byte%s allocated, %s freed, %s temporary\n",
            diff->after->options.by == SEEP_BY_SITE ? seep_via_name(shown->via) : "",
            diff->after->options.by == SEEP_BY_SITE ? ": " : " ", signed_text(row->allocations).text,
            seep_plural(seep_magnitude(row->allocations)), signed_text(row->allocated_bytes).text,
            seep_plural(seep_magnitude(row->allocated_bytes)), signed_text(row->frees).text,
            signed_text(row->temporary).text);
    if (diff->after->options.by != SEEP_BY_SITE)
        return NULL;
    return seep_text_stack(out, row->after ? diff->after : diff->before, shown, style);
}

// Behind the name of its kind.
#define FINDING_COLUMN 9u

static struct seep_error *put_findings(FILE *out, const struct seep_diff *diff, int sort,
                                       const struct seep_style *style) {
    struct seep_diff_findings findings;
    struct seep_error *error = seep_diff_findings_make(diff, sort, &findings);
    for (size_t i = 0; !error && i < findings.nr; i++) {
        const struct seep_diff_finding *finding = &findings.items[i];
        fprintf(out, "%s%s%-8s%s ", i ? "" : "\n",
                finding->bad ? seep_style_warn(style) : seep_style_bold(style),
                finding->kind == SEEP_DIFF_LOST ? "leaks" : "changed", seep_style_off(style));
        seep_put_wrapped(out, style, FINDING_COLUMN, finding->text);
        fputc('\n', out);
    }
    return error;
}

static struct seep_error *put_all(FILE *out, const struct seep_diff *diff,
                                  const struct seep_diff_names *names,
                                  const struct seep_view_options *options, const struct seep_style *style) {
    put_side(out, "old", names->before, diff->before, style);
    put_side(out, "new", names->after, diff->after, style);
    struct seep_error *error = put_notes(out, diff, names, style);
    if (error)
        return error;
    size_t nr_shown = 0, nr_all = 0;
    for (size_t i = 0; i < diff->nr_rows_all; i++)
        nr_all += is_shown(&diff->rows[i], options->sort);
    error = put_findings(out, diff, options->sort, style);
    if (error)
        return error;
    put_totals(out, diff, style);
    put_heading(out, diff, options->sort, nr_all, style);
    for (size_t i = 0; i < diff->nr_rows; i++) {
        if (!is_shown(&diff->rows[i], options->sort))
            continue;
        error = put_row(out, diff, &diff->rows[i], ++nr_shown, style);
        if (error)
            return error;
    }
    if (nr_all > nr_shown)
        fprintf(out, "\n%s more changed: --top 0 shows all\n", seep_format_count(nr_all - nr_shown).text);
    else if (!nr_all)
        fprintf(out, "\nNothing changed%s.\n", are_totals_same(diff) ? "" : " in what is held");
    return NULL;
}

static struct seep_error *put_text(FILE *out, const struct seep_diff *diff,
                                   const struct seep_diff_names *names,
                                   const struct seep_view_options *options) {
    struct seep_style style = seep_style_of(out);
    struct seep_wrap wrap;
    struct seep_error *error = put_all(seep_wrap_begin(&wrap, out, &style), diff, names, options, &style);
    return seep_wrap_end(&wrap, error);
}

// ---- stacks ----

// The stack of each row in one table.
struct row_stacks {
    struct seep_stack_table table;
    uint32_t *nodes; // by row
};

static void row_stacks_deinit(struct row_stacks *stacks) {
    free(stacks->nodes);
    seep_stack_table_deinit(&stacks->table);
}

static struct seep_error *add_rows(struct row_stacks *stacks, const struct seep_diff *diff, bool of_after) {
    struct seep_stack_filler filler;
    struct seep_error *error =
        seep_stack_filler_init(&filler, &stacks->table, of_after ? diff->after : diff->before);
    if (error)
        return error;
    for (size_t i = 0; !error && i < diff->nr_rows; i++) {
        const struct seep_diff_row *row = &diff->rows[i];
        if ((row->after != NULL) == of_after)
            error = seep_stack_filler_add(&filler, of_after ? row->after : row->before, &stacks->nodes[i]);
    }
    seep_stack_filler_deinit(&filler);
    return error;
}

// Empty tables where rows are not sites.
static struct seep_error *row_stacks_init(struct row_stacks *stacks, const struct seep_diff *diff) {
    *stacks = (struct row_stacks){.nodes = calloc(diff->nr_rows + 1, sizeof(*stacks->nodes))};
    if (!stacks->nodes)
        return seep_error_no_memory();
    if (diff->after->options.by != SEEP_BY_SITE)
        return NULL;
    struct seep_error *error = add_rows(stacks, diff, true);
    if (!error)
        error = add_rows(stacks, diff, false);
    return error;
}

// ---- JSON ----

static void put_integer(FILE *out, const char *key, int64_t value) {
    fputs(key, out);
    seep_put_signed(out, value);
}

static void put_count(FILE *out, const char *key, uint64_t value) {
    put_integer(out, key, (int64_t)SEEP_MIN(value, (uint64_t)INT64_MAX));
}

static void put_lost_figures(FILE *out, const struct seep_diff_lost *lost, bool known) {
    if (!known) {
        fputs(",\"lost_bytes\":null,\"lost_blocks\":null,\"possibly_lost_bytes\":null,"
              "\"possibly_lost_blocks\":null",
              out);
        return;
    }
    put_integer(out, ",\"lost_bytes\":", lost->bytes);
    put_integer(out, ",\"lost_blocks\":", lost->blocks);
    put_integer(out, ",\"possibly_lost_bytes\":", lost->possible_bytes);
    put_integer(out, ",\"possibly_lost_blocks\":", lost->possible_blocks);
}

static void put_row_figures(FILE *out, const char *key, const struct seep_view_row *row, bool scanned) {
    fputs(key, out);
    if (!row) {
        fputs("null", out);
        return;
    }
    put_integer(out, "{\"live_bytes\":", row->live_bytes);
    put_integer(out, ",\"live_blocks\":", row->live_blocks);
    put_count(out, ",\"allocations\":", row->counters.allocations);
    put_count(out, ",\"allocated_bytes\":", row->counters.allocated_bytes);
    put_count(out, ",\"frees\":", row->counters.frees);
    put_count(out, ",\"temporary\":", row->counters.temporary);
    struct seep_diff_lost lost = seep_diff_lost_of(row);
    put_lost_figures(out, &lost, scanned);
    fputc('}', out);
}

// Members of an object that is open.
static void put_changes(FILE *out, const struct seep_diff *diff, const struct seep_diff_row *row) {
    put_integer(out, "\"live_bytes\":", row->live_bytes);
    put_integer(out, ",\"live_blocks\":", row->live_blocks);
    put_integer(out, ",\"allocations\":", row->allocations);
    put_integer(out, ",\"allocated_bytes\":", row->allocated_bytes);
    put_integer(out, ",\"frees\":", row->frees);
    put_integer(out, ",\"temporary\":", row->temporary);
    put_lost_figures(out, &row->lost, diff->scanned_before && diff->scanned_after);
    put_row_figures(out, ",\"old\":", row->before, diff->scanned_before);
    put_row_figures(out, ",\"new\":", row->after, diff->scanned_after);
}

static json_t *side_json(const char *name, const struct seep_view *view) {
    const struct seep_process *process = &seep_text_profile(view, 0)->process;
    json_t *object = json_object();
    set(&object, "source", string(name));
    set(&object, "pid", integer(process->pid));
    set(&object, "exe", string(process->exe));
    set(&object, "processes", integer(view->nr_processes));
    set(&object, "duration_s", json_real((double)process->duration_ns / 1e9));
    set(&object, "complete",
        json_boolean(seep_profiles_verdict(view->session->profiles + view->first_process,
                                           view->nr_processes) == SEEP_VERDICT_COMPLETE));
    set(&object, "sampled", json_boolean(view->sampled));
    set(&object, "peak_bytes", has_peak(view) ? integer(view->totals.peak_bytes) : json_null());
    json_t *modules = json_array();
    for (size_t i = 0; i < view->nr_without_symbols; i++) {
        json_t *module = json_object();
        set(&module, "module", string(view->without_symbols[i].module));
        set(&module, "why", string(view->without_symbols[i].why));
        append(&modules, module);
    }
    set(&object, "without_symbols", modules);
    return object;
}

static struct seep_error *put_json_row(FILE *out, const struct seep_diff *diff,
                                       const struct seep_diff_row *row, uint32_t node) {
    const struct seep_view_row *shown = row->after ? row->after : row->before;
    struct seep_error *error = NULL;
    fprintf(out, "{\"change\":\"%s\",\"moved\":%s,", seep_diff_change_name(row->change),
            row->moved ? "true" : "false");
    put_changes(out, diff, row);
    if (diff->after->options.by != SEEP_BY_SITE) {
        fputs(",\"key\":", out);
        error = seep_json_dump(out, string(shown->key));
    } else {
        fprintf(out, ",\"via\":\"%s\",\"stack\":", seep_via_name(shown->via));
        if (node == SEEP_NO_STACK)
            fputs("null", out);
        else
            seep_put_number(out, node);
    }
    fputc('}', out);
    return error;
}

static json_t *findings_json(const struct seep_diff_findings *findings) {
    json_t *array = json_array();
    for (size_t i = 0; i < findings->nr; i++) {
        const struct seep_diff_finding *finding = &findings->items[i];
        json_t *object = json_object();
        set(&object, "kind", json_string(seep_diff_finding_name(finding->kind)));
        set(&object, "bad", json_boolean(finding->bad));
        set(&object, "text", string(finding->text));
        set(&object, "value", json_integer(finding->value));
        set(&object, "place", finding->place ? string(finding->place) : json_null());
        set(&object, "place_value", json_integer(finding->place_value));
        append(&array, object);
    }
    return array;
}

static struct seep_error *put_sides(FILE *out, const struct seep_diff *diff,
                                    const struct seep_diff_names *names) {
    fputs("\"old\": ", out);
    struct seep_error *error = seep_json_dump(out, side_json(names->before, diff->before));
    fputs(",\n\"new\": ", out);
    if (!error)
        error = seep_json_dump(out, side_json(names->after, diff->after));
    fprintf(out, ",\n\"same_program\": %s, \"same_sampling\": %s,\n\"changes\": {",
            diff->other_program ? "false" : "true", diff->other_sampling ? "false" : "true");
    for (uint32_t i = 0; i < SEEP_DIFF_NR; i++)
        fprintf(out, "%s\"%s\":%zu", i ? "," : "", seep_diff_change_name(i), diff->nr_changes[i]);
    fputs("},\n\"totals\": {", out);
    put_changes(out, diff, &diff->all);
    fputs("},\n", out);
    return error;
}

static struct seep_error *put_json(FILE *out, const struct seep_diff *diff,
                                   const struct seep_diff_names *names, int sort) {
    struct row_stacks stacks;
    struct seep_diff_findings findings = {.nr = 0};
    struct seep_error *error = row_stacks_init(&stacks, diff);
    if (!error)
        error = seep_diff_findings_make(diff, sort, &findings);
    fprintf(out, "{\"seep\": {\"version\": \"%s\", \"schema\": 2},\n", SEEP_VERSION);
    if (!error)
        error = put_sides(out, diff, names);
    fputs("\"findings\": ", out);
    if (!error)
        error = seep_json_dump(out, findings_json(&findings));
    fputs(",\n", out);
    if (!error)
        seep_json_put_tables(out, &stacks.table);
    fprintf(out, "\"by\": \"%s\", \"rows_left_out\": %zu,\n\"rows\": [",
            seep_view_by_name(diff->after->options.by), diff->nr_rows_all - diff->nr_rows);
    for (size_t i = 0; !error && i < diff->nr_rows; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        error = put_json_row(out, diff, &diff->rows[i], stacks.nodes[i]);
    }
    fputs("\n]}\n", out);
    row_stacks_deinit(&stacks);
    return error;
}

// ---- CSV ----

// Empty where it is not known.
static void put_csv_lost(FILE *out, const struct seep_diff_lost *lost, bool known) {
    if (!known) {
        fputs(",,,,", out);
        return;
    }
    put_integer(out, ",", lost->bytes);
    put_integer(out, ",", lost->blocks);
    put_integer(out, ",", lost->possible_bytes);
    put_integer(out, ",", lost->possible_blocks);
}

static struct seep_error *put_csv(FILE *out, const struct seep_diff *diff) {
    bool by_site = diff->after->options.by == SEEP_BY_SITE;
    struct row_stacks stacks;
    struct seep_csv_places places = SEEP_CSV_PLACES_INIT;
    struct seep_error *error = row_stacks_init(&stacks, diff);
    if (!error)
        error = seep_csv_places_make(&places, &stacks.table);
    fprintf(out,
            "%schange,live_bytes,live_blocks,allocations,allocated_bytes,frees,temporary,old_live_bytes,"
            "new_live_bytes,lost_bytes,lost_blocks,possibly_lost_bytes,possibly_lost_blocks,%s\n",
            by_site ? "row," : "",
            by_site ? "via," SEEP_CSV_STACK : seep_view_by_name(diff->after->options.by));
    for (size_t i = 0; !error && i < diff->nr_rows; i++) {
        const struct seep_diff_row *row = &diff->rows[i];
        const struct seep_view_row *shown = row->after ? row->after : row->before;
        fprintf(out, "%s%s", by_site ? "site," : "", seep_diff_change_name(row->change));
        put_integer(out, ",", row->live_bytes);
        put_integer(out, ",", row->live_blocks);
        put_integer(out, ",", row->allocations);
        put_integer(out, ",", row->allocated_bytes);
        put_integer(out, ",", row->frees);
        put_integer(out, ",", row->temporary);
        put_integer(out, ",", row->before ? row->before->live_bytes : 0);
        put_integer(out, ",", row->after ? row->after->live_bytes : 0);
        put_csv_lost(out, &row->lost, diff->scanned_before && diff->scanned_after);
        fputc(',', out);
        if (by_site) {
            fprintf(out, "%s,", seep_via_name(shown->via));
            seep_csv_put_stack(out, &places, stacks.nodes[i]);
        } else {
            error = seep_csv_put_field(out, shown->key);
            fputc('\n', out);
        }
    }
    if (!error && by_site)
        seep_csv_put_stacks(out, "stack,,,,,,,,,,,,,,,", &places);
    seep_csv_places_deinit(&places);
    row_stacks_deinit(&stacks);
    return error;
}

struct seep_error *seep_diff_write(FILE *out, const struct seep_diff *diff,
                                   const struct seep_diff_names *names,
                                   const struct seep_view_options *options) {
    return options->json  ? put_json(out, diff, names, options->sort)
           : options->csv ? put_csv(out, diff)
                          : put_text(out, diff, names, options);
}
