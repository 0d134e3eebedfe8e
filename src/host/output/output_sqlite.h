// SPDX-License-Identifier: BSD-2-Clause
// The tables of a trace in a database of SQLite: for --format sqlite and for `seep sql`.
#ifndef SEEP_OUTPUT_OUTPUT_SQLITE_H
#define SEEP_OUTPUT_OUTPUT_SQLITE_H

#include <sqlite3.h>

#include "view/summary.h"
#include "view/view.h"

// The tables, of which those of sites (site, stack, frame) and blocks are empty: each is filled when it is
// asked for.
SEEP_MUST_CHECK struct seep_error *seep_sqlite_begin(sqlite3 *db, const struct seep_view *view,
                                                     const struct seep_summary *summary);
SEEP_MUST_CHECK struct seep_error *seep_sqlite_fill_sites(sqlite3 *db, struct seep_view *view);
SEEP_MUST_CHECK struct seep_error *seep_sqlite_fill_blocks(sqlite3 *db, const struct seep_view *view);

#endif
