// SPDX-License-Identifier: BSD-2-Clause
// `seep run --allocator A,B`, see allocator_options.h.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/allocator_options.h"
#include "command/result_file.h"
#include "output/report_replay.h"
#include "replay/allocator_choice.h"
#include "replay/compare_runs.h"

void seep_show_rounds(void *data, uint32_t round, uint32_t nr_rounds, uint32_t nr_most) {
    (void)data;
    if (!isatty(STDERR_FILENO))
        return;
    if (round > nr_most)
        fputs("\r\033[K", stderr);
    else if (round > nr_rounds)
        fprintf(stderr, "\rround %u of %u at most\033[K", round, nr_most);
    else
        fprintf(stderr, "\rround %u of %u\033[K", round, nr_rounds);
}

static struct seep_error *put(FILE *out, const struct seep_compared_run *run,
                              const struct seep_comparison *comparison) {
    if (run->json)
        return seep_runs_json(out, run->argv[0], comparison);
    if (run->csv)
        seep_runs_csv(out, comparison);
    else
        seep_runs_text(out, run->argv[0], comparison);
    return NULL;
}

static struct seep_error *write_report(const struct seep_compared_run *run,
                                       const struct seep_comparison *comparison) {
    struct seep_result result;
    if (!run->report)
        return put(stderr, run, comparison);
    if (strcmp(run->report, "-") == 0)
        return put(stdout, run, comparison);
    struct seep_error *error = seep_result_begin(run->report, &result);
    return error ? error : seep_result_end(&result, put(result.out, run, comparison));
}

struct seep_error *seep_run_compared(const struct seep_compared_run *run, int *ret_status) {
    const char *names[SEEP_ALLOCATORS_MAX];
    struct seep_compare_runs_options options = {
        .argv = run->argv, .names = names, .nr_rounds = run->nr_rounds, .progress = seep_show_rounds};
    struct seep_comparison comparison = {NULL, 0, 0};
    char *list = strdup(run->allocators);
    struct seep_error *error = list ? NULL : seep_error_no_memory();
    if (!error)
        error = seep_allocators_split(list, names, &options.nr_names);
    if (!error)
        error = seep_compare_runs(&options, &comparison, ret_status);
    if (!error)
        error = write_report(run, &comparison);
    seep_comparison_deinit(&comparison);
    free(list);
    return error;
}
