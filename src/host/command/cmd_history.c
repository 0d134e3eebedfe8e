// SPDX-License-Identifier: BSD-2-Clause
// `seep history FILE`: what a program did with its heap over time.
#include <stdlib.h>

#include "command/command.h"
#include "command/report_options.h"
#include "command/warn.h"
#include "output/report_history.h"
#include "session/recording_history.h"
#include "session/session_open.h"

struct history_values {
    uint64_t parts;
    uint64_t top;
    bool pages;
    bool json;
    bool no_demangle;
};

#define AT(field) offsetof(struct history_values, field)

static const struct history_values history_defaults = {.parts = 24, .top = 10};

static const struct seep_option_group history_group = {
    .title = "Options",
    .options =
        (const struct seep_option[]){
            {"parts", 0, SEEP_OPTION_NUMBER, AT(parts), .value = "N", .min = 1, .max = 10000,
             .help = "divide the run into N parts (default 24)"},
            {"top", 'T', SEEP_OPTION_NUMBER, AT(top), .max = UINT32_MAX,
             .help = "show N rows of each table; 0: all (default 10)"},
            {"pages", 0, SEEP_OPTION_FLAG, AT(pages),
             .help = "how full pages and regions of 2 MiB are, and whose blocks hold nearly empty ones"},
            {"no-demangle", 0, SEEP_OPTION_FLAG, AT(no_demangle),
             .help = "symbol names as they are in the file"},
            {"json", 0, SEEP_OPTION_FLAG, AT(json), .help = "all of it as JSON"},
            {NULL},
        },
    .values_bytes = sizeof(struct history_values),
    .defaults = &history_defaults,
};

static struct seep_error *show(const struct history_values *values, const struct seep_session *session,
                               const struct seep_history *histories) {
    struct seep_view_options options = seep_view_options_default;
    options.no_demangle = values->no_demangle;
    options.each_stack = true; // the view serves only for the names of the sites shown, one by one
    options.no_names = !values->json;
    struct seep_symbols *symbols = NULL;
    struct seep_view *view = NULL;
    struct seep_error *error = seep_report_symbols(&options, NULL, &symbols);
    if (!error)
        error = seep_view_create(session, SIZE_MAX, symbols, &options, &view);
    struct seep_history_report report = {
        .view = view, .histories = histories, .top = (uint32_t)values->top, .pages = values->pages};
    if (!error)
        error = values->json ? seep_history_json(stdout, &report) : seep_history_text(stdout, &report);
    seep_view_destroy(view);
    seep_symbols_destroy(symbols);
    return error;
}

static struct seep_error *run_history(const struct seep_arguments *arguments, int *ret_status) {
    const struct history_values *values = seep_arguments_values(arguments, &history_group);
    const struct seep_history_options options = {.nr_bins = (uint32_t)values->parts, .pages = values->pages};
    struct seep_session *session = NULL;
    struct seep_history *histories = NULL;
    struct seep_error *error = seep_session_open(arguments->operands[0], &session);
    if (!error)
        error = seep_histories_make(session, arguments->operands[0], &options, &histories);
    if (!error)
        error = show(values, session, histories);
    if (!error)
        seep_warn_incomplete(session);
    seep_histories_destroy(histories, session);
    seep_session_destroy(session);
    return error;
}

const struct seep_command seep_command_history = {
    .name = "history",
    .summary = "what a program did with its heap over time: rates, lives, resizes, threads",
    .usage = "[options] FILE",
    .about = "FILE is a recording ('seep run --mode record'), also one that is still being written; of a "
             "trace with\n"
             "snapshots ('seep run --interval T') only what was live over time is known.\n",
    .groups = (const struct seep_option_group *const[]){&history_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep history app.seep", "24 parts of the run, and the ten biggest rows of each table"},
            {"seep history app.seep --pages", "with fragmentation: who holds nearly empty memory"},
            {"seep history app.seep --parts 1000 --json", "for programs: each site over time"},
            {NULL},
        },
    .prints = true,
    .operand = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_history,
};
