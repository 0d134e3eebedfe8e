// SPDX-License-Identifier: BSD-2-Clause
//
// The parts of the JSON report that are files of their own. For report_json*.c.
#ifndef SEEP_OUTPUT_REPORT_JSON_H
#define SEEP_OUTPUT_REPORT_JSON_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/account.h"
#include "analysis/ages.h"
#include "analysis/process_tree.h"
#include "output/json_stack.h"
#include "output/output.h"
#include "view/stack_table.h"
#include "view/view_pins.h"

// The views of one process. Of several processes, only one has its views at a time.
struct seep_json_part {
    struct seep_view *sites;
    bool borrowed;                   // the sites are the view that was given
    struct seep_view *groups;        // NULL: not asked for
    struct seep_stack_filler filler; // schema 2: of the sites
    struct seep_view_pins pins;      // schema 2 with --rss; else all 0
};

struct seep_json_report {
    const struct seep_summary *summary;
    FILE *out;
    unsigned schema;
    struct seep_process_tree tree;
    struct seep_view *all;         // of all processes together; borrowed
    struct seep_stack_table table; // schema 2
    struct seep_json_stack texts;  // schema 1
    struct seep_json_part part;    // the process at hand
};

// Writes and takes `value`, which may be NULL for out of memory.
SEEP_MUST_CHECK struct seep_error *seep_json_dump(FILE *out, json_t *value);

// report_json_sections.c: each writes its key and what belongs to it, of the process at hand, or nothing.
SEEP_MUST_CHECK struct seep_error *seep_json_put_mappings(struct seep_json_report *report);
SEEP_MUST_CHECK struct seep_error *seep_json_put_faults(struct seep_json_report *report);
SEEP_MUST_CHECK struct seep_error *seep_json_put_pools(struct seep_json_report *report);
SEEP_MUST_CHECK struct seep_error *seep_json_put_wrong_releases(struct seep_json_report *report);
SEEP_MUST_CHECK struct seep_error *seep_json_put_account(struct seep_json_report *report, size_t process);

// The value of a key; NULL: out of memory.
json_t *seep_json_of_marks(const struct seep_profile *profile);
// report_json_growth.c
json_t *seep_json_of_exit(uint64_t blocks, uint64_t bytes, bool all);
json_t *seep_json_of_exit_sum(const struct seep_view_exit *all);
json_t *seep_json_of_ages(const struct seep_ages *ages);
json_t *seep_json_of_growth(const struct seep_growth_of *growth, uint64_t limit, uint64_t left);
json_t *seep_json_of_process_growth(const struct seep_view *view, uint32_t process);

#endif
