// SPDX-License-Identifier: BSD-2-Clause
// `seep replay FILE --allocator A,B`: a recording, done again with other allocators, and what each costs.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "command/allocator_options.h"
#include "command/command.h"
#include "command/result_file.h"
#include "command/warn.h"
#include "output/report_replay.h"
#include "replay/allocator_choice.h"
#include "replay/compare.h"
#include "replay/generate.h"
#include "session/session_open.h"

static const char *const orders[] = {"blocks", "exact", NULL};
static const char *const speeds[] = {"full", "recorded", NULL};
enum { TOUCH_RECORDED = SEEP_REPLAY_TOUCH_NONE + 1 };
static const char *const touches[] = {"pages", "first", "none", "recorded",
                                      NULL}; // as enum seep_replay_touch, and one

struct replay_values {
    const char *allocators;
    uint64_t pid;
    uint64_t rounds;
    int touch;
    int order;
    int speed;
    int64_t timeout_ns;
    bool json;
    bool csv;
    const char *generate;
};

enum { ROUNDS = 10, ROUNDS_MOST = 200 };
static const struct replay_values defaults = {.touch = -1};

static const struct seep_option replay_options[] = {
    {"allocator", 0, SEEP_OPTION_STRING, offsetof(struct replay_values, allocators), .value = "LIST",
     .help = "glibc (default), jemalloc, mimalloc, tcmalloc, scudo, a library, glibc:TUNABLE=V (comma list)"},
    {"rounds", 0, SEEP_OPTION_NUMBER, offsetof(struct replay_values, rounds), .value = "N", .min = 3,
     .max = 1000, .help = "rounds that count (default 10 to 200: until intervals are 2 % wide)"},
    {"touch", 0, SEEP_OPTION_CHOICE, offsetof(struct replay_values, touch), .value = "WHAT",
     .choices = touches,
     .help =
         "what is written of a block: as many pages as were seen in memory while it was recorded (default, "
         "where that was seen), each of its pages, its first byte, nothing"},
    {"order", 0, SEEP_OPTION_CHOICE, offsetof(struct replay_values, order), .value = "WHICH",
     .choices = orders,
     .help = "threads wait where a block goes from one to another (default), or for every event before"},
    {"speed", 0, SEEP_OPTION_CHOICE, offsetof(struct replay_values, speed), .value = "WHICH",
     .choices = speeds, .help = "as fast as it goes (default), or not before the time of each event"},
    {"pid", 0, SEEP_OPTION_NUMBER, offsetof(struct replay_values, pid), .value = "N",
     .help = "of a recording of several processes the process N (default: the first)"},
    {"timeout", 0, SEEP_OPTION_DURATION, offsetof(struct replay_values, timeout_ns), .value = "T",
     .help = "give up an allocator that has not returned from a call after this time (default 60s)"},
    {"json", 0, SEEP_OPTION_FLAG, offsetof(struct replay_values, json),
     .help = "as JSON, with memory over time"},
    {"csv", 0, SEEP_OPTION_FLAG, offsetof(struct replay_values, csv), .help = "as CSV"},
    {"generate", 0, SEEP_OPTION_STRING, offsetof(struct replay_values, generate), .value = "OUT.c",
     .help = "write a C program that makes the same calls, and compare nothing"},
    {NULL},
};

static const struct seep_option_group replay_group = {.title = "Options",
                                                      .options = replay_options,
                                                      .values_bytes = sizeof(struct replay_values),
                                                      .defaults = &defaults};

static enum seep_replay_touch touch_of(const struct replay_values *values) {
    return values->touch < 0 || values->touch == TOUCH_RECORDED ? SEEP_REPLAY_TOUCH_PAGES
                                                                : (enum seep_replay_touch)values->touch;
}

static struct seep_error *compare(const struct replay_values *values, const struct seep_plan *plan,
                                  char *list) {
    const char *names[SEEP_ALLOCATORS_MAX];
    struct seep_compare_options options = {.names = names,
                                           .nr_rounds = values->rounds ? (uint32_t)values->rounds : ROUNDS,
                                           .nr_rounds_most = values->rounds ? 0 : ROUNDS_MOST,
                                           .touch = touch_of(values),
                                           .patience_ns = values->timeout_ns,
                                           .progress = seep_show_rounds};
    struct seep_comparison comparison = {NULL, 0, 0};
    struct seep_error *error = seep_allocators_split(list, names, &options.nr_names);
    if (!error)
        error = seep_compare(plan, &options, &comparison);
    if (error)
        return error;
    if (values->json)
        error = seep_replay_json(stdout, plan, &comparison);
    else if (values->csv)
        seep_replay_csv(stdout, plan, &comparison);
    else
        seep_replay_text(stdout, plan, &comparison);
    seep_comparison_deinit(&comparison);
    return error;
}

static struct seep_error *generate(const struct replay_values *values, const struct seep_plan *plan) {
    struct seep_result result;
    if (strcmp(values->generate, "-") == 0)
        return seep_generate(stdout, plan, touch_of(values));
    struct seep_error *error = seep_result_begin(values->generate, &result);
    return error ? error : seep_result_end(&result, seep_generate(result.out, plan, touch_of(values)));
}

static struct seep_error *run_replay(const struct seep_arguments *arguments, int *ret_status) {
    const struct replay_values *values = seep_arguments_values(arguments, &replay_group);
    const char *path = arguments->operands[0];
    struct seep_plan_options options = {.touch_recorded =
                                            values->touch < 0 || values->touch == TOUCH_RECORDED,
                                        .touch_needed = values->touch == TOUCH_RECORDED,
                                        .exact = values->order == 1,
                                        .at_speed = values->speed == 1,
                                        .pid = values->pid};
    struct seep_plan plan = {.fd = -1};
    char *list = strdup(values->allocators ? values->allocators : "glibc");
    struct seep_session *session = NULL;
    if (values->generate && (values->allocators || values->json || values->csv)) {
        free(list);
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--generate writes a program, and compares nothing"),
            "leave out --allocator, --json and --csv, or --generate");
    }
    struct seep_error *error = list ? NULL : seep_error_no_memory();
    if (!error)
        error = seep_session_open(path, &session);
    if (!error)
        error = seep_plan_make(path, session, &options, &plan);
    if (!error)
        seep_warn_incomplete(session);
    seep_session_destroy(session);
    seep_interrupt_catch(NULL);
    if (!error)
        error = values->generate ? generate(values, &plan) : compare(values, &plan, list);
    seep_plan_deinit(&plan);
    free(list);
    return error;
}

const struct seep_command seep_command_replay = {
    .name = "replay",
    .summary = "a recording, done again with other allocators: time, memory, latencies",
    .usage = "[options] FILE",
    .about =
        "FILE is a recording (seep run --mode record). Its calls are made again by a small program, on as "
        "many\n"
        "threads, in a fresh process for each run. The first allocator of the list is what the others are\n"
        "compared with. What it means, and how near it is to the program: docs/replay.md.\n",
    .groups = (const struct seep_option_group *const[]){&replay_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep replay app.seep --allocator glibc,jemalloc,mimalloc",
             "which one would be faster, or smaller?"},
            {"seep replay app.seep --allocator glibc,glibc:arena_max=1", "what a tunable does"},
            {"seep replay app.seep --generate workload.c", "a program for the report of an allocator's bug"},
            {"seep replay app.seep --json", "for a script, with memory over time"},
            {NULL},
        },
    .prints = true,
    .operand = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_replay,
};
