// SPDX-License-Identifier: BSD-2-Clause
//
// Inside of the view, shared by the view*.c files only: what is at work while a view is made.
// Order: filters (which sites, threads and blocks count), figures (what each site has, under the
// filters), grouping (sites to rows).
#ifndef SEEP_VIEW_VIEW_BUILD_H
#define SEEP_VIEW_VIEW_BUILD_H

#include "view/stacks.h"
#include "view/view.h"

// What one site, thread or size class adds to a row.
struct seep_view_figures {
    int64_t live_blocks;
    int64_t live_bytes;
    struct seep_counters counters;
    uint32_t known;
    bool peak_exact;
    int64_t oldest_ns;
    int64_t leaked_bytes;
    struct seep_view_amount owned;
    uint8_t kind; // the worst of the blocks that pass
    struct seep_view_kinds kinds;
    const struct seep_chain *held;
    uint8_t held_kind;
    uint32_t held_site;
    uint64_t retained_bytes;
    uint64_t slab_bytes;
    int64_t suppressed_blocks;
    int64_t suppressed_bytes;
    uint32_t suppressed_by; // of one of them
    uint64_t exit_blocks;
    uint64_t exit_bytes;
    bool exit_all;
};

struct seep_view_part {    // one profile
    int64_t born_least_ns; // since its start: what passes was born from here on, until before there
    int64_t born_most_ns;
    const struct seep_profile *profile;
    uint32_t process;                  // index in the session
    uint32_t *nodes;                   // profile node to node of the common tree; of the view
    bool *site_ok;                     // passes the filters on frames
    bool *thread_ok;                   // passes --thread
    struct seep_view_figures *figures; // by site
    uint32_t *site_row;                // by site: row + 1, in the end of the rows that are kept; of the view
};

struct seep_view_build {
    struct seep_view *view;
    struct seep_stacks *stacks;
    struct seep_view_part *parts;
    size_t nr_parts;
    bool *node_passes; // by node: its stack passes the filters on frames
    bool scanned;      // one of the session's processes, at least
    bool filter_frames;
    bool filter_blocks;    // by size, age or kind: live comes from the blocks
    bool filter_ages;      // among that by age, or when it was born
    uint32_t kinds;        // bits 1 << kind that pass; 0: any
    bool blocks_of_thread; // --thread or --by thread, and every block names its thread

    struct seep_view_row *rows;
    size_t nr_rows;
    size_t rows_capacity;
    struct seep_map row_of_key;
    // For rows of one frame: what the key is made of. Parallel to rows.
    struct seep_view_label {
        const char *text; // the key itself, or NULL: made of file, line, module
        const char *file;
        unsigned line;
        uint32_t module; // of the stacks, or UINT32_MAX
    } * labels;
    size_t labels_capacity;
    struct seep_texts functions;
    struct seep_texts files;
    // Symbols share their texts: id in functions and files, by the address of the text.
    struct seep_map function_ids;
    struct seep_map file_ids;
};

// Whether the rows of a profile are those of its threads.
bool seep_view_by_threads(const struct seep_view_options *options, const struct seep_profile *profile);

// view_filter.c
SEEP_MUST_CHECK struct seep_error *seep_view_build_parts(struct seep_view_build *build);
uint8_t seep_view_kind_of(const struct seep_view_part *part, const struct seep_block *block);
bool seep_view_block_ok(const struct seep_view_build *build, const struct seep_view_part *part,
                        const struct seep_block *block);

// view_figures.c
// Makes the figures of a part, whose filters are there.
SEEP_MUST_CHECK struct seep_error *seep_view_build_figures(struct seep_view_build *build,
                                                           struct seep_view_part *part);
void seep_view_figures_init(struct seep_view_figures *figures);
void seep_counters_merge(struct seep_counters *into, const struct seep_counters *from);

// view_mappings.c
SEEP_MUST_CHECK struct seep_error *seep_view_build_mappings(struct seep_view_build *build);

// view_exit.c
void seep_view_find_exit(struct seep_view_build *build, const struct seep_view_part *part);

// view_growth.c
// Judges the growth of the rows of a part's sites. Called once each site has its row.
SEEP_MUST_CHECK struct seep_error *seep_view_add_growth(struct seep_view_build *build,
                                                        const struct seep_view_part *part);
double seep_view_growth_key(const struct seep_view_row *row);
SEEP_MUST_CHECK struct seep_error *seep_view_build_leaders(struct seep_view_build *build);
SEEP_MUST_CHECK struct seep_error *seep_view_build_growing(struct seep_view_build *build);

// view_pools.c
SEEP_MUST_CHECK struct seep_error *seep_view_build_pools(struct seep_view_build *build);

// view_group.c
SEEP_MUST_CHECK struct seep_error *seep_view_build_rows(struct seep_view_build *build);
SEEP_MUST_CHECK struct seep_error *seep_view_build_labels(struct seep_view_build *build);

#endif
