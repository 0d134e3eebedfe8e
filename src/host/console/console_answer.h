// SPDX-License-Identifier: BSD-2-Clause
//
// What several commands of the console need for their answers.
#ifndef SEEP_CONSOLE_CONSOLE_ANSWER_H
#define SEEP_CONSOLE_CONSOLE_ANSWER_H

#include "console/console.h"
#include "output/grid.h"

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        struct seep_error *try_error = (call);                                                               \
        if (try_error)                                                                                       \
            return try_error;                                                                                \
    } while (0)

// Parses a decimal number. Errors: the message begins with `what`.
SEEP_MUST_CHECK struct seep_error *seep_console_parse_count(const char *what, const char *text,
                                                            uint64_t *ret_value);

// Prints the grid as text or JSON. If `error` is set, the grid could not be made: prints nothing and returns
// `error`. Frees the rows of the grid in either case.
SEEP_MUST_CHECK struct seep_error *seep_console_answer(const struct seep_console *console, FILE *out,
                                                       const char *name, struct seep_grid *grid,
                                                       struct seep_error *error);
// Prints what was done: an object for JSON, else the sentence.
SEEP_MUST_CHECK struct seep_error *seep_console_done(const struct seep_console *console, FILE *out,
                                                     const char *name, const char *text);

// Of the last look; valid until the next one.
struct seep_session *seep_console_session(const struct seep_console *console);
// The session with blocks, mappings and marks. Over a link these are fetched here, not with each look. The
// console owns the session.
SEEP_MUST_CHECK struct seep_error *seep_console_whole(struct seep_console *console,
                                                      struct seep_session **ret_session);

// Takes suppressed blocks out of the leaks of the session, the first time.
SEEP_MUST_CHECK struct seep_error *seep_console_suppress(const struct seep_console *console,
                                                         struct seep_session *session);

bool seep_console_runs(const struct seep_console *console);
// An error that names the command where no process runs.
SEEP_MUST_CHECK struct seep_error *seep_console_needs_run(const struct seep_console *console,
                                                          const char *what);

struct seep_console_rows {
    const char *name;  // of the command
    int by;            // enum seep_by
    int sort;          // enum seep_live_sort
    uint64_t top;      // rows; 0: all
    uint32_t kinds;    // bits by enum seep_kind: only blocks of these classes of the last scan; 0: all blocks
    bool all_threads;  // also where one thread is set
    bool growing;      // only what grows without bound
    const char *empty; // the answer where there are no rows
};
// Answers with the rows of the last look.
SEEP_MUST_CHECK struct seep_error *seep_console_put_rows(struct seep_console *console,
                                                         const struct seep_console_rows *rows, FILE *out);

#endif
