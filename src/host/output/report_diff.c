// SPDX-License-Identifier: BSD-2-Clause
//
// The report of a diff: what the two are and how far they can be compared, the totals side by side, then
// what changed, most growth first. Numbers with a sign are changes.
#include "base/words.h"
#include "output/report_diff.h"

#include <inttypes.h>

#include "base/version.h"
#include "output/json_build.h"
#include "output/report_text.h"

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

static uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static bool is_shown(const struct seep_diff_row *row, int sort) {
    if (row->change != SEEP_DIFF_SAME)
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

static uint64_t lost_in(const struct seep_view *view) {
    uint64_t sum = 0;
    for (size_t p = 0; p < view->nr_processes; p++)
        for (size_t i = 0; i < SEEP_LOST_NR; i++)
            sum += seep_text_profile(view, p)->health.lost[i];
    return sum;
}

static bool is_incomplete(const struct seep_view *view) {
    const struct seep_note *note;
    bool incomplete = false;
    for (size_t p = 0; p < view->nr_processes; p++)
        incomplete |= seep_profile_verdict(seep_text_profile(view, p), &note) != SEEP_VERDICT_COMPLETE;
    return incomplete;
}

static void put_notes(FILE *out, const struct seep_diff *diff, const struct seep_diff_names *names,
                      const struct seep_style *style) {
    const char *warn = seep_style_warn(style), *off = seep_style_off(style);
    if (is_incomplete(diff->before))
        fprintf(out, "%sincomplete%s: the old one (%s lost): see 'seep report'\n", warn, off,
                seep_format_count(lost_in(diff->before)).text);
    if (is_incomplete(diff->after))
        fprintf(out, "%sincomplete%s: the new one (%s lost): see 'seep report'\n", warn, off,
                seep_format_count(lost_in(diff->after)).text);
    if (diff->other_program)
        fprintf(out, "%sdifferent programs%s: only what runs the same functions can match\n", warn, off);
    if (diff->other_sampling)
        fprintf(out, "%sdifferent sampling%s: a site with few samples may seem to grow or shrink\n", warn,
                off);
    else if (diff->after->sampled)
        fputs("Both are sampled: a change smaller than the error of its samples is chance.\n", out);
    if (strcmp(names->before, names->after) == 0)
        fputs("Both are the same: nothing can differ.\n", out);
}

static void put_total(FILE *out, const char *what, uint64_t before, uint64_t after, int64_t change) {
    char share[24] = "";
    if (change && before)
        snprintf(share, sizeof(share), "%+.1f%%", (double)change / (double)before * 100);
    fprintf(out, "  %-15s %17s  %17s  %17s%s%s\n", what, seep_format_count(before).text,
            seep_format_count(after).text, signed_text(change).text, *share ? "  " : "", share);
}

static void put_totals(FILE *out, const struct seep_diff *diff, const struct seep_style *style) {
    const struct seep_view_row *a = &diff->before->all, *b = &diff->after->all;
    fprintf(out, "\n%s%-17s %17s  %17s  %17s%s\n", seep_style_bold(style),
            diff->after->filtered ? "what matches" : "totals", "old", "new", "change", seep_style_off(style));
    put_total(out, "live bytes", (uint64_t)SEEP_MAX(a->live_bytes, 0), (uint64_t)SEEP_MAX(b->live_bytes, 0),
              diff->all.live_bytes);
    put_total(out, "live blocks", (uint64_t)SEEP_MAX(a->live_blocks, 0),
              (uint64_t)SEEP_MAX(b->live_blocks, 0), diff->all.live_blocks);
    put_total(out, "allocations", a->counters.allocations, b->counters.allocations, diff->all.allocations);
    put_total(out, "allocated bytes", a->counters.allocated_bytes, b->counters.allocated_bytes,
              diff->all.allocated_bytes);
    put_total(out, "temporary", a->counters.temporary, b->counters.temporary, diff->all.temporary);
}

static void put_heading(FILE *out, const struct seep_diff *diff, int sort, const struct seep_style *style) {
    static const char *const orders[SEEP_SORT_NR] = {[SEEP_SORT_ALLOCATIONS] = "most allocations more first",
                                                     [SEEP_SORT_BYTES] = "most allocated bytes more first",
                                                     [SEEP_SORT_TEMPORARY] =
                                                         "most temporary ones more first"};
    const size_t *nr = diff->nr_changes;
    const char *by = seep_view_by_name(diff->after->options.by);
    const char *order = sort >= 0 && sort < SEEP_SORT_NR && orders[sort] ? orders[sort] : "most growth first";
    fprintf(out, "\n%s%ss: %s grew, %s new, %s shrank, %s gone, %s as before%s; %s\n", seep_style_bold(style),
            strcmp(by, "process") == 0 ? "processe" : by, seep_format_count(nr[SEEP_DIFF_GREW]).text,
            seep_format_count(nr[SEEP_DIFF_NEW]).text, seep_format_count(nr[SEEP_DIFF_SHRANK]).text,
            seep_format_count(nr[SEEP_DIFF_GONE]).text, seep_format_count(nr[SEEP_DIFF_SAME]).text,
            seep_style_off(style), order);
}

static struct seep_error *put_row(FILE *out, const struct seep_diff *diff, const struct seep_diff_row *row,
                                  size_t rank, const struct seep_style *style) {
    const struct seep_view_row *shown = row->after ? row->after : row->before;
    fprintf(out, "\n%s#%-3zu %s byte%s live in %s block%s", seep_style_bold(style), rank,
            signed_text(row->live_bytes).text, seep_plural(magnitude(row->live_bytes)),
            signed_text(row->live_blocks).text, seep_plural(magnitude(row->live_blocks)));
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
    fprintf(out, "    %s%s%s allocation%s, %s byte%s allocated, %s freed, %s temporary\n",
            diff->after->options.by == SEEP_BY_SITE ? seep_via_name(shown->via) : "",
            diff->after->options.by == SEEP_BY_SITE ? ": " : " ", signed_text(row->allocations).text,
            seep_plural(magnitude(row->allocations)), signed_text(row->allocated_bytes).text,
            seep_plural(magnitude(row->allocated_bytes)), signed_text(row->frees).text,
            signed_text(row->temporary).text);
    if (diff->after->options.by != SEEP_BY_SITE)
        return NULL;
    return seep_text_stack(out, row->after ? diff->after : diff->before, shown, style);
}

static struct seep_error *put_text(FILE *out, const struct seep_diff *diff,
                                   const struct seep_diff_names *names,
                                   const struct seep_view_options *options) {
    struct seep_style style = seep_style_of(out);
    put_side(out, "old", names->before, diff->before, &style);
    put_side(out, "new", names->after, diff->after, &style);
    put_notes(out, diff, names, &style);
    put_totals(out, diff, &style);
    put_heading(out, diff, options->sort, &style);
    size_t nr_shown = 0;
    for (size_t i = 0; i < diff->nr_rows; i++) {
        if (!is_shown(&diff->rows[i], options->sort))
            continue;
        struct seep_error *error = put_row(out, diff, &diff->rows[i], ++nr_shown, &style);
        if (error)
            return error;
    }
    size_t nr_all = 0;
    for (size_t i = 0; i < diff->nr_rows_all; i++)
        nr_all += is_shown(&diff->rows[i], options->sort);
    if (nr_all > nr_shown)
        fprintf(out, "\n%s more changed: --top 0 shows all\n", seep_format_count(nr_all - nr_shown).text);
    else if (!nr_all)
        fputs("\nNothing changed.\n", out);
    return NULL;
}

// ---- JSON ----

static json_t *row_figures(const struct seep_view_row *row) {
    if (!row)
        return json_null();
    json_t *object = json_object();
    set(&object, "live_bytes", json_integer(row->live_bytes));
    set(&object, "live_blocks", json_integer(row->live_blocks));
    set(&object, "allocations", integer(row->counters.allocations));
    set(&object, "allocated_bytes", integer(row->counters.allocated_bytes));
    set(&object, "frees", integer(row->counters.frees));
    set(&object, "temporary", integer(row->counters.temporary));
    return object;
}

static json_t *changes(const struct seep_diff_row *row) {
    json_t *object = json_object();
    set(&object, "live_bytes", json_integer(row->live_bytes));
    set(&object, "live_blocks", json_integer(row->live_blocks));
    set(&object, "allocations", json_integer(row->allocations));
    set(&object, "allocated_bytes", json_integer(row->allocated_bytes));
    set(&object, "frees", json_integer(row->frees));
    set(&object, "temporary", json_integer(row->temporary));
    set(&object, "old", row_figures(row->before));
    set(&object, "new", row_figures(row->after));
    return object;
}

static json_t *side_json(const char *name, const struct seep_view *view) {
    const struct seep_process *process = &seep_text_profile(view, 0)->process;
    json_t *object = json_object();
    set(&object, "source", string(name));
    set(&object, "pid", integer(process->pid));
    set(&object, "exe", string(process->exe));
    set(&object, "processes", integer(view->nr_processes));
    set(&object, "duration_s", json_real((double)process->duration_ns / 1e9));
    set(&object, "complete", json_boolean(!is_incomplete(view)));
    set(&object, "sampled", json_boolean(view->sampled));
    return object;
}

static json_t *stack_json(const struct seep_view_frame *frames, size_t nr) {
    json_t *stack = json_array();
    for (size_t i = 0; i < nr; i++) {
        json_t *frame = json_object();
        set(&frame, "function", string(frames[i].function));
        set(&frame, "file", string(frames[i].file));
        set(&frame, "line", frames[i].line ? json_integer(frames[i].line) : json_null());
        set(&frame, "module", string(frames[i].module));
        set(&frame, "offset", integer(frames[i].offset));
        set(&frame, "inlined", json_boolean(frames[i].inlined));
        append(&stack, frame);
    }
    return stack;
}

static struct seep_error *dump(FILE *out, json_t *value) {
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    if (!text)
        return seep_error_no_memory();
    fputs(text, out);
    free(text);
    return NULL;
}

static struct seep_error *put_json_row(FILE *out, const struct seep_diff *diff,
                                       const struct seep_diff_row *row) {
    const struct seep_view_row *shown = row->after ? row->after : row->before;
    json_t *object = json_object();
    set(&object, "change", json_string(seep_diff_change_name(row->change)));
    set(&object, "moved", json_boolean(row->moved));
    json_t *figures = changes(row);
    if (!object || !figures || json_object_update(object, figures) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(figures);
    if (diff->after->options.by != SEEP_BY_SITE) {
        set(&object, "key", string(shown->key));
        return dump(out, object);
    }
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    struct seep_error *error =
        seep_view_frames(row->after ? diff->after : diff->before, shown, &frames, &nr, &more);
    if (error) {
        json_decref(object);
        return error;
    }
    set(&object, "via", json_string(seep_via_name(shown->via)));
    set(&object, "stack", stack_json(frames, nr));
    return dump(out, object);
}

static struct seep_error *put_json(FILE *out, const struct seep_diff *diff,
                                   const struct seep_diff_names *names) {
    fprintf(out, "{\"seep\": {\"version\": \"%s\", \"schema\": 1},\n \"old\": ", SEEP_VERSION);
    struct seep_error *error = dump(out, side_json(names->before, diff->before));
    if (!error) {
        fputs(",\n \"new\": ", out);
        error = dump(out, side_json(names->after, diff->after));
    }
    json_t *counts = json_object();
    for (uint32_t i = 0; i < SEEP_DIFF_NR; i++)
        set(&counts, seep_diff_change_name(i), integer(diff->nr_changes[i]));
    if (error) {
        json_decref(counts);
        return error;
    }
    fprintf(out, ",\n \"same_program\": %s, \"same_sampling\": %s,\n \"changes\": ",
            diff->other_program ? "false" : "true", diff->other_sampling ? "false" : "true");
    error = dump(out, counts);
    if (!error) {
        fputs(",\n \"totals\": ", out);
        error = dump(out, changes(&diff->all));
    }
    fprintf(out, ",\n \"by\": \"%s\", \"rows_left_out\": %zu,\n \"rows\": [",
            seep_view_by_name(diff->after->options.by), diff->nr_rows_all - diff->nr_rows);
    for (size_t i = 0; !error && i < diff->nr_rows; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        error = put_json_row(out, diff, &diff->rows[i]);
    }
    fputs("\n ]}\n", out);
    return error;
}

// ---- CSV ----

static struct seep_error *put_field(FILE *out, const char *text) {
    char *safe = seep_escape(text ? text : "");
    if (!safe)
        return seep_error_no_memory();
    fputc('"', out);
    for (const char *at = safe; *at; at++) {
        if (*at == '"')
            fputc('"', out);
        fputc(*at, out);
    }
    fputc('"', out);
    free(safe);
    return NULL;
}

// The stack in one field, innermost first, as `seep report --csv` has it.
static struct seep_error *put_csv_stack(FILE *out, const struct seep_diff *diff,
                                        const struct seep_diff_row *row) {
    const struct seep_view_row *shown = row->after ? row->after : row->before;
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    struct seep_error *error =
        seep_view_frames(row->after ? diff->after : diff->before, shown, &frames, &nr, &more);
    if (error)
        return error;
    char *text = NULL;
    size_t nr_bytes = 0;
    FILE *whole = open_memstream(&text, &nr_bytes);
    if (!whole)
        return seep_error_no_memory();
    for (size_t i = 0; i < nr; i++) {
        fprintf(whole, "%s%s", i ? " < " : "", frames[i].function ? frames[i].function : frames[i].module);
        if (frames[i].file)
            fprintf(whole, " (%s:%u)", frames[i].file, frames[i].line);
        else if (!frames[i].function)
            fprintf(whole, "+0x%" PRIx64, frames[i].offset);
    }
    error = fclose(whole) ? seep_error_no_memory() : put_field(out, text);
    free(text);
    return error;
}

static struct seep_error *put_csv(FILE *out, const struct seep_diff *diff) {
    bool by_site = diff->after->options.by == SEEP_BY_SITE;
    fprintf(out,
            "change,live_bytes,live_blocks,allocations,allocated_bytes,frees,temporary,old_live_bytes,"
            "new_live_bytes,%s\n",
            by_site ? "via,stack" : seep_view_by_name(diff->after->options.by));
    for (size_t i = 0; i < diff->nr_rows; i++) {
        const struct seep_diff_row *row = &diff->rows[i];
        const struct seep_view_row *shown = row->after ? row->after : row->before;
        fprintf(out,
                "%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                ",%" PRId64 ",",
                seep_diff_change_name(row->change), row->live_bytes, row->live_blocks, row->allocations,
                row->allocated_bytes, row->frees, row->temporary, row->before ? row->before->live_bytes : 0,
                row->after ? row->after->live_bytes : 0);
        struct seep_error *error = NULL;
        if (by_site) {
            fprintf(out, "%s,", seep_via_name(shown->via));
            error = put_csv_stack(out, diff, row);
        } else {
            error = put_field(out, shown->key);
        }
        if (error)
            return error;
        fputc('\n', out);
    }
    return NULL;
}

struct seep_error *seep_diff_write(FILE *out, const struct seep_diff *diff,
                                   const struct seep_diff_names *names,
                                   const struct seep_view_options *options) {
    return options->json  ? put_json(out, diff, names)
           : options->csv ? put_csv(out, diff)
                          : put_text(out, diff, names, options);
}
