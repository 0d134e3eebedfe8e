// SPDX-License-Identifier: BSD-2-Clause
//
// Reachability of the live blocks of a running process: which are lost, and who holds the others.
// The process is stopped while its image and its memory are read; marking is done when it runs again.
//
// What it cannot see: pointers that only the kernel has and does not tell (io_uring, aio), that are kept
// in another form (XOR, compressed, encrypted), or, unless asked for, not aligned to 8 bytes.
#ifndef SEEP_SCAN_SCAN_H
#define SEEP_SCAN_SCAN_H

#include "scan/chains.h"
#include "names/symbols.h"

// What a scan knows before it is taken apart.
struct seep_scan_state {
    const struct seep_profile *profile; // with leaks and block_kinds
    const struct seep_chains *chains;   // of it, with the classified graph
    struct seep_memory *memory;         // of the process, which runs again
    const struct seep_freed *freed;     // the block that options.asked_rt was in; its address is 0: not known
};
typedef struct seep_error *(*seep_inspect)(void *data, const struct seep_scan_state *state);

struct seep_scan_options {
    enum seep_roots roots;
    bool cow;             // the process waits for a fork of itself only, see process_copy.h
    bool unaligned;       // pointers that do not lie at multiples of 8 count too
    bool keep_pointers;   // profile->pointers is wanted
    seep_inspect inspect; // called at the end in place of the search for holders; NULL: that is done
    void *inspect_data;
    uint64_t asked_rt; // an address of which seep_scan_state.freed tells
    struct seep_symbols
        *variables; // borrowed: seep_holders_variables() for many scans; NULL: for this one only
};

struct seep_scan_target {
    pid_t pid;
    int image_fd;          // of its image's file, borrowed; -1: to be found by the pid
    uint64_t parked_sp_rt; // it waits for us in libseep.so: only what is above on that stack is the
                           // program's (image/hello.h); 0: it runs
    // Makes the profile from another source than an image, while the process is stopped. NULL: the image.
    struct seep_error *(*profile)(void *data, struct seep_profile **ret_profile);
    void *profile_data;
};

struct seep_scan;
struct seep_core;
// Stops the process, reads what is needed, and lets it go on. Takes `target` and `options` by value.
// SEEP_E_UNSUPPORTED where not every block is recorded (sampling).
SEEP_MUST_CHECK struct seep_error *seep_scan_look(const struct seep_scan_target *target,
                                                  const struct seep_scan_options *options,
                                                  struct seep_scan **ret_scan);
// Needs the process no more: a profile with leaks, block_kinds, and kind and held of sites, owned by
// the caller. Once.
SEEP_MUST_CHECK struct seep_error *seep_scan_finish(struct seep_scan *scan,
                                                    struct seep_profile **ret_profile);
void seep_scan_destroy(struct seep_scan *scan); // takes NULL

// The code that the process had mapped at the look, which read all of its mappings. After seep_scan_finish(),
// too. The caller frees the map.
struct seep_process_map;
SEEP_MUST_CHECK struct seep_error *seep_scan_code(const struct seep_scan *scan,
                                                  struct seep_process_map *ret_map);

// Classes the blocks of a process of which there is a core file, in its place: `profile` is what a trace has
// of it at that moment. Its leaks, block_kinds, and kind and held of sites are made anew.
SEEP_MUST_CHECK struct seep_error *seep_scan_core(const struct seep_core *core,
                                                  const struct seep_scan_options *options,
                                                  struct seep_profile *profile);

// Both steps for a running process, as a session.
SEEP_MUST_CHECK struct seep_error *seep_scan_process(pid_t pid, const struct seep_scan_options *options,
                                                     struct seep_session **ret_session);

#endif
