// SPDX-License-Identifier: BSD-2-Clause
// Outstanding memory now and then, see watch_options.h.
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "command/trace_name.h"
#include "command/watch_options.h"

#define INTERVAL_NS (INT64_C(5) * 1000000000)

static const char *const sort_choices[] = {"size", "count", NULL};

#define AT(field) offsetof(struct seep_watch_values, field)

static const struct seep_option watch_options[] = {
    {"top", 'T', SEEP_OPTION_NUMBER, AT(top), .max = UINT32_MAX,
     .help = "show the N biggest stacks; 0: all (default 10)"},
    {"blocks", 'a', SEEP_OPTION_FLAG, AT(blocks),
     .help = "list each outstanding block with address, size and age"},
    {"older", 0, SEEP_OPTION_DURATION, AT(older_ns),
     .help = "only blocks at least this old (default 500ms while the process runs)"},
    {"older-ms", 'o', SEEP_OPTION_NUMBER, AT(older_ms), .max = UINT32_MAX, .value = "MS",
     .help = "the same in milliseconds, as memleak's -o",
     .hint = "a number of milliseconds; --output FILE saves the trace"},
    {"sort", 0, SEEP_OPTION_CHOICE, AT(sort), .value = "KEY", .choices = sort_choices,
     .help = "what is biggest: size (default) or count"},
    {"min-size", 'z', SEEP_OPTION_SIZE, AT(min_size), .help = "only blocks of at least this size"},
    {"max-size", 'Z', SEEP_OPTION_SIZE, AT(max_size), .help = "only blocks of at most this size"},
    {"sample-rate", 's', SEEP_OPTION_NUMBER, AT(sample), .min = 1, .max = UINT32_MAX,
     .help = "record about one allocation in N, by chance: costs half as much"},
    {"combined-only", 'C', SEEP_OPTION_FLAG, AT(combined),
     .help = "figures of stacks only: whatever their age, and no single blocks"},
    {"wa-missing-free", 'F', SEEP_OPTION_FLAG, AT(missing_free),
     .help = "an address that is given out again was freed: always so, taken for memleak's sake"},
    {"output", 0, SEEP_OPTION_STRING, AT(output), .value = "FILE",
     .help = "save the trace at the end, for all other commands"},
    {"quiet", 'q', SEEP_OPTION_FLAG, AT(quiet), .help = "no report; with --output"},
    {"json", 0, SEEP_OPTION_FLAG, AT(json), .help = "each report as JSON"},
    {NULL},
};

static const struct seep_watch_values watch_defaults = {
    .top = 10, .older_ms = UINT64_MAX, .older_ns = -1, .max_size = UINT64_MAX, .sample = 1};

const struct seep_option_group seep_watch_group = {.title = "Report options",
                                                   .options = watch_options,
                                                   .values_bytes = sizeof(struct seep_watch_values),
                                                   .defaults = &watch_defaults};

struct seep_error *seep_watch_check(const struct seep_watch_values *values) {
    if (values->min_size > values->max_size)
        return seep_error_create(SEEP_E_USAGE, "--min-size %llu is more than --max-size %llu",
                                 (unsigned long long)values->min_size, (unsigned long long)values->max_size);
    if (values->combined && values->blocks)
        return seep_error_create(SEEP_E_USAGE, "--combined-only shows no single blocks: not with --blocks");
    if (values->combined && (values->older_ms != UINT64_MAX || values->older_ns >= 0))
        return seep_error_create(SEEP_E_USAGE, "--combined-only is of any age: not with --older");
    if (values->quiet && values->json)
        return seep_error_create(SEEP_E_USAGE, "--json prints reports: not with --quiet");
    if (values->quiet && !values->output)
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--quiet: nothing is shown, and nothing saved"),
            "save it with --output FILE");
    return NULL;
}

int64_t seep_watch_older_ns(const struct seep_watch_values *values, int64_t otherwise) {
    return values->older_ms != UINT64_MAX ? (int64_t)values->older_ms * 1000000
           : values->older_ns >= 0        ? values->older_ns
                                          : otherwise;
}

struct seep_error *seep_watch_check_output(const struct seep_watch_values *values) {
    struct seep_error *err = NULL;
    if (values->output)
        err = seep_trace_place_check(values->output);
    return err ? seep_error_hint(err, "nothing was traced; name another place with --output") : NULL;
}

struct seep_error *seep_watch_saved(struct seep_error *err) {
    return err ? seep_error_hint(err, "make room there, or name another place with --output") : NULL;
}

struct seep_error *seep_watch_rounds(const struct seep_watch_values *values, char *const *operands,
                                     struct seep_watch *watch) {
    watch->interval_ns = INTERVAL_NS;
    watch->count = 0;
    watch->only_last = values->quiet;
    return seep_parse_rounds(operands, &watch->interval_ns, &watch->count);
}

// A second signal kills seep.
struct seep_error *seep_watch_sleep(void *data, int64_t until_ns, bool *ret_ended) {
    (void)data;
    (void)ret_ended;
    seep_sleep_until(until_ns, &seep_interrupted);
    return NULL;
}

struct seep_error *seep_watch_run(const struct seep_watch *watch) {
    int64_t next_ns = seep_monotonic_ns();
    struct seep_error *err = NULL;
    bool last = false;
    for (uint64_t i = 1; !err && !last; i++) {
        bool ended = false;
        next_ns += watch->interval_ns;
        err = watch->wait(watch->data, next_ns, &ended);
        last = ended || seep_interrupted || i == watch->count;
        if (!err && (last || !watch->only_last))
            err = watch->report(watch->data, last, ended);
    }
    return err;
}
