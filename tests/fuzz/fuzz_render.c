// SPDX-License-Identifier: BSD-2-Clause
//
// Any bytes as a trace or a raw dump, the whole way that a user goes: load, suppress, view, every output and
// picture, the page, a heap snapshot with pointers, diff, check, baseline, whois, save. Checksums are put
// right first, as in fuzz_trace.c. Beside not crashing: what is said to be JSON is JSON, and every error has
// one line of text. Modules are looked for in a folder without files, so that the same bytes give the same
// result on each machine.
#include <jansson.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/check.h"
#include "analysis/diff.h"
#include "analysis/suppress.h"
#include "file/session_file.h"
#include "output/check_report.h"
#include "output/output.h"
#include "output/report.h"
#include "output/report_diff.h"
#include "output/report_outstanding.h"
#include "output/report_whois.h"
#include "page/page_file.h"
#include "plot/plot.h"
#include "profile/pointers.h"
#include "scan/inspect.h"
#include "session/session_at_mark.h"
#include "fuzz.h"
#include "trace_repair.h"

// true: it went well. An error is one of these, in one line.
static bool took(struct seep_error *error) {
    if (error)
        MUST(error->message[0] && !strchr(error->message, '\n'));
    seep_error_destroy(error);
    return !error;
}

// What is written into it is looked at when it is closed.
struct paper {
    FILE *out;
    char *text;
    size_t nr_bytes;
};

static void paper_open(struct paper *paper) {
    *paper = (struct paper){NULL};
    paper->out = open_memstream(&paper->text, &paper->nr_bytes);
    MUST(paper->out);
}

static void paper_close(struct paper *paper, bool is_json) {
    MUST(fclose(paper->out) == 0);
    if (is_json) {
        json_t *json = json_loadb(paper->text, paper->nr_bytes, 0, NULL);
        MUST(json);
        json_decref(json);
    }
    free(paper->text);
}

static regex_t everything;

static const struct seep_symbols_options no_files = {.sysroot = "/proc/self/ns", .no_debuginfod = true};

static struct seep_symbols *make_symbols(void) {
    struct seep_symbols *symbols;
    MUST(took(seep_symbols_create(&no_files, &symbols)));
    return symbols;
}

// ---- reports ----

static void report(const struct seep_session *session, struct seep_symbols *symbols,
                   const struct seep_view_options *options) {
    struct paper paper;
    paper_open(&paper);
    const struct seep_output *output = seep_output_of(options);
    bool well = took(seep_report_write(paper.out, session, symbols, options, "input"));
    paper_close(&paper, well && output->is_json);
}

static void report_forms(const struct seep_session *session, struct seep_symbols *symbols,
                         const struct seep_view_options *options) {
    struct seep_view_options form = *options;
    report(session, symbols, &form);
    form.csv = true;
    report(session, symbols, &form);
    form.csv = false;
    form.json = 1;
    form.full_paths = true;
    report(session, symbols, &form);
}

static void report_all(const struct seep_session *session, struct seep_symbols *symbols) {
    const struct seep_view_options plain = seep_view_options_default;
    for (int by = 0; by < SEEP_BY_NR; by++) {
        struct seep_view_options options = plain;
        options.by = by;
        report_forms(session, symbols, &options);
    }
    for (int sort = 0; sort < SEEP_SORT_NR; sort++) {
        struct seep_view_options options = plain;
        options.sort = sort;
        options.top = 3;
        report(session, symbols, &options);
    }
    for (int format = 0; seep_outputs[format]; format++) {
        struct seep_view_options options = plain;
        options.format = format;
        if (seep_outputs[format]->write)
            report(session, symbols, &options);
    }
    struct seep_view_options options = plain;
    options.blocks = options.rss = true;
    options.top = 0;
    options.limit_bytes = 1 << 30;
    report_forms(session, symbols, &options);
}

static void report_filtered(const struct seep_session *session, struct seep_symbols *symbols) {
    const struct seep_view_options plain = seep_view_options_default;
    struct seep_view_options options = plain;
    options.function = options.file = options.module = &everything;
    report(session, symbols, &options);
    options = plain;
    options.thread = &everything;
    report_forms(session, symbols, &options);
    options.by = SEEP_BY_THREAD;
    report(session, symbols, &options);
    options = plain;
    options.min_size = 1;
    options.max_size = 4096;
    options.older_ns = 0;
    options.blocks = true;
    report_forms(session, symbols, &options);
    options = plain;
    options.ignore_last = 10;
    report(session, symbols, &options);
    options = plain;
    options.kinds = UINT32_MAX;
    report_forms(session, symbols, &options);
    options.by = SEEP_BY_FUNCTION;
    report(session, symbols, &options);
    const struct seep_profile *profile = session->profiles[0];
    if (profile->nr_marks) {
        options = plain;
        options.since = profile->marks[0].name;
        report(session, symbols, &options);
        options.until = profile->marks[profile->nr_marks - 1].name;
        report(session, symbols, &options);
    }
    struct seep_session some;
    if (took(seep_session_select(session, profile->process.pid, NULL, &some))) {
        report_forms(&some, symbols, &plain);
        free(some.profiles);
    }
    if (took(seep_session_select(session, 0, &everything, &some))) {
        report(&some, symbols, &plain);
        free(some.profiles);
    }
    struct paper paper;
    paper_open(&paper);
    (void)took(seep_report_outstanding(paper.out, session, symbols, &plain));
    paper_close(&paper, false);
}

// Pointers that no scan has seen, as the bytes say: the writer of heap snapshots takes any graph.
static void heap_snapshot(struct seep_session *session, struct seep_symbols *symbols, const uint8_t *data,
                          size_t size) {
    struct seep_profile *profile = session->profiles[0];
    size_t nr = profile->nr_blocks, at = 0;
    struct seep_pointer *items = calloc(nr * 2 + 1, sizeof(*items));
    uint64_t *first = calloc(nr + 1, sizeof(*first));
    struct seep_pointer held[2] = {{0}};
    struct seep_pointer_holder holder = {.link = {.kind = SEEP_LINK_MEMORY, .whole = true}};
    uint8_t *kinds = calloc(nr + 1, 1), *kept = profile->block_kinds;
    MUST(items && first && kinds);
    for (size_t i = 0; i < nr; i++) {
        first[i] = at;
        kinds[i] = size ? (uint8_t)(1 + data[i % size] % (SEEP_KIND_NR - 1)) : SEEP_KIND_LOST;
        for (size_t k = 0; k < 2 && size; k++) {
            uint8_t byte = data[(2 * i + k) % size];
            if (byte & 1)
                items[at++] =
                    (struct seep_pointer){(uint32_t)((i + byte) % nr), byte & 2 ? UINT32_MAX : byte};
        }
    }
    first[nr] = at;
    holder.nr = nr ? 2 : 0;
    held[1].target = nr ? (uint32_t)(nr - 1) : 0;
    const struct seep_pointers pointers = {
        .items = items, .first = first, .holders = &holder, .nr_holders = 1, .held = held};
    profile->pointers = &pointers; // with them a scan leaves classes
    profile->block_kinds = kinds;
    for (int format = 0; seep_outputs[format]; format++)
        if (seep_outputs[format]->needs & SEEP_OUTPUT_POINTERS) {
            struct seep_view_options options = seep_view_options_default;
            options.format = format;
            report(session, symbols, &options);
        }
    profile->pointers = NULL;
    profile->block_kinds = kept;
    free(kinds);
    free(items);
    free(first);
}

static void draw_all(const struct seep_session *session, struct seep_symbols *symbols) {
    for (int what = 0; what < SEEP_PLOT_NR; what++)
        for (int form = SEEP_PLOT_TEXT; form <= SEEP_PLOT_SVG; form++) {
            if (what == SEEP_PLOT_FLAME && form == SEEP_PLOT_TEXT)
                continue;
            const struct seep_plot plot = {.session = session,
                                           .symbols = symbols,
                                           .options = &seep_view_options_default,
                                           .source = "input",
                                           .what = what,
                                           .form = form};
            struct paper paper;
            paper_open(&paper);
            (void)took(seep_plot_write(paper.out, &plot));
            paper_close(&paper, false);
        }
    const struct seep_page_source source = {.session = session,
                                            .name = "input",
                                            .symbols = symbols,
                                            .options = &seep_view_options_default,
                                            .max_bytes = 1 << 20};
    struct paper paper;
    paper_open(&paper);
    (void)took(seep_page_write(paper.out, &source));
    paper_close(&paper, false);
}

// ---- diff ----

static void diff(const struct seep_session *before, const struct seep_session *after,
                 struct seep_symbols *symbols) {
    const struct seep_diff_names names = {"before", "after"};
    const int by[] = {SEEP_BY_SITE, SEEP_BY_FUNCTION, SEEP_BY_MODULE};
    for (unsigned form = 0; form < 3; form++)
        for (size_t i = 0; i < SEEP_ARRAY_SIZE(by); i++) {
            struct seep_view_options options = seep_view_options_default;
            options.by = by[i];
            options.csv = form == 1;
            options.json = form == 2;
            struct seep_diff *diff = NULL;
            if (!took(seep_diff_create(before, after, symbols, &options, &diff)))
                continue;
            struct paper paper;
            paper_open(&paper);
            bool well = took(seep_diff_write(paper.out, diff, &names, &options));
            paper_close(&paper, well && options.json);
            seep_diff_destroy(diff);
        }
}

// Against what it was at its first mark, or without any counts.
static void diff_all(const struct seep_session *session, struct seep_session *second,
                     struct seep_symbols *symbols) {
    const struct seep_profile *profile = session->profiles[0];
    diff(session, session, symbols);
    if (!profile->nr_marks || !took(seep_at_mark_go(second, profile->marks[0].name)))
        for (size_t i = 0; i < second->nr_profiles; i++)
            for (uint32_t site = 0; site < second->profiles[i]->nr_sites; site++)
                second->profiles[i]->sites[site].counters = (struct seep_counters){0};
    diff(second, session, symbols);
    diff(session, second, symbols);
}

// ---- check, whois ----

static void check_put(const struct seep_check *check, uint64_t top) {
    struct paper paper;
    paper_open(&paper);
    seep_check_put_verdict(paper.out, check);
    seep_check_put_suppressions(paper.out, check);
    seep_check_put_findings(paper.out, check, top);
    (void)took(seep_check_put_junit(paper.out, check));
    (void)took(seep_check_put_github(paper.out, check));
    paper_close(&paper, false);
    paper_open(&paper);
    bool well = took(seep_check_put_sarif(paper.out, check));
    paper_close(&paper, well);
}

// What leaks, written as a baseline, and held against it: nothing is left.
static void check_again(const struct seep_session *session, struct seep_symbols *symbols,
                        const struct seep_check *check, const char *path) {
    struct seep_baseline baseline = SEEP_BASELINE_INIT;
    MUST(took(seep_check_save_baseline(check, path)));
    if (took(seep_baseline_read(&baseline, path))) {
        struct seep_check_options options = check->options;
        options.baseline = &baseline;
        struct seep_check *again = NULL;
        if (took(seep_check_create(session, symbols, &options, &again))) {
            MUST(again->leaked_bytes == 0 && again->leaked_blocks == 0);
            check_put(again, 0);
        }
        seep_check_destroy(again);
    }
    seep_baseline_deinit(&baseline);
}

static void check_all(const struct seep_session *session, struct seep_symbols *symbols) {
    static char path[64];
    if (!path[0])
        snprintf(path, sizeof(path), "/tmp/seep-fuzz-render-%d", getpid());
    for (unsigned pass = 0; pass < 3; pass++) {
        const struct seep_check_options options = {
            .max_leaked = pass == 0 ? 0 : SEEP_NO_BUDGET,
            .max_peak = pass == 0 ? 0 : SEEP_NO_BUDGET,
            .max_allocations = pass == 0 ? 0 : SEEP_NO_BUDGET,
            .ignore_last = pass == 1 ? 10 : 0,
            .kinds = pass == 1 ? 1u << SEEP_KIND_LOST | 1u << SEEP_KIND_POSSIBLE : SEEP_KINDS_LEAKED,
            .function = pass == 1 ? &everything : NULL,
        };
        struct seep_check *check = NULL;
        if (!took(seep_check_create(session, symbols, &options, &check)))
            continue;
        check_put(check, pass ? 0 : 3);
        if (pass == 0)
            check_again(session, symbols, check, path);
        seep_check_destroy(check);
    }
    unlink(path);
}

static void ask_whois(const struct seep_session *session, struct seep_symbols *symbols) {
    for (size_t p = 0; p < session->nr_profiles && p < 4; p++) {
        const struct seep_profile *profile = session->profiles[p];
        const uint64_t addresses[] = {
            0, profile->nr_blocks ? profile->blocks[0].address : 1,
            profile->nr_blocks ? profile->blocks[profile->nr_blocks - 1].address + 1 : 2, UINT64_MAX};
        for (size_t i = 0; i < SEEP_ARRAY_SIZE(addresses); i++) {
            struct seep_whois *whois = NULL;
            if (!took(seep_whois_profile(profile, addresses[i], symbols, &whois)))
                continue;
            struct paper paper;
            paper_open(&paper);
            seep_whois_text(paper.out, whois);
            paper_close(&paper, false);
            paper_open(&paper);
            bool well = took(seep_whois_json(paper.out, whois));
            paper_close(&paper, well);
            seep_whois_destroy(whois);
        }
    }
}

// ---- the whole way ----

static void suppress(struct seep_session *session, struct seep_symbols *symbols) {
    static const char text[] =
        "{\nfirst\nMemcheck:Leak\n...\nfun:a*\n}\n{\nsecond\nMemcheck:Leak\nfun:*\nobj:*lib*\n}\n";
    struct seep_suppress_rules rules = SEEP_SUPPRESS_RULES_INIT;
    bool well = took(seep_suppress_rules_parse(&rules, "rules", text, strlen(text))) &&
                took(seep_suppress_add_defaults(&rules, session, symbols));
    if (well)
        (void)took(seep_suppress_session(&rules, session, symbols));
    seep_suppress_rules_deinit(&rules);
}

static void render(const uint8_t *data, size_t size) {
    struct seep_session *session = NULL, *second = NULL;
    if (!took(seep_session_load_bytes(data, size, "input", &session)))
        return;
    MUST(took(seep_session_load_bytes(data, size, "input", &second)));
    struct seep_symbols *symbols = make_symbols();
    suppress(session, symbols);
    report_all(session, symbols);
    report_filtered(session, symbols);
    heap_snapshot(session, symbols, data, size);
    draw_all(session, symbols);
    check_all(session, symbols);
    ask_whois(session, symbols);
    diff_all(session, second, symbols);
    MUST(took(seep_session_save(session, "/dev/null")));
    seep_session_destroy(second);
    seep_session_destroy(session);
    seep_symbols_destroy(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool ready;
    if (!ready)
        MUST(regcomp(&everything, ".", REG_EXTENDED | REG_NOSUB) == 0);
    ready = true;
    uint8_t *copy = malloc(size ? size : 1);
    MUST(copy);
    if (size)
        memcpy(copy, data, size);
    trace_repair(copy, size);
    render(copy, size);
    free(copy);
    return 0;
}
