// SPDX-License-Identifier: BSD-2-Clause
//
// A view: what one report shows of a session. Filtered, grouped, sorted, cut to the top, with the
// names of what is shown. The same stack in several processes or at several load addresses is one
// row: stacks are compared by (module path and build-id, offset).
//
// Invariant: before the cut to the top, and without filters, the rows add up to the totals in every
// figure that all rows know.
//
// Filters
//  --function, --file, --module  sites with any frame (inlined ones too) that matches
//  --thread                      what threads whose name or tid matches did; live is then net (below)
//  --min-size, --max-size, --older  live blocks of that size and age; needs the blocks
//  --since, --until, --ignore-last  live blocks by when they were born; need the ages
//  --pid, --program  only these processes; what is left is a session of its own (seep_session_select)
//  --kind  live blocks that a scan put in these classes
// Suppressions (analysis/suppress.h) filter nothing: what they take stays in the figures of a row, and is
// told beside them; but rows of which they take all come behind the others.
// A figure that a filter leaves unknown is missing from `known`, never guessed.
#ifndef SEEP_VIEW_VIEW_H
#define SEEP_VIEW_VIEW_H

#include <regex.h>

#include "base/map.h"
#include "view/chain_words.h"
#include "growth/growth.h"
#include "profile/profile.h"
#include "profile/runtime_memory.h"
#include "names/symbols.h"

enum seep_view_sort {
    SEEP_SORT_LIVE,
    SEEP_SORT_LEAKED, // lost and indirectly lost bytes; the same as live without a scan
    SEEP_SORT_ALLOCATIONS,
    SEEP_SORT_BYTES, // allocated over the whole time
    SEEP_SORT_PEAK,
    SEEP_SORT_TEMPORARY,
    SEEP_SORT_SIZE,   // mean size of a block: live ones where there are any, else of all allocations
    SEEP_SORT_BLOCKS, // live ones
    SEEP_SORT_AGE,    // of the oldest live block; needs the ages
    SEEP_SORT_EXIT,   // most bytes freed only at exit; needs the mark that --age makes there
    SEEP_SORT_GROWTH, // what grows without bound first, the fastest of it; needs snapshots
    SEEP_SORT_NR
};
// By live bytes, or by allocations where nothing is live.
#define SEEP_SORT_AUTO (-1)

// Everything but SITE attributes a site to one frame: the innermost one that is not in the C or C++
// runtime (libc, loader, libstdc++, allocator libraries, functions of namespace std), or the
// innermost of all where there is no other.
enum seep_view_by {
    SEEP_BY_SITE, // a stack and the allocation function it called
    SEEP_BY_FUNCTION,
    SEEP_BY_FILE,
    SEEP_BY_LINE,
    SEEP_BY_MODULE,
    SEEP_BY_THREAD,
    SEEP_BY_SIZE, // power-of-two classes of requested sizes
    SEEP_BY_PROCESS,
    SEEP_BY_NR
};

#define SEEP_FORMAT_DEFAULT (-1)       // not given: text
#define SEEP_TOP_DEFAULT    UINT64_MAX // not given: 10; of outputs for programs all

// Whose suppressions are printed with a report.
enum seep_gen { SEEP_GEN_NONE, SEEP_GEN_VALGRIND, SEEP_GEN_LSAN };

// Which way a tree of functions grows.
enum seep_tree { SEEP_TREE_NONE, SEEP_TREE_CALLEES, SEEP_TREE_CALLERS };

// An option that says what the figures are of, for the command that is told next.
struct seep_view_given {
    const char *name;
    const char *value; // NULL: it has none
};

struct seep_view_options {
    uint64_t top; // 0: all
    int sort;     // enum seep_view_sort or SEEP_SORT_AUTO
    int by;       // enum seep_view_by
    bool blocks;  // keep the live blocks of shown rows
    uint64_t min_size;
    uint64_t max_size;
    int64_t older_ns;     // -1: any age
    unsigned ignore_last; // per cent of the run: blocks born in it are left out
    const char *since;    // marks: only live blocks born between them; NULL: any; borrowed
    const char *until;
    uint32_t kinds;    // bits of enum seep_kind; 0: any
    regex_t *function; // NULL: any; borrowed, as are the others
    regex_t *file;
    regex_t *module;
    regex_t *thread;
    regex_t *any; // a frame of which the function, the file or the module matches
    // Orders the rows by the sum of this over their sites, in place of `sort`; of rows of threads and sizes
    // there is none. NULL: not asked for.
    int64_t (*measure)(const void *data, uint32_t process, uint32_t site);
    const void *measure_data;
    uint64_t limit_bytes; // what memory may come to; 0: what the snapshots say
    uint64_t pid;         // 0: any process
    regex_t *program;     // NULL: any
    bool rss;             // the account of resident memory
    bool full_paths;
    bool full_names;  // of functions
    bool full_stacks; // frames of the C++ library, too
    bool each_stack;  // stacks that are one in the source stay rows of their own
    bool no_demangle;
    const char *sysroot; // a folder with the files of the traced system; NULL: this one's
    bool lost_first;     // rows by site without --sort
    bool all_rows;       // nothing is cut to the top, which the output cuts in a way of its own
    bool no_names;       // of functions, files and modules none is asked for; with by site and each_stack
    bool no_leaders;     // no summary is made of the view
    uint32_t site;       // of one process: only this site; 0: all
    // A view of the session that has these processes, too, with the same symbols. The session has not changed
    // since. Its stacks are copied, which is cheaper than to make them. NULL: there is none.
    const struct seep_view *like;
    // Which output; see seep_output_of() in output/output.h.
    int format; // in seep_output_names; SEEP_FORMAT_DEFAULT
    int json;   // 0: not asked for; 1: the newest schema; 2: schema 1
    bool csv;
    int tree;             // enum seep_tree
    int gen_suppressions; // enum seep_gen
    const struct seep_view_given *given;
    size_t nr_given;
};

extern const struct seep_view_options seep_view_options_default;

// Figures of a row that are known.
#define SEEP_KNOWN_LIVE        (1u << 0)
#define SEEP_KNOWN_ALLOCATIONS (1u << 1)
#define SEEP_KNOWN_BYTES       (1u << 2)
#define SEEP_KNOWN_FREES       (1u << 3)
#define SEEP_KNOWN_TEMPORARY   (1u << 4)
#define SEEP_KNOWN_PEAK        (1u << 5) // of one site only: peaks of several do not add up
#define SEEP_KNOWN_SIZES       (1u << 6)
#define SEEP_KNOWN_AT_PEAK     (1u << 7)
#define SEEP_KNOWN_ALL         0xffu

struct seep_view_frame {
    const char *function; // NULL: not known
    const char *name;     // of the function, as people read it; NULL: not known
    const char *file;     // NULL: not known; as it is to be shown
    const char *path;     // of the file: whole, by which the C++ library is known
    unsigned line;        // 0: not known
    const char *module;   // as it is to be shown; "[jit]" for code without a file
    uint64_t offset;      // ELF virtual address of the return address; run-time address in "[jit]"
    uint64_t function_offset;
    bool inlined;
    bool runtime;        // in the C or C++ runtime
    uint64_t build;      // the same where the module is the same build; 0: not known
    const char *linkage; // the mangled name; NULL: none
    // A cycle ends here: the last `fold_frames` frames, this one included, occur `fold_times` times in
    // a row. The copies follow, marked `folded`.
    uint32_t fold_frames;
    uint32_t fold_times;
    bool folded;
    uint32_t left_out; // return addresses before this one that are not here; 0 but for one frame of a stack
};

struct seep_view_block {
    uint64_t address;
    uint64_t size;
    int64_t age_ns; // -1: not known
    uint32_t tid;   // 0: not known
    uint32_t process;
    uint8_t kind; // enum seep_kind
};

// What a scan said of live blocks that are not suppressed, by enum seep_kind; [0]: of processes not scanned.
struct seep_view_kinds {
    uint64_t blocks[SEEP_KIND_NR];
    uint64_t bytes[SEEP_KIND_NR];
};

// How many classes have a block.
uint32_t seep_view_nr_kinds(const struct seep_view_kinds *kinds);

// Blocks and their bytes as requested.
struct seep_view_amount {
    uint64_t blocks;
    uint64_t bytes;
};

struct seep_view_share { // what one process has in a row
    uint32_t process;    // index in the session
    int64_t live_bytes;
    int64_t live_blocks;
};

struct seep_view_row {
    const char *key;     // NULL with SEEP_BY_SITE
    uint32_t known;      // SEEP_KNOWN_*
    int64_t live_blocks; // below 0 only where live is net
    int64_t live_bytes;
    struct seep_counters counters;
    bool peak_exact; // with SEEP_KNOWN_PEAK; else peak_bytes is a lower bound
    uint64_t nr_sites;
    int64_t leaked_bytes;          // lost and indirectly lost; 0 without a scan
    struct seep_view_amount owned; // its lost blocks, and the indirectly lost ones that hang under them
    uint8_t kind;                  // enum seep_kind: the worst of its blocks that are not suppressed
    struct seep_view_kinds kinds;  // all 0 without a scan
    int64_t suppressed_blocks;     // of the live ones
    int64_t suppressed_bytes;
    // Live blocks that are not suppressed, of processes that then executed another program. No process holds
    // these blocks any more. 0 with one process, or at a past moment.
    int64_t gone_blocks;
    int64_t gone_bytes;
    uint32_t suppressed_by; // index + 1 in the session's suppressions: the first that takes of it; 0: none
    uint8_t held_kind;      // what `held` leads to
    const struct seep_chain *held; // of the first site that has the worst kind; NULL: none, or not known
    uint32_t held_process;         // index in the session, of `held`
    uint32_t held_site;            // in that process
    uint64_t retained_bytes;       // of its sites, where all of their blocks pass; 0: not known
    bool retains_twice;  // a process has several such sites, which may hold one another: it is not known
    uint64_t slab_bytes; // of the kernel: see struct seep_thread_site; 0: none, or not known
    int64_t oldest_ns;   // -1: not known
    int64_t measure;     // as the options ask for it
    uint32_t thread; // with SEEP_BY_THREAD: index of the process's threads; else, or not known, UINT32_MAX
    uint64_t exit_blocks; // freed only when the program was leaving: what is not called a leak, and was held
                          // all the time
    uint64_t exit_bytes;
    bool exit_all;                       // nothing of it was freed before the exit, and all of it at the exit
    const struct seep_growth_of *growth; // of its sites together, in the process where they grow most; NULL:
                                         // without snapshots, or nothing was live in them
    uint32_t growth_process;             // which process that is: index in the session
    uint32_t via;                        // enum seep_via, with SEEP_BY_SITE
    uint32_t node;                       // with SEEP_BY_SITE: for seep_view_frames; else 0
    int cut;                             // enum seep_cut, or -1: complete
    // With options.blocks: by address. nr_blocks may be less than live_blocks (losses).
    struct seep_view_block *blocks;
    size_t nr_blocks;
    struct seep_view_share *shares; // one per process that has it, in session order
    uint32_t nr_shares;
};

// Memory mapped at one place. Of `stack` only what seep_view_frames needs is there, and `via`.
struct seep_view_mapping {
    struct seep_view_row stack;
    struct seep_mapping_counts counts;
    uint64_t live_bytes;
    uint64_t nr_live;
    uint32_t process; // index in the session
    uint32_t site;
};

// What one place took of the program's pools. Of `stack` only what seep_view_frames needs is there, and
// `via`.
struct seep_view_pool_site {
    struct seep_view_row stack;
    struct seep_counters counters;
    uint64_t live_blocks;
    uint64_t live_bytes;
    const char *name; // of the pools that its live pieces are of; NULL: none, or several names
    bool several;     // several names
    uint32_t process; // index in the session
    uint32_t site;
};

// The live pools of one name, in one process.
struct seep_view_pool {
    const char *name; // NULL: those without one, or pieces without a pool (nr_pools 0)
    uint32_t process;
    uint64_t nr_pools;
    uint64_t nr_pieces;
    uint64_t bytes;
};

struct seep_view_wrong_release {
    struct seep_view_row from;  // where the block was allocated
    struct seep_view_row at;    // where it was freed
    struct seep_view_row first; // where it was freed first, if what.first_site is known
    struct seep_wrong_release what;
    uint32_t process;
    bool is_uncertain; // seep_profile_is_uncertain
};

struct seep_view_trouble {
    const char *module; // as it is to be shown
    const char *why;    // NULL: not known
    bool lacks_file;    // which is elsewhere, or gone
    bool is_runtime;    // of C or C++: no frame of it is named as the place
    bool is_stripped;   // the file is there, and has no symbols, or only those that it exports
    bool is_installed;  // below a folder of the system, so that a package may have its symbols
};

#define SEEP_VIEW_GROWING 5u

// What a summary is about, whatever the order of the rows is.
enum seep_lead {
    SEEP_LEAD_LEAKED,    // bytes lost, and those indirectly lost that hang under them
    SEEP_LEAD_LIVE,      // live bytes
    SEEP_LEAD_PEAK,      // bytes live at the peak
    SEEP_LEAD_TEMPORARY, // allocations that were freed at once
    SEEP_LEAD_ALLOCATED, // allocations
    SEEP_LEAD_BYTES,     // bytes of all allocations
    SEEP_LEAD_NR
};

// The rows that have most of it, the first of them first, of all that pass the filters, suppressed ones left
// out; `all`: what all rows have. One place of the source may be many rows: a function that calls itself has
// one for each depth. SEEP_VIEW_LEADERS rows are leaders. Each other row is added to the leader of its place
// and callers. A row that has no such leader is a leader, too, up to SEEP_VIEW_LEADERS_MOST. The value of any
// further row is in `of_others` of the first leader of its place.
#define SEEP_VIEW_LEADERS      1024u
#define SEEP_VIEW_LEADERS_MOST 1280u
struct seep_view_leaders {
    struct seep_view_leader {
        uint64_t value;
        uint64_t of_others;   // value of further rows of this place, by unknown callers
        uint64_t allocations; // these are the row's
        uint64_t allocated_bytes;
        uint64_t frees;
        uint64_t peak_bytes;
        bool peak_exact;
        uint32_t via;
        uint32_t node;
        uint32_t held_process;
        const struct seep_chain *held;
    } * rows; // in the arena; SEEP_VIEW_LEADERS_MOST at most
    size_t nr_rows;
    uint64_t all;
};

// What was freed only at exit: the sum of what the rows say, of all sites that pass the filters.
struct seep_view_exit {
    bool known; // the mark is there
    uint64_t nr_sites;
    uint64_t blocks;
    uint64_t bytes;
};

struct seep_view {
    const struct seep_session *session; // borrowed
    struct seep_view_options options;   // borrowed regexes; sort and top as they were resolved
    size_t first_process;               // the profiles looked at
    size_t nr_processes;
    bool sampled;     // figures are estimates; counters.peak_bytes of a row is the number of samples
    bool live_is_net; // live = allocated minus freed by the same threads; frees by others are not in it
    bool filtered;    // a filter other than top was given
    struct seep_arena arena;
    struct seep_stacks *stacks;
    uint32_t **nodes;     // by profile looked at: its nodes to those of stacks
    uint32_t *alike;      // by node of stacks: the one whose row it has, see stacks_alike.h; NULL: itself
    uint32_t **site_rows; // by profile looked at and site: index in rows + 1; 0: in none of them
    struct seep_chain_words *words;          // of seep_view_chain
    struct seep_map classes;                 // of seep_view_class: by module and vtable
    struct seep_view_frame *scratch;         // of seep_view_frames
    const struct seep_view_frame **expanded; // by frame: what it comes to; NULL: not asked for yet
    size_t scratch_capacity;
    struct seep_view_row *rows;     // sorted, the top ones only
    struct seep_view_row *own_rows; // the same, where all are kept; else NULL
    size_t nr_rows;
    size_t nr_rows_all;
    size_t nr_rows_live;                       // of all: those with live blocks that are not suppressed
    size_t nr_rows_temporary;                  // of all: those of which something was freed at once
    struct seep_view_row all;                  // the sum of all rows, also those that are not shown
    struct seep_totals totals;                 // of the looked-at profiles, without filters
    struct seep_mapping_counts mapping_totals; // the same; peaks are summed
    uint64_t map_live_bytes;
    uint64_t nr_map_live;
    struct seep_view_mapping *mappings; // by what is still mapped, the top ones only
    size_t nr_mappings;
    size_t nr_mappings_all;
    struct seep_view_mapping *faults; // of SEEP_VIA_FAULT: by what is still in memory, the top ones only
    size_t nr_faults;
    size_t nr_faults_all;
    uint64_t fault_bytes; // of all: still in memory
    uint64_t nr_page_faults;
    struct seep_pool_totals pool_totals;    // of the looked-at profiles, without filters
    struct seep_view_pool_site *pool_sites; // most live bytes first, the top ones only
    size_t nr_pool_sites;
    size_t nr_pool_sites_all;
    struct seep_view_pool *pools; // most live bytes first
    size_t nr_pools;
    struct seep_view_wrong_release *wrong_releases;
    size_t nr_wrong_releases;
    struct seep_view_exit at_exit;
    struct seep_view_row
        *growing; // the rows of sites that grow without bound, the fastest first; at most SEEP_VIEW_GROWING
    size_t nr_growing;
    size_t nr_growing_all;
    struct seep_view_leaders leaders[SEEP_LEAD_NR]; // with SEEP_BY_SITE
    // Of the rows whose stacks are cut: what they allocated and hold.
    uint64_t cut_allocations;
    uint64_t cut_live_bytes;
    bool cut_in_mappings; // a stack of a mapping or page fault is cut
    bool cut_by_go;       // all of these that have no call-frame information end in the Go runtime
    struct seep_view_trouble *without_symbols; // modules of which only the offset could be shown
    size_t nr_without_symbols;
    const char **without_lines; // modules with all names and no line
    size_t nr_without_lines;
};

// `process` is an index in the session, or SIZE_MAX for all. `symbols` is used for what is shown and
// for what a filter or --by needs. SEEP_E_UNSUPPORTED where the session does not keep what an option
// needs. The session and the symbols must outlive the view.
SEEP_MUST_CHECK struct seep_error *seep_view_create(const struct seep_session *session, size_t process,
                                                    struct seep_symbols *symbols,
                                                    const struct seep_view_options *options,
                                                    struct seep_view **ret_view);
void seep_view_destroy(struct seep_view *view); // takes NULL

// The leaders of what one process held at its own peak. No filter applies. Sites stand in place of rows, with
// `value`, `allocations`, `via` and `node`. `process` is an index in the session, and one of the view.
SEEP_MUST_CHECK struct seep_error *seep_view_peak_leaders(struct seep_view *view, size_t process,
                                                          struct seep_view_leaders *ret_leaders);

// Bytes of the pieces of a runtime whose single blocks are worth another run: all that are blocks; those that
// are mapped if they are many, and more than the heap ever was. Else 0, also if the view is filtered.
uint64_t seep_view_runtime_bytes(const struct seep_view *view, enum seep_runtime runtime);

// What memory of a process may come to, as the user or its snapshots say; 0: not known. *ret_left: how much
// of it is left.
uint64_t seep_view_limit(const struct seep_view *view, uint32_t process, uint64_t *ret_left);

// "partly " before the kind of a row whose blocks are of several kinds, which is the worst of them; else "".
const char *seep_view_partly(const struct seep_view_row *row);

// The stack of a SEEP_BY_SITE row, innermost frame first, inlined frames included. At most
// SEEP_VIEW_DEPTH return addresses, of which the outermost SEEP_VIEW_OUTERMOST; *ret_more are left out
// between, as the first of those says. Valid until the next call.
#define SEEP_VIEW_DEPTH     4096u
#define SEEP_VIEW_OUTERMOST 256u
SEEP_MUST_CHECK struct seep_error *seep_view_frames(struct seep_view *view, const struct seep_view_row *row,
                                                    const struct seep_view_frame **ret_frames, size_t *ret_nr,
                                                    uint32_t *ret_more);

// The one to name as the line to look at (names/library_code.h); NULL: there are none.
const struct seep_view_frame *seep_view_blamed(const struct seep_view_frame *frames, size_t nr);

// One frame of a return address, as it is shown; `symbol` is that of `frame` (seep_stacks_resolve).
struct seep_view_frame seep_view_frame_of(const struct seep_view *view, uint32_t frame,
                                          const struct seep_symbol *symbol, unsigned index);

// What the chain begins at, in words, which live as long as the view: a variable, a stack, or a block that
// several lead to, and where one of those begins. NULL for NULL, and for a chain that was saved as a text.
SEEP_MUST_CHECK struct seep_error *seep_view_root(struct seep_view *view, uint32_t process,
                                                  const struct seep_chain *chain, const char **ret_text);

// A chain of the process with that index in the session, in words, which live as long as the view. NULL
// for NULL. *ret_type, where it is asked for, is what its last pointer is declared to lead to, NULL: not
// known.
SEEP_MUST_CHECK struct seep_error *seep_view_chain(struct seep_view *view, uint32_t process,
                                                   const struct seep_chain *chain, const char **ret_text,
                                                   const char **ret_type);

// The holders of the row's blocks, the worst class first, most blocks first. NULL: `held` is all that is
// known, or the row has not all blocks of one site.
const struct seep_held *seep_view_held(const struct seep_view *view, const struct seep_view_row *row,
                                       uint32_t *ret_nr);

// The class of a C++ object of that process, by the address of its vtable; NULL: it has no name. Lives as
// long as the view.
SEEP_MUST_CHECK struct seep_error *seep_view_class(struct seep_view *view, uint32_t process, uint32_t module,
                                                   uint64_t vtable, const char **ret_class);

const char *seep_view_sort_name(int sort);
const char *seep_view_by_name(int by);
// The same, as tables that end with NULL, for option parsing.
extern const char *const seep_view_sort_names[];
extern const char *const seep_view_by_names[];

#endif
