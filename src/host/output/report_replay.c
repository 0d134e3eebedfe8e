// SPDX-License-Identifier: BSD-2-Clause
// The results of a replay, see report_replay.h.
#include <inttypes.h>
#include <math.h>

#include "base/words.h"
#include "output/json_build.h"
#include "output/report_replay.h"
#include "output/wrap.h"

static const char *const call_names[SEEP_REPLAY_CALLS_NR] = {"malloc", "calloc", "aligned", "realloc",
                                                             "free"};
static const char *const share_names[] = {"p50_ns", "p99_ns", "p999_ns"};

// ---- text ----

#define NAME_MOST 16u // columns; a longer name has a line of its own

static int name_width(const struct seep_comparison *comparison) {
    size_t width = sizeof("allocator") - 1;
    for (size_t i = 0; i < comparison->nr_rows; i++) {
        size_t of_name = seep_text_width(comparison->rows[i].name);
        width = of_name > NAME_MOST ? width : SEEP_MAX(width, of_name);
    }
    return (int)width;
}

// `column`: where names begin.
static void put_name(FILE *out, const char *name, int column, int width) {
    seep_put_escaped(out, name);
    int left = width - (int)seep_text_width(name);
    if (left < 0)
        fprintf(out, "\n%*s", column + width, "");
    else
        fprintf(out, "%*s", left, "");
}

// Two are alike if the interval lies within this part of 1. A wider one decides nothing.
#define ALIKE_PARTS 0.05

static struct seep_number against(const struct seep_replay_figures *row, bool is_first) {
    struct seep_number number;
    if (row->nr_failed)
        return (struct seep_number){.text = "failed"};
    if (row->is_noise)
        return (struct seep_number){.text = "below noise"};
    if (is_first)
        return (struct seep_number){.text = "1"};
    if (!row->is_known)
        return (struct seep_number){.text = "-"};
    const struct seep_interval *of = &row->against;
    bool alike = of->low <= 1 && of->high >= 1 && of->low >= 1 - ALIKE_PARTS && of->high <= 1 + ALIKE_PARTS;
    if (!row->differs && !alike)
        snprintf(number.text, sizeof(number.text), "not sure (%.3f-%.3f)", row->against.low,
                 row->against.high);
    else if (!row->differs)
        snprintf(number.text, sizeof(number.text), "no difference (%.3f-%.3f)", row->against.low,
                 row->against.high);
    else
        snprintf(number.text, sizeof(number.text), "%.3f (%.3f-%.3f)", row->against.middle, row->against.low,
                 row->against.high);
    return number;
}

static struct seep_number ratio(double value) {
    struct seep_number number;
    snprintf(number.text, sizeof(number.text), isnan(value) ? "-" : "%.2f", value);
    return number;
}

static struct seep_number nanoseconds(double value) {
    if (!isnan(value))
        return seep_format_count((uint64_t)(value + 0.5));
    return (struct seep_number){.text = "-"};
}

// Which columns: on a terminal where not all have room, memory has a table of its own.
enum { COLUMNS_TIME = 1, COLUMNS_MEMORY = 2, COLUMNS_ALL = 3 };

static void put_row(FILE *out, const struct seep_replay_figures *row, const struct seep_plan *plan,
                    bool is_first, unsigned columns) {
    if (columns & COLUMNS_TIME) {
        fprintf(out, "  %10s", row->is_noise ? "-" : seep_format_duration((int64_t)row->wall_ns).text);
        if (plan && row->is_noise)
            fprintf(out, "  %6s", "-");
        else if (plan)
            fprintf(out, "  %6.1f", row->wall_ns / (double)plan->nr_calls);
        else
            fprintf(out, "  %10s", seep_format_duration((int64_t)row->cpu_ns).text);
        fprintf(out, columns == COLUMNS_ALL ? "  %-28s" : "  %s", against(row, is_first).text);
    }
    if (columns & COLUMNS_MEMORY) {
        fprintf(out, "  %9s", seep_format_bytes(row->peak_rss_bytes).text);
        if (plan)
            fprintf(out, "  %8s  %8s", ratio(row->rss_over_live).text, ratio(row->mean_rss_over_live).text);
        fprintf(out, "  %11s", seep_format_count((uint64_t)row->faults).text);
    }
    fputc('\n', out);
}

static void put_cost_columns(FILE *out, const struct seep_plan *plan,
                             const struct seep_comparison *comparison, int width, unsigned columns,
                             const struct seep_style *style) {
    fprintf(out, "%s%-*s", seep_style_bold(style), width, "allocator");
    if (columns & COLUMNS_TIME) {
        fprintf(out, "  %10s  %*s", plan && plan->is_cpu_time ? "CPU time" : "time", plan ? 6 : 10,
                plan ? "ns/op" : "CPU time");
        fprintf(out, columns == COLUMNS_ALL ? "  %-28s" : "  %s", "time against the first");
    }
    if (columns & COLUMNS_MEMORY) {
        fprintf(out, "  %9s", "peak RSS");
        if (plan)
            fprintf(out, "  %8s  %8s", "RSS/live", "its mean");
        fprintf(out, "  %11s", "page faults");
    }
    fprintf(out, "%s\n", seep_style_off(style));
    for (size_t i = 0; i < comparison->nr_rows; i++) {
        const struct seep_replay_figures *row = &comparison->rows[i];
        put_name(out, row->name, 0, width);
        put_row(out, row, plan, i == 0, columns);
        if (row->nr_failed && columns & COLUMNS_TIME)
            fprintf(
                out, "%*s  %s of the %s calls returned no memory, so the figures are those of less work\n",
                width, "", seep_format_count(row->nr_failed).text, seep_format_count(plan->nr_calls).text);
    }
}

// `plan` NULL: the program itself was run, and what is live in it is not known.
static void put_costs(FILE *out, const struct seep_plan *plan, const struct seep_comparison *comparison,
                      int width, const struct seep_style *style) {
    unsigned needed = (unsigned)width + (plan ? 94 : 78);
    if (!style->width || style->width >= needed) {
        put_cost_columns(out, plan, comparison, width, COLUMNS_ALL, style);
        return;
    }
    put_cost_columns(out, plan, comparison, width, COLUMNS_TIME, style);
    fputc('\n', out);
    put_cost_columns(out, plan, comparison, width, COLUMNS_MEMORY, style);
}

static bool has_noise(const struct seep_comparison *comparison) {
    for (size_t i = 0; i < comparison->nr_rows; i++)
        if (comparison->rows[i].is_noise)
            return true;
    return false;
}

static bool is_measured(const struct seep_comparison *comparison, size_t call) {
    for (size_t i = 0; i < comparison->nr_rows; i++)
        if (!isnan(comparison->rows[i].latency_ns[call][0]))
            return true;
    return false;
}

static void put_latencies(FILE *out, const struct seep_comparison *comparison, int width) {
    const struct seep_style style = seep_style_of(out);
    fprintf(out, "\n%s%-9s  %-*s  %9s  %9s  %9s%s\n", seep_style_bold(&style), "ns a call", width, "",
            "median", "99 %", "99.9 %", seep_style_off(&style));
    for (size_t k = 0; k < SEEP_REPLAY_CALLS_NR; k++)
        for (size_t i = 0; i < comparison->nr_rows && is_measured(comparison, k); i++) {
            const double *latency_ns = comparison->rows[i].latency_ns[k];
            fprintf(out, "%-9s  ", i ? "" : call_names[k]);
            put_name(out, comparison->rows[i].name, 11, width);
            fprintf(out, "  %9s  %9s  %9s\n", nanoseconds(latency_ns[0]).text,
                    nanoseconds(latency_ns[1]).text, nanoseconds(latency_ns[2]).text);
        }
}

void seep_replay_text(FILE *to, const struct seep_plan *plan, const struct seep_comparison *comparison) {
    struct seep_style style = seep_style_of(to);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, to, &style);
    int width = name_width(comparison);
    fputs("replayed ", out);
    seep_put_escaped(out, plan->program);
    fprintf(out, ", pid %" PRIu64 ": %s calls on %u thread%s; at its peak %s live in %s block%s\n", plan->pid,
            seep_format_count(plan->nr_calls).text, plan->nr_threads, seep_plural(plan->nr_threads),
            seep_format_bytes(plan->peak_bytes).text, seep_format_count(plan->peak_blocks).text,
            seep_plural(plan->peak_blocks));
    if (plan->nr_others)
        fprintf(out, "the recording has %s more process%s: --pid chooses one\n",
                seep_format_count(plan->nr_others).text, seep_plural_es(plan->nr_others));
    fprintf(out, "%u rounds, in turn; the ratio is that of rounds in pairs, with its 95 %% interval\n\n",
            comparison->nr_rounds);
    put_costs(out, plan, comparison, width, &style);
    put_latencies(out, comparison, width);
    if (plan->nr_skipped)
        fprintf(out, "\n%s frees were left out: their blocks are older than the recording\n",
                seep_format_count(plan->nr_skipped).text);
    fprintf(out, "\nThe replayer itself takes %s a round, which is taken away.\n",
            seep_format_duration((int64_t)comparison->rows[0].own_ns).text);
    if (has_noise(comparison))
        fputs("Below noise: the replayer's own time differs from round to round by as much as the calls "
              "take.\n",
              out);
    seep_wrap_done(&wrap);
}

void seep_runs_text(FILE *to, const char *program, const struct seep_comparison *comparison) {
    struct seep_style style = seep_style_of(to);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, to, &style);
    fputs("ran ", out);
    seep_put_escaped(out, program);
    fprintf(out, ": %u rounds, in turn; the ratio is that of rounds in pairs, with its 95 %% interval\n\n",
            comparison->nr_rounds);
    put_costs(out, NULL, comparison, name_width(comparison), &style);
    seep_wrap_done(&wrap);
}

// ---- JSON ----

static json_t *figure(double value) {
    return isnan(value) ? json_null() : json_real(value);
}

// null: less than rounds differ by.
static json_t *time_json(const struct seep_replay_figures *row, double parts) {
    return row->is_noise ? json_null() : figure(row->wall_ns / parts);
}

static json_t *row_json(const struct seep_plan *plan, const struct seep_replay_figures *row) {
    json_t *object = json_object(), *latency = json_object(), *samples = json_array();
    set(&object, "allocator", string(row->name));
    set(&object, "time_ns", time_json(row, 1));
    if (plan) {
        set(&object, "replayer_ns", figure(row->own_ns));
        set(&object, "ns_per_call", time_json(row, (double)plan->nr_calls));
    } else {
        set(&object, "cpu_ns", figure(row->cpu_ns));
    }
    set(&object, "ratio", row->is_known ? figure(row->against.middle) : json_null());
    set(&object, "ratio_low", row->is_known ? figure(row->against.low) : json_null());
    set(&object, "ratio_high", row->is_known ? figure(row->against.high) : json_null());
    set(&object, "differs", row->is_known ? json_boolean(row->differs) : json_null());
    set(&object, "peak_rss_bytes", integer(row->peak_rss_bytes));
    if (plan) {
        set(&object, "end_rss_bytes", integer(row->end_rss_bytes));
        set(&object, "rss_over_live_at_peak", figure(row->rss_over_live));
        set(&object, "rss_over_live_mean", figure(row->mean_rss_over_live));
    }
    set(&object, "page_faults", figure(row->faults));
    if (plan)
        set(&object, "failed_calls", integer(row->nr_failed));
    for (size_t k = 0; plan && k < SEEP_REPLAY_CALLS_NR; k++) {
        json_t *call = json_object();
        for (size_t s = 0; s < SEEP_ARRAY_SIZE(share_names); s++)
            set(&call, share_names[s], figure(row->latency_ns[k][s]));
        set(&latency, call_names[k], call);
    }
    if (plan)
        set(&object, "latency", latency);
    else
        json_decref(latency);
    for (uint32_t i = 0; i < (plan ? plan->nr_samples : row->nr_rss); i++)
        append(&samples, integer(row->rss[i]));
    if (!plan)
        set(&object, "rss_every_ns", integer((uint64_t)row->rss_every_ns));
    set(&object, "rss_bytes", samples);
    return object;
}

static struct seep_error *write_json(FILE *out, json_t *root, const struct seep_plan *plan,
                                     const struct seep_comparison *comparison) {
    json_t *rows = json_array();
    for (size_t i = 0; i < comparison->nr_rows; i++)
        append(&rows, row_json(plan, &comparison->rows[i]));
    set(&root, "allocators", rows);
    return put_document(out, root);
}

struct seep_error *seep_replay_json(FILE *out, const struct seep_plan *plan,
                                    const struct seep_comparison *comparison) {
    json_t *root = json_object(), *moments = json_array();
    set(&root, "program", string(plan->program));
    set(&root, "pid", integer(plan->pid));
    set(&root, "calls", integer(plan->nr_calls));
    set(&root, "threads", integer(plan->nr_threads));
    set(&root, "waits", integer(plan->nr_waits));
    set(&root, "skipped_frees", integer(plan->nr_skipped));
    set(&root, "peak_live_bytes", integer(plan->peak_bytes));
    set(&root, "peak_live_blocks", integer(plan->peak_blocks));
    set(&root, "rounds", integer(comparison->nr_rounds));
    set(&root, "time_is", string(plan->is_cpu_time ? "processor" : "elapsed"));
    for (uint32_t i = 0; i < plan->nr_samples; i++) {
        json_t *moment = json_object();
        set(&moment, "at_ns", integer((uint64_t)SEEP_MAX(plan->sample_ns[i], INT64_C(0))));
        set(&moment, "live_bytes", integer(plan->sample_live[i]));
        append(&moments, moment);
    }
    set(&root, "samples", moments);
    return write_json(out, root, plan, comparison);
}

struct seep_error *seep_runs_json(FILE *out, const char *program, const struct seep_comparison *comparison) {
    json_t *root = json_object();
    set(&root, "program", string(program));
    set(&root, "rounds", integer(comparison->nr_rounds));
    return write_json(out, root, NULL, comparison);
}

// ---- CSV ----

static void put_cell(FILE *out, double value) {
    if (isnan(value))
        fputc(',', out);
    else
        fprintf(out, ",%.6g", value);
}

static void put_quoted_name(FILE *out, const char *name) {
    fputc('"', out);
    for (const char *at = name; *at; at++)
        fprintf(out, *at == '"' ? "\"\"" : "%c", *at);
    fputc('"', out);
}

static void put_ratio_cells(FILE *out, const struct seep_replay_figures *row) {
    put_cell(out, row->is_known ? row->against.middle : NAN);
    put_cell(out, row->is_known ? row->against.low : NAN);
    put_cell(out, row->is_known ? row->against.high : NAN);
    if (row->is_known)
        fprintf(out, ",%d", row->differs);
    else
        fputc(',', out);
}

void seep_runs_csv(FILE *out, const struct seep_comparison *comparison) {
    fputs("allocator,time_ns,cpu_ns,ratio,ratio_low,ratio_high,differs,peak_rss_bytes,page_faults\n", out);
    for (size_t i = 0; i < comparison->nr_rows; i++) {
        const struct seep_replay_figures *row = &comparison->rows[i];
        put_quoted_name(out, row->name);
        fprintf(out, ",%.0f,%.0f", row->wall_ns, row->cpu_ns);
        put_ratio_cells(out, row);
        fprintf(out, ",%" PRIu64 ",%.0f\n", row->peak_rss_bytes, row->faults);
    }
}

void seep_replay_csv(FILE *out, const struct seep_plan *plan, const struct seep_comparison *comparison) {
    fputs("allocator,time_ns,ns_per_call,ratio,ratio_low,ratio_high,differs,peak_rss_bytes,rss_over_live_at_"
          "peak,"
          "rss_over_live_mean,page_faults,failed_calls",
          out);
    for (size_t k = 0; k < SEEP_REPLAY_CALLS_NR; k++)
        for (size_t s = 0; s < SEEP_ARRAY_SIZE(share_names); s++)
            fprintf(out, ",%s_%s", call_names[k], share_names[s]);
    fputc('\n', out);
    for (size_t i = 0; i < comparison->nr_rows; i++) {
        const struct seep_replay_figures *row = &comparison->rows[i];
        put_quoted_name(out, row->name);
        if (row->is_noise)
            fputc(',', out);
        else
            fprintf(out, ",%.0f", row->wall_ns);
        put_cell(out, row->is_noise ? NAN : row->wall_ns / (double)plan->nr_calls);
        put_ratio_cells(out, row);
        fprintf(out, ",%" PRIu64, row->peak_rss_bytes);
        put_cell(out, row->rss_over_live);
        put_cell(out, row->mean_rss_over_live);
        fprintf(out, ",%.0f,%" PRIu64, row->faults, row->nr_failed);
        for (size_t k = 0; k < SEEP_REPLAY_CALLS_NR; k++)
            for (size_t s = 0; s < SEEP_ARRAY_SIZE(share_names); s++)
                put_cell(out, row->latency_ns[k][s]);
        fputc('\n', out);
    }
}
