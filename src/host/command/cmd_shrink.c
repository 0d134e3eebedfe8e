// SPDX-License-Identifier: BSD-2-Clause
// `seep shrink FILE... -o OUT`: recordings without what was allocated and freed again.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "base/shown_text.h"
#include "command/command.h"
#include "command/result_file.h"
#include "output/format.h"
#include "session/shrink.h"

struct shrink_values {
    const char *output;
    bool quiet;
    bool anonymize;
};

static const struct seep_option_group shrink_group = {
    .title = "Options",
    .options =
        (const struct seep_option[]){
            {"output", 'o', SEEP_OPTION_STRING, offsetof(struct shrink_values, output), .value = "OUT",
             .help = "the file to write"},
            {"quiet", 'q', SEEP_OPTION_FLAG, offsetof(struct shrink_values, quiet),
             .help = "do not say how much was dropped"},
            {"anonymize", 0, SEEP_OPTION_FLAG, offsetof(struct shrink_values, anonymize),
             .help = "numbers in place of names: a trace to give away"},
            {NULL},
        },
    .values_bytes = sizeof(struct shrink_values),
};

static struct seep_error *run_shrink(const struct seep_arguments *arguments, int *ret_status) {
    const struct shrink_values *values = seep_arguments_values(arguments, &shrink_group);
    if (!values->output)
        return seep_shell_hint(seep_error_create(SEEP_E_USAGE, "shrink: no file to write"), "seep shrink",
                               arguments->operands[0], " -o small.seep");
    struct seep_shrunk shrunk;
    struct seep_error *error = seep_result_is_no_input(
        values->output, (const char *const *)arguments->operands, arguments->nr_operands);
    if (!error)
        error = seep_shrink((const char *const *)arguments->operands, (size_t)arguments->nr_operands,
                            values->output, values->anonymize, &shrunk);
    char *word = error || !shrunk.nr_damaged ? NULL : seep_shell_operand(values->output);
    if (word)
        fprintf(stderr, "seep: incomplete files: %s ('seep report %s' says why)\n",
                seep_format_count(shrunk.nr_damaged).text, word);
    free(word);
    if (!error && !values->quiet)
        fprintf(stderr, "seep: %s of %s events are kept%s\n", seep_format_count(shrunk.nr_kept).text,
                seep_format_count(shrunk.nr_events).text,
                shrunk.nr_repeated ? "; some were in several files" : "");
    return error;
}

const struct seep_command seep_command_shrink = {
    .name = "shrink",
    .summary = "recordings without what was allocated and freed again",
    .usage = "FILE... -o OUT",
    .about = "Each FILE is a recording, or one that was shrunk. Several are taken together in their order: a "
             "block\n"
             "that one allocates may be freed in the next. What is left is what was not freed, and frees of "
             "blocks\n"
             "that none of them allocates.\n",
    .groups = (const struct seep_option_group *const[]){&shrink_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep shrink app.seep -o small.seep", "days of a recording, as what still waits to be freed"},
            {"seep shrink monday.seep tuesday.seep -o both.seep", "parts of one recording, together"},
            {NULL},
        },
    .operand = "FILE",
    .min_operands = 1,
    .max_operands = SEEP_OPERANDS_ANY,
    .run = run_shrink,
};
