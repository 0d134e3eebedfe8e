// SPDX-License-Identifier: BSD-2-Clause
//
// A session held against budgets and a baseline: what `seep check` decides. No printing.
//
// A leak is what leaked through one function of allocation by one chain of functions, over all
// processes and whatever the lines were: that is its key, and the entry of a baseline. Frames of the C
// and C++ runtime are one line of it with the name of the library, because their functions have names
// only where its debug information is installed; what is outside of main is left out. The
// executable is "[program]" there: a leak is the same whatever the file is called.
#ifndef SEEP_ANALYSIS_CHECK_H
#define SEEP_ANALYSIS_CHECK_H

#include <regex.h>

#include "analysis/baseline.h"
#include "profile/profile.h"
#include "names/symbols.h"

#define SEEP_NO_BUDGET UINT64_MAX

struct seep_check_options {
    uint64_t max_leaked; // bytes beyond the baseline; with 0 no block may leak, even one of 0 bytes
    uint64_t max_peak;   // bytes, of any process
    uint64_t max_allocations;
    uint64_t max_mismatches; // frees by the wrong function, of freed blocks, and of what is no block
    unsigned ignore_last;    // per cent of the time of a process: blocks born in it do not count
    uint32_t kinds;          // bits 1 << enum seep_kind that are leaks
    const struct seep_baseline *baseline; // NULL: none
    // Only leaks with a frame that matches; NULL: all. Borrowed.
    const regex_t *function;
    const regex_t *file;
    const regex_t *module;
};

struct seep_leak_frame {
    const char *function; // NULL: not known
    const char *file;     // NULL: not known; as the compiler recorded it
    unsigned line;        // 0: not known
    const char *module;   // path
    uint64_t offset;      // of the frame in the module's file
    bool runtime;
    bool program; // of the executable of its process
    bool inlined;
};

// The stack that a finding points at.
struct seep_check_stack {
    const struct seep_leak_frame *frames; // innermost first
    uint32_t nr_frames;
    uint32_t blame; // frame to look at first (names/library_code.h)
};

struct seep_leak_share { // what one process has of a leak
    uint32_t process;    // index in the session
    uint64_t blocks;
    uint64_t bytes;
};

// Another line of the source that a leak, or what held the peak, comes from: keys have no lines.
struct seep_leak_place {
    struct seep_check_stack stack; // the first stack with that line
    const struct seep_leak_frame
        *frame; // of the program, the innermost whose line is not that of the leak's stack
    uint64_t blocks;
    uint64_t bytes;
};

struct seep_leak_places {
    struct seep_leak_place *items; // most bytes first
    uint32_t nr;
};

struct seep_leak {
    const char *key; // the lines of the baseline
    uint32_t via;
    uint8_t kind;                   // the worst
    struct seep_check_stack stack;  // of the site that leaks most
    uint64_t most_bytes;            // of that site
    struct seep_leak_places places; // of the other sites
    uint64_t blocks;
    uint64_t bytes;
    uint64_t owned_blocks; // its lost blocks that count, and those that count and hang under them
    uint64_t owned_bytes;
    uint64_t accepted_blocks; // by the baseline, at most blocks and bytes
    uint64_t accepted_bytes;
    struct seep_leak_share *shares; // in session order
    uint32_t nr_shares;
};

// Frees of one kind, through one stack, of blocks of one stack, in one process.
struct seep_wrong_free {
    uint32_t kind; // enum seep_misuse
    uint32_t process;
    uint32_t via;         // what allocated the blocks
    uint32_t release_via; // what freed them
    uint64_t count;
    struct seep_check_stack freed;
    struct seep_check_stack allocated; // no frames: not known
};

// What one stack held when the live bytes of the process with the highest peak were highest.
struct seep_peak_holder {
    const char *key; // as of a leak
    uint32_t via;
    uint64_t blocks;
    uint64_t bytes;
    struct seep_check_stack stack;  // of the site that held most
    struct seep_leak_places places; // of the other sites
};

// Whether the figures of one process can be relied on.
struct seep_check_process {
    const char *unsure;     // why not, one sentence; NULL: they can
    uint64_t leaked_blocks; // beyond the baseline
    uint64_t leaked_bytes;
};

// The budgets of `seep check`, in the order in which they are reported.
enum seep_check_budget {
    SEEP_BUDGET_LEAKED,
    SEEP_BUDGET_PEAK,
    SEEP_BUDGET_ALLOCATIONS,
    SEEP_BUDGET_MISMATCHES,
    SEEP_BUDGET_NR
};

struct seep_check {
    struct seep_arena arena;
    struct seep_check_options options;
    const struct seep_session *session; // borrowed
    struct seep_leak *leaks; // those that own most bytes first, then by what is beyond the baseline
    size_t nr_leaks;
    struct seep_check_process *processes; // by index in the session
    bool unsure;                          // any of them is
    uint64_t leaked_blocks;               // beyond the baseline
    uint64_t leaked_bytes;
    uint64_t accepted_blocks;
    uint64_t accepted_bytes;
    uint64_t suppressed_blocks;
    uint64_t suppressed_bytes;
    uint64_t possible_blocks; // possibly lost, where that is not among `kinds`
    uint64_t possible_bytes;
    uint64_t peak_bytes; // the highest of a process
    uint32_t peak_process;
    uint64_t allocations; // of all processes
    // Where --max-peak is broken and it is known; most bytes first.
    struct seep_peak_holder *peak_holders;
    size_t nr_peak_holders;
    uint64_t peak_known_bytes;           // of all of them together
    struct seep_wrong_free *wrong_frees; // in session order, the most frequent of a process first
    size_t nr_wrong_frees;
    uint64_t mismatches; // their number
    // Frees that may be of blocks whose allocation was not seen: seep_profile_is_uncertain.
    uint64_t nr_uncertain;
    uint64_t nr_gone; // entries of the baseline that nothing leaks by any more
    bool broken[SEEP_BUDGET_NR];
};

// Suppressions must have been applied. The session must outlive the result.
SEEP_MUST_CHECK struct seep_error *seep_check_create(const struct seep_session *session,
                                                     struct seep_symbols *symbols,
                                                     const struct seep_check_options *options,
                                                     struct seep_check **ret_check);
void seep_check_destroy(struct seep_check *check); // takes NULL

// Nothing is broken, and everything is known.
bool seep_check_passed(const struct seep_check *check);

// How many processes have the name of this one and are unsure for the same reason, itself included. 0: this
// process is not unsure, or a process with a smaller index has the same name and reason. So each reason can
// be printed once for all processes of a program.
size_t seep_check_nr_unsure_alike(const struct seep_check *check, size_t process);

// Bytes and blocks of a leak that the baseline does not accept.
struct seep_leaked seep_leak_beyond(const struct seep_leak *leak);

// All leaks as a baseline.
// The C++ library's, or of a template of it that was compiled into the program.
bool seep_leak_frame_is_library(const struct seep_leak_frame *frame);

// Replaces the file `path` by the leaks that were found.
SEEP_MUST_CHECK struct seep_error *seep_check_save_baseline(const struct seep_check *check, const char *path);

#endif
