// SPDX-License-Identifier: BSD-2-Clause
//
// What `seep attach` and `seep kernel` share: the options of a report of outstanding memory now and then, and
// the loop that makes one after the other.
#ifndef SEEP_COMMAND_WATCH_OPTIONS_H
#define SEEP_COMMAND_WATCH_OPTIONS_H

#include "command/options.h"

// The choices of --sort.
enum { SEEP_WATCH_SORT_SIZE, SEEP_WATCH_SORT_COUNT };

struct seep_watch_values {
    uint64_t top;
    bool blocks;
    uint64_t older_ms;
    int64_t older_ns;
    int sort;
    uint64_t min_size;
    uint64_t max_size;
    uint64_t sample;
    bool combined;
    bool missing_free;
    const char *output; // NULL: nothing is saved
    bool quiet;
    bool json;
};

extern const struct seep_option_group seep_watch_group;

// SEEP_E_USAGE for what does not go together.
SEEP_MUST_CHECK struct seep_error *seep_watch_check(const struct seep_watch_values *values);
// The age that --older asks for; `otherwise` where it was not given.
int64_t seep_watch_older_ns(const struct seep_watch_values *values, int64_t otherwise);
// Before anything is traced: whether --output can be written.
SEEP_MUST_CHECK struct seep_error *seep_watch_check_output(const struct seep_watch_values *values);
// With the hint for a place that ran full; NULL stays NULL.
SEEP_MUST_CHECK struct seep_error *seep_watch_saved(struct seep_error *err);

struct seep_watch {
    int64_t interval_ns;
    uint64_t count; // 0: no limit
    bool only_last; // `report` is called once
    void *data;
    // Until `until_ns` (CLOCK_MONOTONIC) or a signal; *ret_ended: nothing is left to watch.
    struct seep_error *(*wait)(void *data, int64_t until_ns, bool *ret_ended);
    struct seep_error *(*report)(void *data, bool last, bool ended);
};

// The operands [INTERVAL [COUNT]] and --quiet into `watch`; 5 seconds and no limit where they are not given.
SEEP_MUST_CHECK struct seep_error *seep_watch_rounds(const struct seep_watch_values *values,
                                                     char *const *operands, struct seep_watch *watch);

// A report at each interval, the last one when it has ended, COUNT is reached, or a signal came.
SEEP_MUST_CHECK struct seep_error *seep_watch_run(const struct seep_watch *watch);

// A `wait` for what goes on by itself.
SEEP_MUST_CHECK struct seep_error *seep_watch_sleep(void *data, int64_t until_ns, bool *ret_ended);

#endif
