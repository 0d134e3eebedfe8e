// SPDX-License-Identifier: BSD-2-Clause
//
// Rows of `seep sql` on a terminal: columns one under another, numbers at the right, no line wider than the
// terminal. A text that has no room is cut and ends with "…"; a line under the table counts these. Where even
// narrow columns have no room, each row is a group of lines with one value each. A long value takes several
// lines.
#ifndef SEEP_OUTPUT_SQL_TABLE_H
#define SEEP_OUTPUT_SQL_TABLE_H

#include <stdio.h>

#include "base/error.h"

struct seep_sql_table;

// The columns of a statement. `out` is borrowed.
SEEP_MUST_CHECK struct seep_error *seep_sql_table_begin(FILE *out, unsigned nr_columns,
                                                        struct seep_sql_table **ret_table);
// The next value, from left to right: the names of the columns, then rows. NULL: there is none.
SEEP_MUST_CHECK struct seep_error *seep_sql_table_add(struct seep_sql_table *table, const char *text,
                                                      bool is_number);
// Writes what is left. Takes `error`, which is returned, and the table (NULL is taken).
SEEP_MUST_CHECK struct seep_error *seep_sql_table_end(struct seep_sql_table *table, struct seep_error *error);

#endif
