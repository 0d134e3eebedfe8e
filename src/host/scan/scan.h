// SPDX-License-Identifier: BSD-2-Clause
//
// Reachability of the live blocks of a running process: which are lost, and who holds the others.
// The process is stopped while its image and its memory are read; marking is done when it runs again.
//
// What it cannot see: pointers that only the kernel has (data of epoll, of io_uring), that are kept
// in another form (XOR, compressed, encrypted), or, unless asked for, not aligned to 8 bytes.
#ifndef SEEP_SCAN_SCAN_H
#define SEEP_SCAN_SCAN_H

#include "scan/roots.h"
#include "symbol/symbols.h"

// What a scan knows before it is taken apart.
struct seep_scan_state {
    const struct seep_profile *profile; // with leaks and block_kinds
    const struct seep_graph *graph;     // classified
    const struct seep_root_ranges *ranges;
    struct seep_memory *memory; // of the process, which runs again
};
typedef struct seep_error *(*seep_inspect)(void *data, const struct seep_scan_state *state);

struct seep_scan_options {
    enum seep_roots roots;
    bool unaligned;       // pointers that do not lie at multiples of 8 count too
    seep_inspect inspect; // called at the end in place of the search for holders; NULL: that is done
    void *inspect_data;
};

struct seep_scan_target {
    pid_t pid;
    int image_fd;          // of its image's file, borrowed; -1: to be found by the pid
    uint64_t parked_sp_rt; // it waits for us in libseep.so: only what is above on that stack is the
                           // program's (image/hello.h); 0: it runs
};

struct seep_scan;
// Stops the process, reads what is needed, and lets it go on. Takes `target` and `options` by value.
// SEEP_E_UNSUPPORTED where not every block is recorded (sampling).
SEEP_MUST_CHECK struct seep_error *seep_scan_look(const struct seep_scan_target *target,
                                                  const struct seep_scan_options *options,
                                                  struct seep_scan **ret_scan);
// Needs the process no more: a profile with leaks, block_kinds, and kind and held_by of sites, owned by
// the caller. Once. `symbols` is used for holders only.
SEEP_MUST_CHECK struct seep_error *seep_scan_finish(struct seep_scan *scan, struct seep_symbols *symbols,
                                                    struct seep_profile **ret_profile);
void seep_scan_destroy(struct seep_scan *scan); // takes NULL

// Both steps for a running process, as a session.
SEEP_MUST_CHECK struct seep_error *seep_scan_process(pid_t pid, const struct seep_scan_options *options,
                                                     struct seep_symbols *symbols,
                                                     struct seep_session **ret_session);

#endif
