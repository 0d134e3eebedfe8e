// SPDX-License-Identifier: BSD-2-Clause
//
// Questions in SQL to a trace (`seep sql`): the tables of --format sqlite, and `event`, a virtual table over
// the chunks of a recording: nothing is imported. docs/sql.md has the schema.
#ifndef SEEP_OUTPUT_SQL_H
#define SEEP_OUTPUT_SQL_H

#include <stdio.h>

#include "output/event_source.h"
#include "view/summary.h"
#include "view/view.h"

// How rows are printed. TABLE is for people at a terminal.
enum seep_sql_form { SEEP_SQL_TEXT, SEEP_SQL_TABLE, SEEP_SQL_CSV, SEEP_SQL_JSON };

struct seep_sql;

// NULL, or the library that this build lacks.
extern const char *const seep_sql_lacks;

// Makes the view by site, of all rows, with blocks, when a statement reads one of these.
struct seep_sql_sites {
    struct seep_error *(*make)(const void *data, struct seep_view **ret_view);
    struct seep_error *(*add_births)(const void *data); // to the blocks of the view, before they are read
    const void *data;
};

// All are borrowed as long as it lives. `view` is of the processes; where `sites` is NULL of their sites too.
SEEP_MUST_CHECK struct seep_error *seep_sql_open(struct seep_view *view, const struct seep_sql_sites *sites,
                                                 const struct seep_summary *summary,
                                                 const struct seep_event_source *events,
                                                 struct seep_sql **ret_sql);
void seep_sql_close(struct seep_sql *sql); // takes NULL

// One or more statements; what they find is written in that form.
SEEP_MUST_CHECK struct seep_error *seep_sql_run(struct seep_sql *sql, const char *statements,
                                                enum seep_sql_form form, FILE *out);
// Ends the statements that run, with an error. For signal handlers, too.
void seep_sql_stop(struct seep_sql *sql);

#endif
