// SPDX-License-Identifier: BSD-2-Clause
//
// Who holds the blocks of a site: of each holder of each class the shortest chain of pointers from a
// root to its largest block; and who holds most: the variables, threads and shared blocks that retain the
// most bytes. Needs nothing of the process any more.
#ifndef SEEP_SCAN_HOLDERS_H
#define SEEP_SCAN_HOLDERS_H

#include "scan/chains.h"
#include "scan/dominators.h"
#include "names/symbols.h"

// Chains are kept for the sites that hold most; the others are left without. They are put into
// words when they are shown (profile/chain.h).
#define SEEP_HELD_SITES_MAX  4096u
#define SEEP_TOP_HOLDERS_MAX 100u

// Roots in groups: by variable, by thread (stack and registers), by its thread-local storage, by mapping.
struct seep_holders {
    uint32_t *of_root; // by index in the graph's roots
    uint32_t *first;   // by holder: the first of its roots
    uint32_t nr;
    bool by_word; // variables are not known: each word of a module's data is a holder
    struct seep_dominators *dominators;
};

// What seep_chains.variables may be: one for many scans. Destroyed by the caller.
SEEP_MUST_CHECK struct seep_error *seep_holders_variables(pid_t pid, struct seep_symbols **ret_symbols);

// Borrows `chains`.
SEEP_MUST_CHECK struct seep_error *seep_holders_create(const struct seep_chains *chains,
                                                       struct seep_holders **ret_holders);
void seep_holders_destroy(struct seep_holders *holders); // takes NULL

// Fills held and retained_bytes of sites, leaks.held and leaks.holders, in the profile's arena; with
// `keep_pointers` the pointers too. `chains` are of that profile, with a classified graph.
SEEP_MUST_CHECK struct seep_error *seep_holders_describe(struct seep_profile *profile,
                                                         const struct seep_chains *chains,
                                                         bool keep_pointers);

#endif
