// SPDX-License-Identifier: BSD-2-Clause
//
// Hand-made profiles for tests of views and reports, and symbols to go with them: this file's
// implementation of symbols.h takes the place of the real one, so that output is the same anywhere.
#ifndef SEEP_TESTS_SYNTHETIC_H
#define SEEP_TESTS_SYNTHETIC_H

#include "profile/profile.h"
#include "names/symbols.h"

#define SYNTHETIC_MAX 1024u

// Aborts when memory is out, as do the others; at most SYNTHETIC_MAX elements of each kind.
struct seep_profile *synthetic_profile(uint32_t pid, const char *exe);
uint32_t synthetic_module(struct seep_profile *profile, const char *path);
uint32_t synthetic_node(struct seep_profile *profile, uint32_t parent, uint32_t module, uint64_t offset);
uint32_t synthetic_cut(struct seep_profile *profile, enum seep_cut reason);
uint32_t synthetic_thread(struct seep_profile *profile, uint32_t tid, const char *name);
// Blocks of one size, by one thread, which also freed them.
uint32_t synthetic_site(struct seep_profile *profile, uint32_t node, uint32_t via, uint32_t thread,
                        uint64_t size, uint64_t allocations, uint64_t frees, uint64_t temporary);
// A live block of the site, which must be counted in the site already.
void synthetic_block(struct seep_profile *profile, uint32_t site, uint64_t address, uint64_t size,
                     uint32_t thread, int64_t age_ns);

// What the symbols know from now on. `frames` ends with a frame whose `function` is NULL and `line` 1.
struct synthetic_symbol {
    const char *module;
    uint64_t offset;
    struct seep_symbol_frame frames[4];
    unsigned nr_frames;
};
void synthetic_symbols(const struct synthetic_symbol *table, size_t nr);
unsigned synthetic_resolved(void); // lookups since the last synthetic_symbols

// The sessions that tests share; the caller destroys them.
struct seep_session *synthetic_leaky(void);   // two leaks, inlined frames, recursion, two threads
struct seep_session *synthetic_clean(void);   // everything was freed
struct seep_session *synthetic_empty(void);   // no allocation at all
struct seep_session *synthetic_hurt(void);    // losses, cut stacks, passive, preempted, notes
struct seep_session *synthetic_family(void);  // three processes that share stacks
struct seep_session *synthetic_strange(void); // long C++ names, Unicode, control characters
struct seep_session *synthetic_many(void);    // more sites than a report shows

#endif
