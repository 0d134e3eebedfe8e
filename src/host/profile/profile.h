// SPDX-License-Identifier: BSD-2-Clause
//
// The profile: what the host makes of one process, whatever it came from (a live image, a saved
// trace, later BPF maps or a foreign trace). Every view reads only this.
//
// Owner: a profile owns everything it points to, in its arena; it is read-only once made, except
// for what its docstring says. Ids are indices into its arrays and have been checked.
#ifndef SEEP_PROFILE_PROFILE_H
#define SEEP_PROFILE_PROFILE_H

#include <regex.h>

#include "base/note.h"
#include "core/platform.h"
#include "base/arena.h"
#include "base/error.h"
#include "image/layout.h"
#include "profile/chain.h"
#include "profile/pointers.h"

struct seep_symbol_name; // names/symbols.h
struct seep_symbol_place;
struct seep_module {
    const char *path; // as the loader named it; "" never occurs; "[vdso]" for the vdso
    uint64_t bias_rt; // run-time address minus ELF virtual address
    uint64_t start_rt;
    uint64_t end_rt;
    int64_t first_seen_ns; // since the start of the process's image
    int64_t unloaded_ns;   // same, or -1: still mapped at the end
    uint32_t build_id_bytes;
    uint8_t build_id[44];
    const struct seep_symbol_name *names; // functions, by offset, where there is no file to ask; else NULL
    uint32_t nr_names;
    const struct seep_symbol_place
        *places; // lines of it, by offset, where there is no file to ask; else NULL
    uint32_t nr_places;
};

// Stack tree. Node 0 is the root: no frame. parent < own id, so a loop towards 0 ends.
enum seep_node_kind {
    SEEP_NODE_FRAME, // (module, offset)
    SEEP_NODE_CUT,   // child of the root: the frames beyond are not known, `offset` is enum seep_cut
};
struct seep_node {
    uint32_t parent;
    uint32_t module : 28; // index in modules; 0 is "no module" (JIT code): offset is a run-time address
    bool exact : 1;       // offset is the instruction itself: do not subtract 1 to look it up
    uint8_t kind : 2;     // enum seep_node_kind
    uint64_t offset;      // ELF virtual address of the return address
};
#define SEEP_MODULES_MAX (UINT32_C(1) << 28)
_Static_assert(sizeof(struct seep_node) == 16, "big traces have millions of them");

struct seep_counters {
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t temporary;
    uint64_t peak_bytes; // exact when peak_exact of the profile, else a lower bound; where
                         // health.sample_bytes is not 0: recorded allocations behind the estimates
    uint64_t size_min;   // of requested sizes; size_min > size_max: no allocation
    uint64_t size_max;
    uint64_t at_peak_blocks; // live when the process's live bytes were highest; with at_peak of the profile
    uint64_t at_peak_bytes;
};

// What a scan (scan/scan.h) found out about a block, from worst to best.
enum seep_kind {
    SEEP_KIND_UNKNOWN,  // not scanned
    SEEP_KIND_LOST,     // no pointer to it anywhere
    SEEP_KIND_INDIRECT, // only lost blocks point to it
    SEEP_KIND_POSSIBLE, // only by pointers into the middle of blocks
    SEEP_KIND_REACHABLE,
    SEEP_KIND_NR
};

// Who holds memory: a variable, a thread, a mapping, or a block that several of them share.
struct seep_holder {
    const struct seep_chain *chain; // one root, or a block and one of those that hold it
    uint64_t bytes;                 // retained: what would be lost without it
    uint64_t blocks;
};

// Who holds blocks of a site, of one class: a variable, a thread, a mapping; of indirectly lost blocks, the
// lost blocks of one site.
struct seep_held {
    uint32_t site;
    uint8_t kind; // enum seep_kind, not lost: what is lost has no holder
    uint64_t blocks;
    uint64_t bytes;
    const struct seep_chain *chain; // to the largest of them; NULL: not known
};

#define SEEP_HELD_MAX 4u // holders of one class of a site that are kept, those of most blocks

struct seep_leaks {
    bool known; // a scan was made: profile.block_kinds are there
    uint64_t blocks[SEEP_KIND_NR];
    uint64_t bytes[SEEP_KIND_NR];
    int64_t pause_ns; // that the process was stopped for
    uint64_t read_bytes;
    uint64_t unread_bytes; // memory that should have been read and could not be
    uint32_t nr_threads;
    uint64_t suppressed_blocks; // in none of the classes above
    uint64_t suppressed_bytes;
    struct seep_holder *holders; // those that retain most, sorted; what one retains no other does
    uint32_t nr_holders;
    uint64_t nr_holders_all; // 0: not asked for
    struct seep_held *held;  // by site, then the worst kind first, then most blocks first
    uint32_t nr_held;
};

struct seep_site {
    uint32_t node;
    uint32_t via;                  // enum seep_via
    struct seep_counters counters; // summed over threads
    uint64_t live_blocks;          // allocations - frees, never below 0
    uint64_t live_bytes;
    uint8_t kind;                  // enum seep_kind: the worst of its blocks
    uint8_t held_kind;             // that of `held`: the same, but where that is lost the best
    const struct seep_chain *held; // to its largest block of held_kind; NULL: none, or not known
    uint64_t retained_bytes;       // where leaks.nr_holders_all: of its blocks and of what only they hold
};

struct seep_block {
    uint64_t address;
    uint64_t size;
    uint32_t site;
    uint32_t thread; // index in threads, or UINT32_MAX: not kept
    int64_t age_ns;  // at the moment of the snapshot, or -1: not kept
};

struct seep_thread {
    uint32_t tid;       // of the latest owner of the slot
    uint32_t nr_owners; // threads that used the slot, one after the other
    char name[17];
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
};

// What one thread counted for one site. Sorted by (site, thread).
struct seep_thread_site {
    uint32_t site;
    uint32_t thread;
    struct seep_counters counters;
    uint64_t slab_bytes; // of the kernel: that the slab allocator gave for what is live; 0: nothing of it
};
int seep_thread_site_compare(const void *left, const void *right); // for qsort()

// Mappings: memory that the program mapped by itself (mmap, mremap, brk, sbrk). A class of its own,
// in no figure of the heap. Bytes are of address space: what was never touched takes no memory.
struct seep_mapping_counts {
    uint64_t maps; // calls that made memory appear
    uint64_t mapped_bytes;
    uint64_t unmaps; // calls that took memory away, or a part of it
    uint64_t unmapped_bytes;
    uint64_t peak_bytes;
};

// A site of SEEP_VIA_FAULT is of this form and in no total: `maps` is the number of page faults, bytes are of
// the pages that they brought into memory, and live_bytes what of these was in memory at the moment of the
// snapshot.
struct seep_mapping_site {
    uint32_t site;
    struct seep_mapping_counts counts;
    uint64_t live_bytes; // mapped - unmapped, never below 0
    uint64_t nr_live;    // mappings that are left, or pieces of them
};

struct seep_mapping {
    uint64_t start;
    uint64_t bytes;
    uint32_t site;
    uint32_t kind;  // SEEP_MAPPING_*
    int64_t age_ns; // at the moment of the snapshot
};

// Blocks freed in a wrong way, by where they came from and where they were freed.
struct seep_wrong_release {
    uint32_t kind; // enum seep_misuse
    uint32_t site;
    uint32_t release_site;
    uint64_t count;
    uint64_t address;    // of the first
    uint64_t size;       // of the first; 0: not known
    uint32_t first_site; // of a double free: where the block was freed first; 0: not known
};

// A block that was freed, where the image keeps that (--free-stacks).
struct seep_freed {
    uint64_t address; // 0: none is known
    uint64_t size;
    uint32_t site;
    uint32_t release_site;
};

// A block that a realloc was given: no block of the profile, and its successor not yet.
struct seep_moving {
    uint64_t address;
    uint64_t size;     // 0: not known
    uint32_t tid;      // as the process itself sees it, or as probes do
    uint64_t stack_rt; // an address on the stack of that thread; 0: of probes
};

// An alternate signal stack, which the kernel alone may know.
struct seep_signal_stack {
    uint64_t start;
    uint64_t bytes; // at least; 0: not known
    uint32_t tid;   // of its thread, as the process itself sees it
};

// Pools of the program and the pieces they gave out, as it tells of them through seep.h. A class of
// its own: pieces lie inside blocks or mappings, and are in no figure of those. Their sites are among
// the sites, with via SEEP_VIA_POOL_*.
struct seep_pool {    // one that is there
    uint64_t handle;  // the address that the program knows it by
    const char *name; // NULL: none
    uint32_t site;    // where it was made, 0: not told
    int64_t age_ns;   // -1: not kept
};

struct seep_piece {
    uint64_t address;
    uint64_t bytes;
    uint32_t site;
    uint32_t pool;  // index in pools, or UINT32_MAX: of none
    int64_t age_ns; // -1: not kept
};

struct seep_pool_totals {
    uint64_t allocations; // from here to live_bytes: sums over the sites
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t pools_created;
    uint64_t pools_destroyed;
    uint64_t unknown_frees; // of pieces that were never seen
};

// What the program said about memory, for the scan. Not saved.
struct seep_region {
    uint64_t start;
    uint64_t bytes;
    uint32_t kind; // enum seep_region_kind
};

// A moment with a name, and what the sites had then. Sorted by time.
struct seep_mark_site {
    uint32_t site;
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t temporary;
};
struct seep_mark {
    const char *name;
    int64_t at_ns;                // since the start of the process's image
    uint32_t tid;                 // of the thread that made it; 0: the tool
    bool counted;                 // `sites` were kept
    struct seep_mark_site *sites; // by id; what is not there had nothing
    uint32_t nr_sites;
    uint32_t order; // in which it was added
};

// What the sites had at moments while the process ran, where somebody looked (growth/series.h). Sorted by
// time.
struct seep_snapshot_site {
    uint32_t site;
    uint64_t live_blocks;
    uint64_t live_bytes;
};
struct seep_snapshot {
    int64_t at_ns;       // since the start of the process's image
    uint64_t rss_bytes;  // 0: not known
    uint64_t used_bytes; // of the profile's limit, maybe with other processes; 0: not known
    struct seep_snapshot_site
        *sites; // by id: those that are not as in the snapshot before; at first, as nothing
    uint32_t nr_sites;
};
// What the image knows of the process's memory beside blocks and mappings. A trace keeps one of `own`: what
// the library gave before there was an allocator.
struct seep_hints {
    const struct seep_image_range *own; // private memory of the library
    size_t nr_own;
    const uint64_t *stacks; // an address on each thread's stack
    size_t nr_stacks;
    const struct seep_moving *moving; // reallocs at work
    size_t nr_moving;
    const struct seep_signal_stack *signal_stacks; // by tid
    size_t nr_signal_stacks;
    bool is_glibc; // its allocator
};

// The account of resident memory (analysis/account.h): what every byte of Rss is for.
enum seep_account_row {
    SEEP_ACCOUNT_BLOCKS,
    SEEP_ACCOUNT_ROUNDING, // an estimate
    SEEP_ACCOUNT_FREE,     // in heap areas, and in no block: what the allocator holds
    SEEP_ACCOUNT_MAPPINGS,
    SEEP_ACCOUNT_STACKS,
    SEEP_ACCOUNT_FILES,
    SEEP_ACCOUNT_IMAGE,
    SEEP_ACCOUNT_OWN,
    SEEP_ACCOUNT_UNEXPLAINED,
    SEEP_ACCOUNT_NR
};
struct seep_account {
    bool known;
    bool by_page; // else all of a range was taken for resident, up to what its area has
    uint64_t bytes[SEEP_ACCOUNT_NR];
    uint64_t rss_bytes; // the kernel's: the sum of the rows
    uint64_t pss_bytes;
    uint64_t swap_bytes;
    uint64_t untouched_bytes; // of live blocks: not in memory
};

enum seep_exit_kind {
    SEEP_EXIT_UNKNOWN,
    SEEP_EXIT_RUNNING,
    SEEP_EXIT_CODE,
    SEEP_EXIT_SIGNAL,
    SEEP_EXIT_EXEC, // no end: the process went on as another program, which is a profile of its own
};

struct seep_process {
    uint32_t pid;
    uint32_t ppid;
    uint32_t forked_from; // process that it was forked from, where that is known and no longer its parent; 0
    const char *exe;      // "": not known; never NULL
    const char *name;     // by which it was run, derived of exe and args; never NULL
    const char *const *args;
    uint32_t nr_args;
    uint32_t nr_args_all;      // more than nr_args: the rest was not kept
    int64_t start_realtime_ns; // CLOCK_REALTIME
    int64_t duration_ns;       // to the end, or to the snapshot
    uint64_t cpu_ns;           // that its threads had run when it was looked at, alive; 0: not known
    enum seep_exit_kind exit_kind;
    int exit_value; // code or signal number
    bool is_past;   // the figures are of a moment, and SEEP_EXIT_RUNNING says what it did then
    bool is_main;   // the program the user named, not one of its descendants
    struct seep_platform platform;
};

// What capture found out beside the image: bits of health.flags above those of the image. Where one is
// set, a note with the flag of the same name says why.
#define SEEP_HEALTH_UNTRACED    (1u << 30) // nothing was traced
#define SEEP_HEALTH_MISSING     (1u << 31) // something that there was is not here
#define SEEP_HEALTH_IMAGE_FLAGS (SEEP_HEALTH_UNTRACED - 1)

struct seep_health {
    uint64_t events;             // allocations + frees counted
    uint64_t lost[SEEP_LOST_NR]; // by enum seep_lost
    uint64_t cut[SEEP_CUT_NR];   // sites with a cut stack, by enum seep_cut
    uint64_t stacks_cut;         // sum of cut
    uint32_t state;              // enum seep_image_state
    uint32_t passive_reason;     // enum seep_passive_reason
    uint32_t flags;              // SEEP_FLAG_* and SEEP_HEALTH_*
    const char *preempted_by;    // module whose malloc is called instead of ours, or NULL
    struct seep_note *notes;     // other things a reader must know; only seep_profile_note adds to them
    size_t nr_notes;
    uint32_t depth_limit;
    uint64_t sample_bytes;
};

struct seep_totals {
    uint64_t allocations;
    uint64_t allocated_bytes;
    uint64_t frees;
    uint64_t freed_bytes;
    uint64_t live_blocks;
    uint64_t live_bytes;
    uint64_t peak_bytes;
    bool peak_exact;
    uint64_t peak_error_bytes; // when not exact: the true peak is within this of peak_bytes
    uint64_t temporary;
    uint64_t failed;        // allocations that returned NULL
    uint64_t unknown_frees; // frees of blocks that were never seen
    uint64_t by_function[SEEP_VIA_HEAP_NR];
    uint64_t releases[SEEP_RELEASE_NR];
    uint64_t size_class[SEEP_IMAGE_SIZE_CLASSES]; // see struct seep_image_thread
    // Of allocations: live blocks of its parent that a forked process began with. They count in both.
    uint64_t inherited_blocks;
    uint64_t inherited_bytes;
};

struct seep_stored; // session/session_store.h
struct seep_shared; // profile/shared.h
#define SEEP_NO_LEADER UINT32_MAX

struct seep_profile {
    struct seep_arena arena;
    const struct seep_stored *stored; // where the rest of it is; NULL: here, all of it
    struct seep_shared
        *shared; // what it has in common with others of its trace; NULL: nothing. It is an owner
    struct seep_process process;
    struct seep_health health;
    struct seep_totals totals;
    struct seep_module *modules; // [0] is "no module"
    uint32_t nr_modules;
    struct seep_node *nodes; // [0] is the root
    uint32_t nr_nodes;
    struct seep_site *sites; // [0] is never used
    uint32_t nr_sites;
    struct seep_block *blocks; // sorted by address
    size_t nr_blocks;
    struct seep_thread *threads; // of the kernel: processes that allocated, see seep_profile_is_kernel()
    uint32_t nr_threads;
    struct seep_thread_site *thread_sites;
    size_t nr_thread_sites;
    struct seep_leaks leaks;
    uint8_t *block_kinds; // by index in blocks: enum seep_kind; NULL unless leaks.known
    // By index in blocks: of one that is indirectly lost, the index of the lost block that it hangs under;
    // else SEEP_NO_LEADER. NULL: not known.
    uint32_t *leaders;
    // By index in blocks: the suppression of its leader, that lets it go too, in the same way as below. NULL:
    // none.
    uint32_t *let_go;
    // By site and kind of block: the suppression that takes it, as index + 1 in those of the session;
    // 0: none. NULL: none were applied. Not saved.
    uint32_t (*suppressed)[SEEP_KIND_NR];
    struct seep_mapping_counts mapping_totals;
    struct seep_mapping_site *mapping_sites; // sorted by site
    uint32_t nr_mapping_sites;
    struct seep_mapping *mappings; // sorted by address
    uint32_t nr_mappings;
    struct seep_wrong_release *wrong_releases; // the most frequent first
    uint32_t nr_wrong_releases;
    struct seep_pool_totals pool_totals;
    struct seep_pool *pools;
    uint32_t nr_pools;
    struct seep_piece *pieces; // sorted by address
    uint32_t nr_pieces;
    struct seep_region *regions;
    uint32_t nr_regions;
    struct seep_mark *marks;
    uint32_t nr_marks;
    // What the sites had when the live bytes of the process were highest, to within 1 %: the moment "peak".
    // Not `counted`: not known.
    struct seep_mark at_peak;
    uint64_t at_peak_bytes; // the live bytes then. Derived
    struct seep_snapshot *snapshots;
    uint32_t nr_snapshots;
    uint64_t limit_bytes;       // what memory may come to, as the kernel had it then; 0: none
    const char *limit;          // "memory.max of /user.slice"; NULL: none
    struct seep_growth *growth; // what they say (growth/growth.h), or NULL. Not saved
    const struct seep_pointers
        *pointers; // who points to whom, where a scan was asked for it; else NULL. Not saved
    struct seep_hints hints;
    struct seep_account account;
};

// A suppression that was applied, and what it took. Texts are in the arena of the first profile.
struct seep_suppression {
    const char *name;   // of a Valgrind entry, or "leak:PATTERN"
    const char *file;   // where it was read
    unsigned line;      // 0: built in
    bool given;         // by the user: neither built in nor the program's own
    const char *reason; // of what is built in: why; else NULL
    uint64_t nr_sites;
    uint64_t blocks;
    uint64_t bytes;
};

// A run: the profiles of one or more processes, the main one first, then in order of start.
struct seep_session {
    struct seep_profile **profiles; // malloc'ed, as are the profiles
    size_t nr_profiles;
    struct seep_suppression *suppressions; // in the order in which they were read; see analysis/suppress.h
    uint32_t nr_suppressions;
    bool suppressions_applied;        // some were given, or took something
    uint64_t nr_suppressions_skipped; // entries of their files that are not about leaks
    uint64_t event_index_off;         // of the recording in its file, as far as that is known; 0: it is not
    bool brief; // of a run that took so little time that it is made again rather than waited for: see _save
};

SEEP_MUST_CHECK struct seep_error *seep_profile_create(struct seep_profile **ret_profile);
// Its memory is that of `shared`, and ends with that: of a thousand profiles it fills a few large pieces.
SEEP_MUST_CHECK struct seep_error *seep_profile_create_sharing(struct seep_shared *shared,
                                                               struct seep_profile **ret_profile);
void seep_profile_destroy(struct seep_profile *profile); // takes NULL

SEEP_MUST_CHECK struct seep_error *seep_session_create(struct seep_session **ret_session);
// Owner: the session takes the profile, also when it fails (then the profile is destroyed).
SEEP_MUST_CHECK struct seep_error *seep_session_add(struct seep_session *session,
                                                    struct seep_profile *profile);
// A session of this process alone. Owner: as above.
SEEP_MUST_CHECK struct seep_error *seep_session_of(struct seep_profile *profile,
                                                   struct seep_session **ret_session);
void seep_session_destroy(struct seep_session *session); // takes NULL

// A pid is used again, but not with the same start.
static inline bool seep_process_is(const struct seep_process *process, uint32_t pid,
                                   int64_t start_realtime_ns) {
    return process->pid == pid && process->start_realtime_ns == start_realtime_ns;
}
// Whether the process executed another program, so that all its blocks are gone. false at a past moment,
// which is before the exec.
static inline bool seep_process_went_on(const struct seep_process *process) {
    return process->exit_kind == SEEP_EXIT_EXEC && !process->is_past;
}
// The index of the first of `nr` profiles of that process; `nr`: there is none.
size_t seep_profiles_find(struct seep_profile *const *profiles, size_t nr, uint32_t pid,
                          int64_t start_realtime_ns);
// The same, looked for from `from` on: at once where thousands have nearly the same order from look to look.
size_t seep_profiles_find_from(struct seep_profile *const *profiles, size_t nr, size_t from, uint32_t pid,
                               int64_t start_realtime_ns);

// The processes of this pid (0: any) whose program or first argument matches (NULL: any). SEEP_E_NOT_FOUND
// where there is none.
// Owner: *ret_some borrows the profiles and suppressions; its array of profiles is for the caller to free().
SEEP_MUST_CHECK struct seep_error *seep_session_select(const struct seep_session *session, uint64_t pid,
                                                       const regex_t *program, struct seep_session *ret_some);
// What it selects by (first_arg NULL: there is none), and its error.
bool seep_process_is_selected(uint32_t own_pid, const char *exe, const char *first_arg, uint64_t pid,
                              const regex_t *program);
SEEP_MUST_CHECK struct seep_error *seep_session_none_selected(size_t nr_processes);

// Fills the derived figures: live_* of sites, totals except those only capture knows (peak, failed,
// unknown_frees, releases, size_class), events, stacks_cut, and checks no invariant. Call it once
// after filling sites, thread_sites and threads.
void seep_profile_derive(struct seep_profile *profile);

// Derives the part of health that follows from the totals alone.
void seep_profile_derive_health(struct seep_profile *profile);

// Of exe and args; seep_profile_derive() does it too.
void seep_process_name_derive(struct seep_profile *profile);
// A text that the process has put in place of its arguments; the same as them, or NULL, changes nothing.
SEEP_MUST_CHECK struct seep_error *seep_process_set_title(struct seep_profile *profile, const char *title);
// "postgres: walwriter"; NULL: it has none.
const char *seep_process_title_of(const struct seep_process *process);
// Profiles that are derived from now on have no arguments but the first, the program's name: others may be
// passwords.
void seep_process_drop_args(void);
// The name is not that of the executable: it was run through a link, or has a title.
bool seep_process_is_named_otherwise(const struct seep_process *process);

// Fills leaks.blocks, leaks.bytes and the kinds of sites from block_kinds, and sets leaks.known.
void seep_profile_derive_leaks(struct seep_profile *profile);
// The blocks that count as leaks: lost and indirectly lost ones, or, where no scan was made, all that
// are live; without those that are suppressed.
struct seep_leaked {
    uint64_t blocks;
    uint64_t bytes;
};
struct seep_leaked seep_profile_leaked(const struct seep_profile *profile);

// The holders of a site, *ret_nr of them; 0: none are known, but site.held may be.
const struct seep_held *seep_profile_held(const struct seep_profile *profile, uint32_t site,
                                          uint32_t *ret_nr);
// The suppression that takes a block: index + 1 in those of the session; 0: none. `site` and `kind` of
// the block.
static inline uint32_t seep_profile_suppressed(const struct seep_profile *profile, uint32_t site,
                                               uint32_t kind) {
    return profile->suppressed ? profile->suppressed[site][kind] : 0;
}
// The same of one block: one that is indirectly lost goes with the lost block that it hangs under.
static inline uint32_t seep_profile_block_suppressed(const struct seep_profile *profile, size_t block) {
    uint32_t kind = profile->block_kinds ? profile->block_kinds[block] : SEEP_KIND_UNKNOWN;
    uint32_t by = seep_profile_suppressed(profile, profile->blocks[block].site, kind);
    return by || !profile->let_go ? by : profile->let_go[block];
}
#define SEEP_KINDS_LEAKED (1u << SEEP_KIND_LOST | 1u << SEEP_KIND_INDIRECT)
#define SEEP_KINDS_UNHELD (SEEP_KINDS_LEAKED | 1u << SEEP_KIND_POSSIBLE)
extern const char *const seep_kind_names[SEEP_KIND_NR + 1]; // by enum seep_kind, ends with NULL
const char *seep_kind_name(uint32_t kind);                  // "lost", "indirect", "possible", "reachable"
// When the last `percent` of a process's time began, in ns after its start; 0 per cent: INT64_MAX, never.
int64_t seep_profile_late_ns(const struct seep_profile *profile, unsigned percent);
// Whether a block was born then; one without an age was not.
bool seep_profile_is_late(const struct seep_profile *profile, const struct seep_block *block,
                          unsigned percent);

// The moment at which the program began to leave: the last mark named "exit", with its counts. NULL: not
// known.
const struct seep_mark *seep_profile_exit_mark(const struct seep_profile *profile);

// They are in the order of time once the profile is derived. The name and the sites are borrowed: of the
// profile's arena.
SEEP_MUST_CHECK struct seep_error *seep_profile_add_mark(struct seep_profile *profile,
                                                         const struct seep_mark *mark);

// Whether blocks of the heap came through it: they make the totals.
static inline bool seep_via_is_heap(uint32_t via) {
    return via < SEEP_VIA_HEAP_NR || via >= SEEP_VIA_NR;
}
static inline bool seep_via_is_pool(uint32_t via) {
    return via == SEEP_VIA_POOL_ALLOC || via == SEEP_VIA_POOL_RESIZE;
}

// Lower-case names as they appear in reports and JSON, e.g. "malloc", "operator new[]",
// "no_leaf"; "unknown" for a value outside the enum.
const char *seep_via_name(uint32_t via);
const char *seep_release_name(uint32_t release);
const char *seep_misuse_name(uint32_t misuse); // "mismatch", "double_free", "inside"

// Memory of the kernel: its "threads" are the processes that it was allocated in. The first is for those that
// were not recorded, and "[interrupt]" with tid 0 is all interrupts.
bool seep_profile_is_kernel(const struct seep_profile *profile);
// The module whose functions stand for the kernel's allocators: "kmalloc", "pages".
#define SEEP_KERNEL_ALLOCATORS   "allocator"
#define SEEP_KERNEL_PROCESS_NAME 32u
// "812 bash"; in `text` or static.
const char *seep_kernel_process_name(const struct seep_thread *process, char text[SEEP_KERNEL_PROCESS_NAME]);

#endif
