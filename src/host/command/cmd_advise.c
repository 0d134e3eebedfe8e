// SPDX-License-Identifier: BSD-2-Clause
// `seep advise FILE`: what would make a recorded program allocate less, tried by replay.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/map.h"
#include "command/command.h"
#include "command/report_options.h"
#include "command/warn.h"
#include "output/report_advice.h"
#include "replay/walk.h"
#include "session/session_open.h"
#include "view/summary.h"

struct advise_values {
    uint64_t pid;
    uint64_t rounds;
    bool json;
    bool no_demangle;
};

#define AT(field) offsetof(struct advise_values, field)

static const struct advise_values advise_defaults = {.rounds = 10};

static const struct seep_option_group advise_group = {
    .title = "Options",
    .options =
        (const struct seep_option[]){
            {"rounds", 0, SEEP_OPTION_NUMBER, AT(rounds), .value = "N", .min = 4, .max = 1000,
             .help = "rounds in which a change is measured (default 10)"},
            {"pid", 0, SEEP_OPTION_NUMBER, AT(pid), .value = "N",
             .help = "of a recording of several processes the process N (default: the first)"},
            {"no-demangle", 0, SEEP_OPTION_FLAG, AT(no_demangle),
             .help = "symbol names as they are in the file"},
            {"json", 0, SEEP_OPTION_FLAG, AT(json), .help = "as JSON"},
            {NULL},
        },
    .values_bytes = sizeof(struct advise_values),
    .defaults = &advise_defaults,
};

static void show_tried(void *data, uint32_t nr, uint32_t nr_all) {
    (void)data;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rtrying %u of %u%s", nr, nr_all, nr == nr_all ? "\n" : "");
}

// Sites of one place are one group: a recursive program has many stacks that end at the same line.
struct places {
    uint32_t *of_site;
    const char **names; // by group; those of the view
    size_t nr;
    size_t capacity;
};

static struct seep_error *group_sites(struct seep_view *view, size_t process, struct places *places) {
    const struct seep_profile *profile = view->session->profiles[view->first_process + process];
    struct seep_map known = SEEP_MAP_INIT; // hash of a name -> group
    struct seep_error *error = NULL;
    places->of_site = calloc(profile->nr_sites ? profile->nr_sites : 1, sizeof(*places->of_site));
    bool good = places->of_site && seep_grow(&places->names, &places->capacity, 1, sizeof(*places->names));
    places->nr = 1;
    for (uint32_t i = 1; good && !error && i < profile->nr_sites; i++) {
        const char *place = NULL;
        if (!seep_via_is_heap(profile->sites[i].via))
            continue;
        error = seep_summary_place(view, view->nodes[process][profile->sites[i].node], &place);
        if (error || !place)
            continue;
        uint64_t *group = seep_map_at(&known, seep_hash_bytes(place, strlen(place)), NULL);
        good = group && (*group || seep_grow(&places->names, &places->capacity, places->nr + 1,
                                             sizeof(*places->names)));
        if (good && !*group) {
            *group = places->nr;
            places->names[places->nr++] = place;
        }
        if (good)
            places->of_site[i] = (uint32_t)*group;
    }
    seep_map_deinit(&known);
    return error || good ? error : seep_error_no_memory();
}

static struct seep_error *advise(const struct advise_values *values, const char *path,
                                 const struct seep_session *session, struct seep_view *view) {
    struct seep_profile *profile = NULL;
    struct places places = {NULL};
    struct seep_advices advices = {.nr_rows = 0};
    struct seep_error *error = seep_walk_choose(session, values->pid, path, &profile);
    size_t process = 0;
    while (!error && session->profiles[process] != profile)
        process++;
    if (!error)
        error = group_sites(view, process, &places);
    struct seep_groups groups = {places.of_site, profile ? profile->nr_sites : 0, (uint32_t)places.nr};
    struct seep_advise_options options = {
        .pid = values->pid, .nr_rounds = (uint32_t)values->rounds, .groups = &groups, .progress = show_tried};
    if (!error)
        error = seep_advise(path, session, &options, &advices);
    struct seep_advice_report report = {
        .profile = profile, .advices = &advices, .places = places.names, .source = path};
    if (!error && values->json)
        error = seep_advice_json(stdout, &report);
    else if (!error)
        seep_advice_text(stdout, &report);
    seep_advices_deinit(&advices);
    free(places.of_site);
    free(places.names);
    return error;
}

static struct seep_error *run_advise(const struct seep_arguments *arguments, int *ret_status) {
    const struct advise_values *values = seep_arguments_values(arguments, &advise_group);
    const char *path = arguments->operands[0];
    struct seep_view_options options = seep_view_options_default;
    options.no_demangle = values->no_demangle;
    struct seep_session *session = NULL;
    struct seep_symbols *symbols = NULL;
    struct seep_view *view = NULL;
    struct seep_error *error = seep_session_open(path, &session);
    if (!error)
        error = seep_report_symbols(&options, NULL, &symbols);
    if (!error)
        error = seep_view_create(session, SIZE_MAX, symbols, &options, &view);
    seep_interrupt_catch(NULL);
    if (!error)
        error = advise(values, path, session, view);
    if (!error)
        seep_warn_incomplete(session);
    seep_view_destroy(view);
    seep_symbols_destroy(symbols);
    seep_session_destroy(session);
    return error;
}

const struct seep_command seep_command_advise = {
    .name = "advise",
    .summary = "what would make a program allocate less, tried by replay",
    .usage = "[options] FILE",
    .about = "FILE is a recording ('seep run --mode record'). Changes that the way of its allocations "
             "suggests are\n"
             "made to a replay of it and measured beside the replay as it is: pools, arenas, reserve(), "
             "buffers on\n"
             "the stack or kept, packed blocks, huge pages, tunables of glibc. What saves a hundredth of the "
             "run's\n"
             "time or of the heap's peak is shown, ten at most. What they mean: docs/advise.md.\n",
    .groups = (const struct seep_option_group *const[]){&advise_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep advise app.seep", "what would be worth doing, the most first"},
            {"seep advise app.seep --json", "for a script"},
            {NULL},
        },
    .prints = true,
    .operand = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_advise,
};
