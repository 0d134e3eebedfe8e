// SPDX-License-Identifier: BSD-2-Clause
//
// What a user names as FILE|PID|CORE, and how it becomes a session: a table, one file for each kind. A new
// kind is a `struct seep_source_ops` in source_<name>.c of this folder and a name in SEEP_SOURCES; every
// command that shows a session takes it then.
#ifndef SEEP_SESSION_SOURCE_H
#define SEEP_SESSION_SOURCE_H

#include <sys/types.h>

#include "profile/profile.h"

struct seep_scan_options;
struct seep_source;

struct seep_source_options {
    // Of a file at least the processes that seep_session_select() would take; the others are not read where
    // that is possible.
    uint64_t only_pid;
    const regex_t *program;
    const char *trace; // of a core: what was traced of its process; NULL: looked for beside it
};

struct seep_source_ops {
    const char *form; // as a user writes it
    bool is_live;     // a process: the next snapshot may be another
    // Whether the text names one. The first of the table that says so has it.
    bool (*takes)(const char *spec);
    SEEP_MUST_CHECK struct seep_error *(*open)(struct seep_source *source); // NULL: there is nothing to open
    SEEP_MUST_CHECK struct seep_error *(*snapshot)(struct seep_source *source,
                                                   struct seep_session **ret_session);
    // The same with its blocks classed by what points to them. NULL: its memory is not there.
    SEEP_MUST_CHECK struct seep_error *(*scan)(struct seep_source *source,
                                               const struct seep_scan_options *options,
                                               struct seep_session **ret_session);
    void (*close)(struct seep_source *source); // NULL: nothing was opened
};

struct seep_source {
    const struct seep_source_ops *ops;
    const char *spec; // borrowed
    struct seep_source_options options;
    pid_t pid;  // of one that is a process
    void *data; // of the kind
};

// In the order in which they are asked.
#define SEEP_SOURCES(SOURCE)                                                                                 \
    SOURCE(pid)                                                                                              \
    SOURCE(stream)                                                                                           \
    SOURCE(core)                                                                                             \
    SOURCE(file)

// `spec` and what `options` names are borrowed as long as the source is open; options NULL: none.
SEEP_MUST_CHECK struct seep_error *seep_source_open(const char *spec,
                                                    const struct seep_source_options *options,
                                                    struct seep_source *ret_source);
// Nothing of the source may be used after that; sessions that were made of it stay.
void seep_source_close(struct seep_source *source);

// May be called again for a source that is live.
SEEP_MUST_CHECK struct seep_error *seep_source_snapshot(struct seep_source *source,
                                                        struct seep_session **ret_session);
// Opens, scans and closes the source. A trace gives the scan that was made when it was saved. Errors:
// SEEP_E_UNSUPPORTED if its memory is not there and was not scanned; SEEP_E_USAGE if an option belongs to
// another kind of source.
SEEP_MUST_CHECK struct seep_error *seep_session_scan(const char *spec,
                                                     const struct seep_source_options *source_options,
                                                     const struct seep_scan_options *options,
                                                     struct seep_session **ret_session);
// The account of resident memory, where `spec` is a process; else nothing is done.
SEEP_MUST_CHECK struct seep_error *seep_session_take_account(const char *spec, struct seep_session *session);

// Digits only: then *ret_pid, if it fits a pid.
SEEP_MUST_CHECK struct seep_error *seep_parse_pid(const char *text, bool *ret_is_pid, pid_t *ret_pid);

#endif
