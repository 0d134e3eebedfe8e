// SPDX-License-Identifier: BSD-2-Clause
//
// What several processes of a trace have in common is in memory once. A section that is byte for byte that of
// an earlier process is not decoded again: nodes, figures of threads at sites, and the moment of the peak.
// Chains are compared one by one, because thread ids in them differ.
#ifndef SEEP_FILE_TRACE_SAME_H
#define SEEP_FILE_TRACE_SAME_H

#include "file/trace_arrays.h"
#include "profile/shared.h"

// A section and what became of it.
struct seep_trace_known {
    struct seep_trace_section section; // `stored` is in the file, which the reader has
    uint32_t nr_modules;               // the ids in it were checked against these
    uint32_t nr_nodes;
    uint32_t nr_sites;
    uint32_t nr_threads;
    void *elements;
    uint64_t nr;
    struct seep_mark at_peak;
};

// Zero-initialised it shares nothing.
struct seep_trace_same {
    struct seep_shared *shared; // NULL: nothing is shared
    struct seep_trace_known *known;
    size_t nr_known;
    size_t known_capacity;
    struct seep_ids ids;
    struct seep_arena decoded; // chains of the process at work, until they are compared
};
SEEP_MUST_CHECK struct seep_error *seep_trace_same_init(struct seep_trace_same *same);
void seep_trace_same_deinit(struct seep_trace_same *same);

// Takes the section from an earlier process that has the same one. false: there is none.
bool seep_trace_same_take(const struct seep_trace_same *same, struct seep_trace_arrays *arrays,
                          const struct seep_trace_section *section);
// The arena for the decoded section.
struct seep_arena *seep_trace_same_arena(struct seep_trace_same *same, struct seep_profile *profile,
                                         uint32_t type);
// The profile gets its own copy before a section of that type changes what is shared. false: out of memory.
SEEP_MUST_CHECK bool seep_trace_same_own(const struct seep_trace_same *same, struct seep_profile *profile,
                                         uint32_t type);
// Later processes may share what the profile has of the section. false: out of memory.
SEEP_MUST_CHECK bool seep_trace_same_add(struct seep_trace_same *same, const struct seep_profile *profile,
                                         const struct seep_trace_section *section);
// The profile is complete: its chains become the common ones.
SEEP_MUST_CHECK struct seep_error *seep_trace_same_finish(struct seep_trace_same *same,
                                                          struct seep_profile *profile);

#endif
