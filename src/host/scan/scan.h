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

struct seep_scan_options {
    enum seep_roots roots;
    bool unaligned; // pointers that do not lie at multiples of 8 count too
};

// A session of one profile with leaks, block_kinds, and kind and held_by of sites. `symbols` is used
// for holders only. SEEP_E_UNSUPPORTED where not every block is recorded (sampling).
SEEP_MUST_CHECK struct seep_error *seep_scan_process(pid_t pid, const struct seep_scan_options *options,
                                                     struct seep_symbols *symbols,
                                                     struct seep_session **ret_session);

#endif
