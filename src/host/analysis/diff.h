// SPDX-License-Identifier: BSD-2-Clause
//
// What changed between two sessions: snapshots, marks, runs, versions of a program. Two views, each with
// all its rows, and the pairs of rows that are the same thing.
//
// Stacks are the same when their frames are, by module, function, line and, of the same build, offset; what
// is left over, by module, function and line; and what is then left over (code moved), by module and
// function: in each group first those of the same sizes, then in order of their lines, and of their code
// where they share a line. Modules are compared by their name without folder and version; the program itself
// is itself, whatever its file is called.
#ifndef SEEP_ANALYSIS_DIFF_H
#define SEEP_ANALYSIS_DIFF_H

#include "view/view.h"

enum seep_diff_change {
    SEEP_DIFF_SAME,
    SEEP_DIFF_NEW,
    SEEP_DIFF_GONE,
    SEEP_DIFF_GREW,
    SEEP_DIFF_SHRANK,
    SEEP_DIFF_WORSE,  // holds as much, but more of it is lost, or possibly lost
    SEEP_DIFF_BETTER, // holds as much, and less of that is lost
    SEEP_DIFF_EMPTY,  // holds nothing in either
    SEEP_DIFF_NR
};

// What a scan called lost, of a row that may be NULL: those that only lost blocks point to are lost too.
struct seep_diff_lost {
    int64_t blocks;
    int64_t bytes;
    int64_t possible_blocks;
    int64_t possible_bytes;
};

struct seep_diff_row {
    const struct seep_view_row *before; // NULL: was not there
    const struct seep_view_row *after;  // NULL: is there no more
    int64_t live_bytes;                 // after - before, as are the others
    int64_t live_blocks;
    int64_t allocations;
    int64_t allocated_bytes;
    int64_t frees;
    int64_t temporary;
    struct seep_diff_lost lost; // all 0 unless both were scanned
    uint8_t change;             // enum seep_diff_change, by live bytes, then blocks, then what is lost
    bool moved;                 // paired although lines differ
};

struct seep_diff {
    struct seep_view *before;
    struct seep_view *after;
    struct seep_diff_row *rows; // most growth first; the top ones only
    size_t nr_rows;
    size_t nr_rows_all;
    size_t nr_changes[SEEP_DIFF_NR]; // of all rows
    size_t nr_newly_lost;            // rows that lost more blocks or bytes than before
    struct seep_diff_row all;        // the sum; before and after are those of the views
    bool scanned_before;             // a process of it was scanned for leaks
    bool scanned_after;
    bool other_program;  // the main programs have different names
    bool other_sampling; // one is sampled and the other is not, or by another distance
};

// Options as of views; sort is by the change of that figure. The sessions and the symbols must outlive it.
SEEP_MUST_CHECK struct seep_error *seep_diff_create(const struct seep_session *before,
                                                    const struct seep_session *after,
                                                    struct seep_symbols *symbols,
                                                    const struct seep_view_options *options,
                                                    struct seep_diff **ret_diff);
void seep_diff_destroy(struct seep_diff *diff); // takes NULL

// Lost and indirectly lost together; NULL has nothing.
struct seep_diff_lost seep_diff_lost_of(const struct seep_view_row *row);

// "same", "new", "gone", "grew", "shrank", "worse", "better", "empty"
const char *seep_diff_change_name(uint32_t change);

#endif
