// SPDX-License-Identifier: BSD-2-Clause
//
// Makes tables, trees and details of the live screen: at once, or in a thread of its own, so that a key is
// answered however long the table of a large heap takes. One job at a time.
//
// Invariant: while a job is at work, what it has borrowed is not changed: `live`, the symbols, and the table
// that it names.
#ifndef SEEP_SCREEN_SCREEN_MAKER_H
#define SEEP_SCREEN_SCREEN_MAKER_H

#include "live/live_table.h"
#include "screen/screen_tree.h"

#define SEEP_INPUT_MAX 200u

struct seep_screen_job {
    const struct seep_live *live; // borrowed, as the next
    struct seep_symbols *symbols;
    bool of_row; // the detail of `row` is made; else a table

    // What a table is made of.
    struct seep_live_query query;
    char filter[SEEP_INPUT_MAX]; // that of the query
    int tab;                     // enum seep_tab
    bool tree;

    // What a detail is made of.
    const struct seep_live_table *table; // borrowed
    size_t row;

    // What was made, and the screen takes. With an error: nothing, or a table without its tree.
    struct seep_live_table made;
    struct seep_screen_tree made_tree; // without rows
    struct seep_live_detail made_detail;
    struct seep_error *error;
};

// Makes the table or the detail that the job asks for. Context: any thread.
void seep_screen_job_do(struct seep_screen_job *job);

struct seep_screen_maker;
SEEP_MUST_CHECK struct seep_error *seep_screen_maker_create(struct seep_screen_maker **ret_maker);
void seep_screen_maker_destroy(struct seep_screen_maker *maker); // takes NULL; no job may be at work
int seep_screen_maker_fd(const struct seep_screen_maker *maker); // readable when a job is done

// No other job may be at work. The job is borrowed until it is done.
void seep_screen_maker_start(struct seep_screen_maker *maker, struct seep_screen_job *job);
// Waits for the job, at most so long; INT64_MAX: as long as it takes. true: it is done.
bool seep_screen_maker_wait(struct seep_screen_maker *maker, int64_t most_ns);

#endif
