// SPDX-License-Identifier: BSD-2-Clause
//
// The outputs: forms in which a view can be written. To add one: a file with one
// `const struct seep_output seep_output_<name>`, output_<name>.c, its name in SEEP_OUTPUTS below and a line
// in docs/formats.md. That gives `--format <name>`, `seep export --format <name>`, help and completion.
#ifndef SEEP_OUTPUT_OUTPUT_H
#define SEEP_OUTPUT_OUTPUT_H

#include <stdio.h>

#include "view/summary.h"
#include "view/view.h"

// What an output needs, and how it is treated.
#define SEEP_OUTPUT_SITES    (1u << 0)  // a view by site
#define SEEP_OUTPUT_ALL      (1u << 1)  // all rows, unless --top says otherwise
#define SEEP_OUTPUT_ROWS     (1u << 6)  // all rows; the output itself applies --top
#define SEEP_OUTPUT_BINARY   (1u << 2)  // nothing for a terminal
#define SEEP_OUTPUT_BLOCKS   (1u << 3)  // the live blocks of the rows
#define SEEP_OUTPUT_PATHS    (1u << 4)  // whole paths of files and modules
#define SEEP_OUTPUT_LEAKS    (1u << 5)  // only what leaks, where that is known
#define SEEP_OUTPUT_EVENTS   (1u << 8)  // each event of a recording: for seep export, which writes it itself
#define SEEP_OUTPUT_LOST     (1u << 9)  // what is lost first, unless --sort says otherwise
#define SEEP_OUTPUT_HEALTH   (1u << 10) // the output says how complete its figures are
#define SEEP_OUTPUT_POINTERS (1u << 7)  // profile->pointers: no trace, but a process or a core file

struct seep_output {
    const char *name;
    const char *suffix; // of a file: ".json"
    const char *what;   // one line, no full stop
    uint32_t needs;     // SEEP_OUTPUT_*
    bool is_json;
    const char *lacks; // the library that this build was made without, and write is NULL; else NULL
    // Streams: nothing of the size of the view is kept but what the format forces. Errors: those of views;
    // of writing the stream tells.
    struct seep_error *(*write)(FILE *out, struct seep_view *view, const struct seep_summary *summary);
};

// In the order of help; the first is the default.
#define SEEP_OUTPUTS(X)                                                                                      \
    X(text)                                                                                                  \
    X(tree)                                                                                                  \
    X(json)                                                                                                  \
    X(json1)                                                                                                 \
    X(csv)                                                                                                   \
    X(pprof)                                                                                                 \
    X(otlp)                                                                                                  \
    X(folded)                                                                                                \
    X(sqlite)                                                                                                \
    X(heapsnapshot)                                                                                          \
    X(dhat)                                                                                                  \
    X(speedscope)                                                                                            \
    X(callgrind)                                                                                             \
    X(massif)                                                                                                \
    X(heaptrack)                                                                                             \
    X(dot)                                                                                                   \
    X(md)                                                                                                    \
    X(quickfix)                                                                                              \
    X(valgrind)                                                                                              \
    X(lsan)
// Outputs of events, which only seep export has. A row is a line, which the build reads.
// clang-format off
#define SEEP_EVENT_OUTPUTS(X) \
    X(parquet)
// clang-format on

#define SEEP_OUTPUT_DECLARE(name) extern const struct seep_output seep_output_##name;
SEEP_OUTPUTS(SEEP_OUTPUT_DECLARE)
SEEP_EVENT_OUTPUTS(SEEP_OUTPUT_DECLARE)

extern const struct seep_output *const seep_outputs[]; // ends with NULL
extern const char *const seep_output_names[];          // the same, for option parsing
extern const char *const seep_output_report_names[];   // without the outputs of events

// The output that the options ask for, by --format or one of its aliases.
const struct seep_output *seep_output_of(const struct seep_view_options *options);

#endif
