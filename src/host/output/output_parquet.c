// SPDX-License-Identifier: BSD-2-Clause
// The format parquet: the events of a recording, which only seep export has (events_parquet.c).
#include "output/output.h"

static struct seep_error *write_parquet(FILE *out, struct seep_view *view,
                                        const struct seep_summary *summary) {
    return seep_error_hint(
        seep_error_create(SEEP_E_USAGE, "--format parquet has the events of a recording, and no report"),
        "seep export --format parquet FILE");
}

const struct seep_output seep_output_parquet = {
    .name = "parquet",
    .suffix = ".parquet",
    .what = "each event of a recording, for DuckDB, pandas, Spark (seep export)",
    .needs = SEEP_OUTPUT_EVENTS | SEEP_OUTPUT_BINARY,
    .write = write_parquet,
};
