// SPDX-License-Identifier: BSD-2-Clause
// The place of the database in a build without SQLite.
#include "output/output.h"

const struct seep_output seep_output_sqlite = {
    .name = "sqlite",
    .suffix = ".sqlite",
    .what = "a database for sqlite3",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL | SEEP_OUTPUT_BINARY,
    .lacks = "libsqlite3",
};
