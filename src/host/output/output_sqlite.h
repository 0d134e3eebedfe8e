// SPDX-License-Identifier: BSD-2-Clause
// The tables of a trace in a database of SQLite: for --format sqlite and for `seep sql`.
#ifndef SEEP_OUTPUT_OUTPUT_SQLITE_H
#define SEEP_OUTPUT_OUTPUT_SQLITE_H

#include <sqlite3.h>

#include "view/summary.h"
#include "view/view.h"

SEEP_MUST_CHECK struct seep_error *seep_sqlite_fill(sqlite3 *db, struct seep_view *view,
                                                    const struct seep_summary *summary, bool blocks);
SEEP_MUST_CHECK struct seep_error *seep_sqlite_fill_blocks(sqlite3 *db, const struct seep_view *view);

#endif
