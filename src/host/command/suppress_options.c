// SPDX-License-Identifier: BSD-2-Clause
// The options on suppressions, see suppress_options.h.
#include "command/suppress_options.h"

struct suppress_values {
    struct seep_option_strings files;
    bool no_defaults;
};

static const struct seep_option suppress_options[] = {
    {"suppressions", 0, SEEP_OPTION_STRINGS, offsetof(struct suppress_values, files), .value = "FILE",
     .help = "leaks that FILE names do not count: LeakSanitizer's or Valgrind's; repeatable"},
    {"no-default-suppressions", 0, SEEP_OPTION_FLAG, offsetof(struct suppress_values, no_defaults),
     .help = "without the built-in list and the program's __lsan_default_suppressions"},
    {NULL},
};

const struct seep_option_group seep_suppress_group = {
    .title = "Suppressions", .options = suppress_options, .values_bytes = sizeof(struct suppress_values)};

void seep_suppress_deinit(struct seep_suppress *suppress) {
    seep_suppress_rules_deinit(&suppress->rules);
}

struct seep_error *seep_suppress_read(const struct seep_arguments *arguments,
                                      struct seep_suppress *suppress) {
    const struct suppress_values *values = seep_arguments_values(arguments, &seep_suppress_group);
    struct seep_error *error = NULL;
    suppress->no_defaults = values->no_defaults;
    for (size_t i = 0; !error && i < values->files.nr_items; i++)
        error = seep_suppress_rules_read(&suppress->rules, values->files.items[i]);
    return error;
}

struct seep_error *seep_suppress_apply(struct seep_suppress *suppress, struct seep_session *session,
                                       struct seep_symbols *symbols) {
    struct seep_error *error =
        suppress->no_defaults ? NULL : seep_suppress_add_defaults(&suppress->rules, session, symbols);
    return error ? error : seep_suppress_session(&suppress->rules, session, symbols);
}

struct seep_error *seep_suppress_apply_defaults(struct seep_session *session, struct seep_symbols *symbols) {
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_error *error = seep_suppress_apply(&suppress, session, symbols);
    seep_suppress_deinit(&suppress);
    return error;
}
