// SPDX-License-Identifier: BSD-2-Clause
//
// /proc/self/maps, area by area, with system calls only and without memory of its own.
#ifndef SEEP_PRELOAD_PROC_MAPS_H
#define SEEP_PRELOAD_PROC_MAPS_H

#include <stddef.h>

#include "preload/sys.h"

struct seep_maps_area {
    uint64_t start;
    uint64_t end;
    uint64_t off; // in the file
    uint64_t inode;
    bool readable;
    bool executable;
    const char *path; // "": none. Longer ones than SEEP_MAPS_PATH are cut; NULL: not kept.
};

#define SEEP_MAPS_PATH 512

// A file that is read line by line, with the part that was read last.
struct seep_maps {
    int fd;
    uint32_t at;
    uint32_t nr;
    uint32_t path_room;
    char *path; // NULL: none is kept
    struct seep_maps_area area;
    char text[512];
};

// /proc/self/maps. false: it cannot be opened, as under a filter of system calls. Without paths and without a
// lock, for a hook that has no guard: a signal handler may leave that hook by longjmp unnoticed.
SEEP_MUST_CHECK bool seep_maps_open(struct seep_maps *ret_maps);
// With paths. Takes maps_lock, until seep_maps_close(): the lines are read into static memory, because the
// stack may be a signal handler's. NULL: as above, or another thread reads and does not end.
SEEP_MUST_CHECK struct seep_maps *seep_maps_open_with_paths(void);
// The next line, valid until the one after it. NULL: there is none.
SEEP_MUST_CHECK const struct seep_maps_area *seep_maps_next(struct seep_maps *maps);
void seep_maps_close(struct seep_maps *maps);

// Whether all of it can be read: a module may have holes between its segments, a file may end before its
// mapping, and the program may have taken the rights to any page. Under a filter of system calls the kernel
// cannot be asked: true.
bool seep_maps_readable(uint64_t start, uint64_t nr_bytes);

// Where _dl_find_object does not tell (musl, old glibc, holes between segments): the module that covers `pc`,
// from our own table, which is read anew when `pc` is in none of it. Never asks the loader: that may hold its
// lock and wait for us.
struct seep_maps_module {
    uint64_t start;
    uint64_t end;
    uint64_t bias_rt;
    uint64_t eh_frame_hdr; // 0: none
#ifdef SEEP_ARCH_EHABI
    uint64_t exidx_bytes;
#endif
    uint64_t cfi_start; // of the segment that eh_frame_hdr is in: all of it can be read
    uint64_t cfi_end;
    char path[SEEP_MAPS_PATH];
};
// NULL: no module (JIT code). Valid until the next call. rules_lock held.
const struct seep_maps_module *seep_maps_module(uint64_t pc);
// Of those that are known, as no area is read for it; NULL: none. rules_lock held.
const struct seep_maps_module *seep_maps_known_module(uint64_t pc);
// Whether seep_maps_module() found no module at `pc`, and memory that was not executable. rules_lock held.
bool seep_maps_is_data(uint64_t pc);
// After a dlclose: reads all modules anew, where the loader does not tell which there are. false: what was
// known stays, because it could not be read. rules_lock held.
SEEP_MUST_CHECK bool seep_maps_again(void);

// Whether a return address is the trampoline of the kernel's return probes: another tracer has such a probe
// on a function that is at work, and the address that stood there is known to no other code.
bool seep_maps_is_return_probe(uint64_t pc);

// Where the kernel began the first thread's stack; 0: not known.
uint64_t seep_maps_stack_start(void);

#endif
