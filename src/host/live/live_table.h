// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of a live screen or console: those of a view of the last look, each with what came since the look
// before, since the mark, and how it went; and what is known of one of them.
#ifndef SEEP_LIVE_LIVE_TABLE_H
#define SEEP_LIVE_LIVE_TABLE_H

#include "live/live.h"
#include "view/view.h"

enum seep_live_sort {
    SEEP_LIVE_SORT_LIVE,
    SEEP_LIVE_SORT_RATE,
    SEEP_LIVE_SORT_SINCE,
    SEEP_LIVE_SORT_BLOCKS,
    SEEP_LIVE_SORT_ALLOCATIONS, // per second; where that is not known, of all time
    SEEP_LIVE_SORT_TEMPORARY,   // the same
    SEEP_LIVE_SORT_NR
};
extern const char *const seep_live_sort_names[SEEP_LIVE_SORT_NR + 1]; // ends with NULL

struct seep_live_table;

struct seep_live_query {
    int by;   // enum seep_view_by
    int sort; // enum seep_live_sort
    size_t top;
    const char *filter; // NULL or "": none. A regular expression, or a text, whatever the case of its letters
    uint32_t tid;       // what this thread did; 0: all
    uint32_t kinds;     // of the last scan: bits of enum seep_kind; 0: of the last look, all
    bool full_paths;
    bool no_rows; // only the view is wanted, as by a call tree
    // A table that was made before: what depends on the look alone is copied from it, if it is of the same
    // look. NULL: there is none.
    const struct seep_live_table *like;
};

struct seep_live_row {
    const struct seep_view_row *row;
    const char *where; // what the row is of; foreign text
    const char *brief; // the same in fewer columns, "function:12", "function"; NULL: there is nothing shorter
    bool per_s_known;
    double bytes_per_s;
    double allocations_per_s;
    bool since_known;
    int64_t since_bytes;
    int64_t since_blocks;
    int temporary_percent;            // of the allocations; -1: there are none, or it is not known
    uint64_t trend[SEEP_LIVE_POINTS]; // live bytes, the oldest first
    size_t nr_trend;
    enum seep_trend_verdict verdict;
    uint32_t process; // index in the session: of `site`, or of the thread
    uint32_t site;    // of its sites the one that has most; 0: not known
    uint64_t key;     // the same from look to look
};

struct seep_live_table {
    const struct seep_session *session; // borrowed
    int64_t at_ns;                      // of its look, or its scan
    struct seep_view *view;
    struct seep_live_row *rows; // malloc'ed
    size_t nr_rows;
    size_t nr_rows_all;
};

// The table is of the latest look; where query->kinds is not 0, of the latest scan. `session` stays NULL
// where there is none. _deinit frees it.
SEEP_MUST_CHECK struct seep_error *seep_live_table_make(const struct seep_live *live,
                                                        struct seep_symbols *symbols,
                                                        const struct seep_live_query *query,
                                                        struct seep_live_table *ret_table);
void seep_live_table_deinit(struct seep_live_table *table); // of zeros, too

// ---- one row ----

#define SEEP_LIVE_AGES 4u // <1m, <10m, <1h, more

#define SEEP_LIVE_SOURCE 5u // lines

struct seep_live_frame {
    const char *text; // "function (file:line)", foreign
    bool inlined;
};

struct seep_live_detail {
    struct seep_arena arena;
    struct seep_live_frame *frames; // innermost first; of the row's biggest site
    size_t nr_frames;
    uint32_t nr_more; // beyond
    uint32_t self;    // the frame that the row is of
    const char *via;
    // The lines of the source around that frame's, if the file is on this machine.
    const char *source[SEEP_LIVE_SOURCE];
    unsigned source_first;
    unsigned nr_source;
    unsigned source_line;    // the frame's own
    uint64_t sizes[64];      // live blocks by the power of two at or below their size
    uint64_t size_least[64]; // of those: what they have in common where it is the same as the most
    uint64_t size_most[64];
    bool ages_known;
    uint64_t ages[SEEP_LIVE_AGES];
    // Of the last scan.
    bool scanned;
    uint64_t kinds[SEEP_KIND_NR]; // blocks
    const char *held;             // by whom; NULL: not known
};
SEEP_MUST_CHECK struct seep_error *seep_live_detail_make(const struct seep_live *live,
                                                         struct seep_symbols *symbols,
                                                         const struct seep_live_table *table, size_t row,
                                                         struct seep_live_detail *ret_detail);
void seep_live_detail_deinit(struct seep_live_detail *detail); // of zeros, too

#endif
