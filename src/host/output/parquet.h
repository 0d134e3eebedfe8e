// SPDX-License-Identifier: BSD-2-Clause
//
// A small writer of Parquet: one flat table, no nulls, columns of numbers and texts, packed with zstd. A
// group of rows at a time is in memory, so the table may be of any length.
//
// Source: the format of Apache Parquet 2 (parquet-format: README, Encodings.md, parquet.thrift) and the
// compact protocol of Apache Thrift. Proof: tests/live/test_parquet.py reads it with a reader of its own, and
// with DuckDB where that is installed.
#ifndef SEEP_OUTPUT_PARQUET_H
#define SEEP_OUTPUT_PARQUET_H

#include <stdio.h>

#include "base/error.h"
#include "base/records.h"

// Types of columns. Text is UTF-8; no value is missing.
enum seep_parquet_type { SEEP_PARQUET_INT64, SEEP_PARQUET_UINT64, SEEP_PARQUET_TEXT };

// A column of the schema, in the order of the values of a row.
struct seep_parquet_column {
    const char *name;
    enum seep_parquet_type type;
};

// A page that is not written yet.
struct seep_parquet_page {
    struct seep_put raw;
    void *packed;
    size_t capacity;
    size_t nr_packed;
};

// What a column has in a group. The dictionary is unused where the encoding has none.
struct seep_parquet_pages {
    struct seep_parquet_page dictionary;
    struct seep_parquet_page data;
};

// The shortest way to write a column, when all were tried last.
struct seep_parquet_choice {
    unsigned char way; // of parquet.c
    double bytes_a_row;
};

struct seep_parquet {
    FILE *out;
    const struct seep_parquet_column *columns;
    uint32_t nr_columns;
    uint64_t at;          // bytes written
    uint64_t nr_rows;     // in all groups
    uint64_t group_rows;  // of the group at hand
    uint64_t group_bytes; // packed
    uint32_t column;      // that comes next
    uint32_t nr_groups;
    struct seep_put groups;              // their metadata, for the end of the file
    struct seep_put chunks;              // of the columns of this group
    struct seep_parquet_pages pages;     // of the column
    struct seep_parquet_pages trial;     // the same column in another way
    struct seep_parquet_choice *choices; // by column
    int64_t *distinct;                   // of a column with a dictionary
    uint32_t *indexes;
    struct seep_parquet_slot *slots;
    void *zstd; // ZSTD_CCtx
};

// What the stream does not take is told by ferror(out). Columns are borrowed.
SEEP_MUST_CHECK struct seep_error *seep_parquet_init(struct seep_parquet *ret_parquet, FILE *out,
                                                     const struct seep_parquet_column *columns,
                                                     uint32_t nr_columns);
// A group of at most SEEP_PARQUET_ROWS rows: then each column in order, then the end.
#define SEEP_PARQUET_ROWS (1u << 18)
void seep_parquet_begin_group(struct seep_parquet *parquet, uint32_t nr_rows);
SEEP_MUST_CHECK struct seep_error *seep_parquet_numbers(struct seep_parquet *parquet, const int64_t *values);
// By row the index of its text.
SEEP_MUST_CHECK struct seep_error *seep_parquet_texts(struct seep_parquet *parquet, const uint32_t *indexes,
                                                      const char *const *texts, uint32_t nr_texts);
void seep_parquet_end_group(struct seep_parquet *parquet);
// The end of the file.
SEEP_MUST_CHECK struct seep_error *seep_parquet_finish(struct seep_parquet *parquet);
void seep_parquet_deinit(struct seep_parquet *parquet);

#endif
