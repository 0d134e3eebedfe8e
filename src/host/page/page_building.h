// SPDX-License-Identifier: BSD-2-Clause
//
// What the files that make the data of a page share: the page that is built, round by round, and its source.
#ifndef SEEP_PAGE_PAGE_BUILDING_H
#define SEEP_PAGE_PAGE_BUILDING_H

#include "analysis/diff.h"
#include "page/page_data.h"
#include "page/page_lives.h"
#include "page/page_pack.h"
#include "page/page_times.h"
#include "page/page_tree.h"

enum seep_site_column {
    SITE_PROCESS,
    SITE_NODE, // the difference to the one before
    SITE_SELF, // the difference to the frame of the node, + 1
    SITE_MODULE,
    SITE_VIA,
    SITE_KNOWN,
    SITE_LIVE_BYTES,
    SITE_LIVE_BLOCKS,
    SITE_ALLOCATIONS,     // less what is live or was freed, which is most often all of them
    SITE_ALLOCATED_BYTES, // the same
    SITE_FREES,
    SITE_FREED_BYTES,
    SITE_TEMPORARY,
    SITE_PEAK_BYTES,
    SITE_AT_PEAK_BYTES,
    SITE_SIZE_MIN,
    SITE_SIZE_MAX,
    SITE_KIND,
    SITE_LOST_BYTES,
    SITE_LOST_BLOCKS,
    SITE_INDIRECT_BYTES,
    SITE_INDIRECT_BLOCKS,
    SITE_POSSIBLE_BYTES,
    SITE_POSSIBLE_BLOCKS,
    SITE_REACHABLE_BYTES,
    SITE_REACHABLE_BLOCKS,
    SITE_RETAINED_BYTES,
    SITE_SUPPRESSED_BYTES,
    SITE_HELD,
    SITE_ROOT,
    SITE_HOLDER, // the site that has the pointer to it, + 1
    SITE_TYPE,
    SITE_CUT,
    SITE_GROWTH,
    SITE_SLOPE,
    SITE_OLD_LIVE_BYTES,
    SITE_OLD_LIVE_BLOCKS,
    SITE_OLD_ALLOCATIONS,
    SITE_OLD_ALLOCATED_BYTES,
    SITE_OLD_FREES,
    SITE_OLD_TEMPORARY,
    SITE_CHANGE,
    SITE_FOLDED, // how many smaller sites it is; 0: it is one
    SEEP_SITE_COLUMNS
};

// Their names and forms. 'u' unsigned, 's' signed, 'f' eight bytes of a double, 'p' planes of bytes.
extern const struct seep_site_form {
    const char *name;
    char form;
} seep_site_forms[SEEP_SITE_COLUMNS];

// One round: the page with the sites that weigh enough.
struct seep_page_building {
    const struct seep_page_source *source;
    struct seep_page_tree tree;
    struct seep_page_column sites[SEEP_SITE_COLUMNS];
    size_t nr_sites;
    uint32_t last_node;
    struct seep_page_times times;
    struct seep_page_lives lives;
    double least; // sites of less weight are folded; 0: none
    size_t nr_folded;
};

// What is shown: the processes of the source, or a diff.
struct seep_page_shown {
    struct seep_view_options options;       // of the views
    struct seep_view *whole;                // the view of the one process; NULL: there are several, or a diff
    struct seep_diff *diff;                 // NULL: none
    struct seep_page_column threads, sizes; // groups, of which none folds; not of a diff
};

// ---- page_sites.c ----

// A row without figures, for a site that one side of a diff lacks.
extern const struct seep_view_row seep_page_no_row;
// Puts the sites of a process, and of a diff.
SEEP_MUST_CHECK struct seep_error *seep_page_put_view(struct seep_page_building *building,
                                                      struct seep_view *view, size_t process);
SEEP_MUST_CHECK struct seep_error *seep_page_put_diff(struct seep_page_building *building,
                                                      const struct seep_diff *diff);

// ---- page_sections.c ----

// Groups of rows by keys other than sites, as the JSON report has them. Empty if the session lacks the data
// for them.
SEEP_MUST_CHECK struct seep_error *seep_page_put_groups(const struct seep_page_source *source,
                                                        enum seep_view_by by,
                                                        struct seep_page_column *column);
// The part of sites: a line of JSON that lists the sections, and the sections.
SEEP_MUST_CHECK struct seep_error *seep_page_assemble_sites(struct seep_page_building *building,
                                                            const struct seep_page_shown *shown,
                                                            struct seep_page_column *ret_part);
// The part of times; empty where there are none.
SEEP_MUST_CHECK struct seep_error *seep_page_assemble_times(struct seep_page_building *building,
                                                            struct seep_page_column *ret_part);

#endif
