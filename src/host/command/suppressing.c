// SPDX-License-Identifier: BSD-2-Clause
// The options on suppressions, see suppressing.h.
#include "command/suppressing.h"

struct suppress_values {
    struct seep_option_strings files;
};

static const struct seep_option suppress_options[] = {
    {"suppressions", 0, SEEP_OPTION_STRINGS, offsetof(struct suppress_values, files), .value = "FILE",
     .help = "leaks that FILE names do not count: LeakSanitizer's or Valgrind's; repeatable"},
    {NULL},
};

const struct seep_option_group seep_suppress_group = {
    .title = "Suppressions", .options = suppress_options, .values_bytes = sizeof(struct suppress_values)};

struct seep_error *seep_suppress_read(const struct seep_arguments *arguments,
                                      struct seep_suppress_rules *rules) {
    const struct suppress_values *values = seep_arguments_values(arguments, &seep_suppress_group);
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < values->files.nr_items; i++)
        error = seep_suppress_rules_read(rules, values->files.items[i]);
    return error;
}
