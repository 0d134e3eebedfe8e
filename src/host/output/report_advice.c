// SPDX-License-Identifier: BSD-2-Clause
// Advice, see report_advice.h.
#include <inttypes.h>
#include <math.h>

#include "base/words.h"
#include "output/json_build.h"
#include "output/report_advice.h"
#include "output/wrap.h"

struct text {
    char bytes[400];
};

struct words {
    char bytes[88];
};

// "1 KiB to 2 KiB"; one of them where they read the same.
static struct words range_of(struct seep_number least, struct seep_number most) {
    struct words text;
    if (strcmp(least.text, most.text) == 0)
        snprintf(text.bytes, sizeof(text.bytes), "%s", most.text);
    else
        snprintf(text.bytes, sizeof(text.bytes), "%s to %s", least.text, most.text);
    return text;
}

static struct words sizes_of(const struct seep_group_traits *group) {
    return range_of(seep_format_bytes(group->size_min), seep_format_bytes(group->size_max));
}

// " (1 KiB to 2 KiB)"; "" where it says nothing that `value` does not.
static struct words interval_of(struct seep_number value, struct seep_number least, struct seep_number most) {
    struct words range = range_of(least, most), text = {""};
    if (strcmp(range.bytes, value.text) != 0)
        snprintf(text.bytes, sizeof(text.bytes), " (%.80s)", range.bytes);
    return text;
}

static struct words counted(uint64_t nr) {
    struct words text;
    snprintf(text.bytes, sizeof(text.bytes), "%s block%s", seep_format_count(nr).text, seep_plural(nr));
    return text;
}

// One sentence without a full stop: what it does, and what to do instead.
static struct text what_of(const struct seep_advices *advices, const struct seep_advice *advice) {
    const struct seep_group_traits *group = &advices->traits.groups[advice->group];
    struct text text = {""};
    char *at = text.bytes;
    size_t room = sizeof(text.bytes);
    switch (advice->kind) {
    case SEEP_ADVICE_STACK:
        snprintf(at, room, "%s of %s, each freed soon and before older ones: a buffer on the stack",
                 counted(group->allocations).bytes, sizes_of(group).bytes);
        break;
    case SEEP_ADVICE_RESERVE:
        snprintf(at, room, "%s grew %s times, which copied %s: give them their size at the start (reserve)",
                 counted(group->chains).bytes, seep_format_count(group->steps).text,
                 seep_format_bytes(group->copied_bytes).text);
        break;
    case SEEP_ADVICE_BUFFER:
        snprintf(at, room, "%s of %s, at most %s at once: keep the buffer for the next time",
                 counted(group->allocations).bytes, sizes_of(group).bytes,
                 seep_format_count(group->most_blocks).text);
        break;
    case SEEP_ADVICE_ARENA:
        snprintf(at, room, "%s of %s in %s group%s that are freed together: an arena for each group",
                 counted(group->allocations).bytes, sizes_of(group).bytes,
                 seep_format_count(group->generations).text, seep_plural(group->generations));
        break;
    case SEEP_ADVICE_POOL:
        snprintf(at, room, "%s of %s, at most %s at once: a pool of pieces of one size",
                 counted(group->allocations).bytes, sizes_of(group).bytes,
                 seep_format_count(group->most_blocks).text);
        break;
    case SEEP_ADVICE_PACK:
        snprintf(at, room, "%s at the peak asked for %s and take %s: pack them, as in one array or pool",
                 counted(group->peak_blocks).bytes, seep_format_bytes(group->peak_bytes).text,
                 seep_format_bytes(group->peak_cost_bytes).text);
        break;
    case SEEP_ADVICE_HUGE_PAGES:
        snprintf(at, room, "huge pages for the heap: GLIBC_TUNABLES=glibc.malloc.hugetlb=1");
        break;
    default:
        snprintf(at, room, "GLIBC_TUNABLES=glibc.malloc.%s", advice->setting + sizeof("glibc:") - 1);
    }
    return text;
}

static void put_time(FILE *out, const struct seep_advices *advices, const struct seep_advice *advice) {
    struct seep_number of = seep_format_duration((int64_t)advices->replay_ns);
    if (!advice->is_tried) {
        fprintf(out, "at most %s, %.1f %% of the run", seep_format_duration((int64_t)advice->saved_ns).text,
                advice->time_share * 100);
        return;
    }
    struct seep_number saved = seep_format_duration((int64_t)advice->saved_ns);
    fprintf(out, "%s of %s%s, %.1f %% of the run", saved.text, of.text,
            interval_of(saved, seep_format_duration((int64_t)advice->saved_least_ns),
                        seep_format_duration((int64_t)advice->saved_most_ns))
                .bytes,
            advice->time_share * 100);
}

static void put_memory(FILE *out, const struct seep_advice *advice) {
    if (!advice->is_tried) {
        fprintf(out, "at most %s, %.1f %% of the peak", seep_format_bytes((uint64_t)advice->saved_bytes).text,
                advice->memory_share * 100);
        return;
    }
    struct seep_number saved = seep_format_bytes((uint64_t)advice->saved_bytes);
    struct seep_number least = seep_format_bytes((uint64_t)SEEP_MAX(advice->saved_least_bytes, INT64_C(0)));
    fprintf(out, "%s%s, %.1f %% of the peak", saved.text,
            interval_of(saved, least, seep_format_bytes((uint64_t)advice->saved_most_bytes)).bytes,
            advice->memory_share * 100);
}

// Less than that is neither told as saved nor as taken.
static bool has_time(const struct seep_advice *advice) {
    return advice->time_share >= SEEP_ADVICE_LEAST && (!advice->is_tried || advice->saved_least_ns > 0);
}

static bool has_memory(const struct seep_advice *advice) {
    return advice->memory_share >= SEEP_ADVICE_LEAST && (!advice->is_tried || advice->saved_least_bytes > 0);
}

static void put_gain(FILE *out, const struct seep_advices *advices, const struct seep_advice *advice) {
    fputs(advice->is_tried ? "    saves " : "    candidate, not tried: ", out);
    if (has_time(advice))
        put_time(out, advices, advice);
    if (has_time(advice) && has_memory(advice))
        fputs("; ", out);
    if (has_memory(advice))
        put_memory(out, advice);
    if (advice->is_tried && advice->saved_bytes < 0 && -advice->memory_share >= SEEP_ADVICE_LEAST)
        fprintf(out, "; takes %s more", seep_format_bytes((uint64_t)-advice->saved_bytes).text);
    if (advice->is_tried && -advice->time_share >= SEEP_ADVICE_LEAST)
        fprintf(out, "; takes %s longer", seep_format_duration((int64_t)-advice->saved_ns).text);
    fputc('\n', out);
}

void seep_advice_text(FILE *to, const struct seep_advice_report *report) {
    const struct seep_style style = seep_style_of(to);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, to, &style);
    const struct seep_advices *advices = report->advices;
    const struct seep_process *process = &report->profile->process;
    seep_put_escaped(out, process->name);
    fprintf(out, ", pid %" PRIu32 ": %s calls, which take %s of %s %s, and %s at their peak\n", process->pid,
            seep_format_count(advices->nr_calls).text, seep_format_duration((int64_t)advices->replay_ns).text,
            seep_format_duration(advices->run_ns).text,
            advices->is_cpu_time ? "of processor time (recorded)" : "(recorded)",
            seep_format_bytes(advices->peak_rss_bytes).text);
    fprintf(
        out,
        "%u change%s tried by replay; time is that of all calls, memory that of the heap; 95 %% intervals\n",
        advices->nr_tried, advices->nr_tried == 1 ? " was" : "s were");
    for (uint32_t i = 0; i < advices->nr_rows; i++) {
        const struct seep_advice *advice = &advices->rows[i];
        fprintf(out, "\n%s%-10s%s  ", seep_style_bold(&style), seep_advice_name(advice->kind),
                seep_style_off(&style));
        if (advice->group) {
            seep_put_escaped(out, report->places[advice->group]);
            fputs("\n    ", out);
        }
        fprintf(out, "%s\n", what_of(advices, advice).bytes);
        put_gain(out, advices, advice);
    }
    if (!advices->nr_rows)
        fprintf(out, "\nNothing would save a hundredth of the time or of the memory.\n");
    seep_wrap_done(&wrap);
}

// ---- JSON ------------------------------------------------------------------------------------------------

static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *advice_json(const struct seep_advice_report *report, const struct seep_advice *advice) {
    json_t *object = json_object();
    set(&object, "kind", string(seep_advice_name(advice->kind)));
    set(&object, "place", string(advice->group ? report->places[advice->group] : NULL));
    set(&object, "setting", string(advice->setting));
    set(&object, "text", string(what_of(report->advices, advice).bytes));
    set(&object, "replayed", json_boolean(advice->is_tried));
    set(&object, "saved_ns", number(advice->saved_ns));
    set(&object, "saved_ns_low", advice->is_tried ? number(advice->saved_least_ns) : json_null());
    set(&object, "saved_ns_high", advice->is_tried ? number(advice->saved_most_ns) : json_null());
    set(&object, "share_of_run", number(advice->time_share));
    set(&object, "saved_bytes", json_integer(advice->saved_bytes));
    set(&object, "saved_bytes_low", advice->is_tried ? json_integer(advice->saved_least_bytes) : json_null());
    set(&object, "saved_bytes_high", advice->is_tried ? json_integer(advice->saved_most_bytes) : json_null());
    set(&object, "share_of_peak", number(advice->memory_share));
    return object;
}

struct seep_error *seep_advice_json(FILE *out, const struct seep_advice_report *report) {
    const struct seep_advices *advices = report->advices;
    json_t *root = json_object(), *rows = json_array();
    set(&root, "program", string(report->profile->process.name));
    set(&root, "pid", integer(report->profile->process.pid));
    set(&root, "calls", integer(advices->nr_calls));
    set(&root, "replay_ns", number(advices->replay_ns));
    set(&root, "run_ns", integer((uint64_t)SEEP_MAX(advices->run_ns, INT64_C(0))));
    set(&root, "peak_rss_bytes", integer(advices->peak_rss_bytes));
    set(&root, "tried", integer(advices->nr_tried));
    for (uint32_t i = 0; i < advices->nr_rows; i++)
        append(&rows, advice_json(report, &advices->rows[i]));
    set(&root, "advice", rows);
    return put_document(out, root);
}
