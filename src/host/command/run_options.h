// SPDX-License-Identifier: BSD-2-Clause
//
// The options of `seep run`: their values, and what of them contradicts what else.
#ifndef SEEP_COMMAND_RUN_OPTIONS_H
#define SEEP_COMMAND_RUN_OPTIONS_H

#include "command/options.h"
#include "command/report_options.h"

// The choices of --mode.
enum seep_run_mode { SEEP_MODE_LIVE, SEEP_MODE_COUNT, SEEP_MODE_LOG, SEEP_MODE_RECORD };

// Of seep_run_group.
struct seep_run_values {
    const char *output;
    const char *report;
    bool quiet;
    uint64_t error_exitcode;
    uint64_t depth;
    uint64_t sample_bytes;
    bool age;
    bool free_stacks;
    int wipe_freed; // -1: as the command has it
    int children;   // 1: ignore
    bool no_wait;
    bool no_args;
    const char *html;
    const char *allocator;
    uint64_t rounds;
    int mode; // enum seep_run_mode
    bool drop;
    uint64_t keep_bytes;
    const char *log;
    uint64_t log_fd;
    const char *log_columns;
    int scan; // 0: yes
    int64_t interval_ns;
    uint64_t count;
    const char *snap_at;
};

// Of --snap-at: per cent of the limit, or bytes.
struct seep_run_threshold {
    uint64_t bytes;
    unsigned percent;
};

// What would make the run useless, before it: a run can take hours. `judged`: it has a judgement at its end,
// so that trace and report are made only where they are asked for. Writes nothing that stays.
SEEP_MUST_CHECK struct seep_error *seep_run_check(const struct seep_run_values *values,
                                                  const struct seep_view_options *view, bool judged,
                                                  struct seep_run_threshold *ret_threshold);

// The name of a mode for the library; NULL: live.
const char *seep_run_mode_name(const struct seep_run_values *values);

// Whether more is asked for than a comparison of allocators can have: --allocator, --rounds and --report.
bool seep_run_asks_to_trace(const struct seep_run_values *values);

#endif
