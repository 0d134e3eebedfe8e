// SPDX-License-Identifier: BSD-2-Clause
//
// The sections that a process may have in a trace beside its arrays, each with a codec: how it is written and
// how it is read. A new one is a `struct seep_section` in sections_<name>.c, a name in SEEP_SECTIONS, a
// number in base/records.h and its words in docs/trace-format.md.
#ifndef SEEP_FILE_SECTIONS_H
#define SEEP_FILE_SECTIONS_H

#include "base/records.h"
#include "profile/profile.h"

struct seep_section {
    uint32_t type;
    const char *name;
    bool repeats; // a process may have several
    // How many of them the profile makes.
    uint32_t (*nr)(const struct seep_profile *profile);
    // The contents of the index-th; nothing at all: it is not written.
    void (*put)(struct seep_put *put, const struct seep_profile *profile, uint32_t index);
    // Into a profile whose arrays are there. What is wrong, static text, or NULL; *ret_no_memory. That
    // numbers are whole is for the caller to see in *take.
    const char *(*take)(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory);
};

// The agent only writes: what reads is not in it.
#ifdef SEEP_AGENT
#define SEEP_READS(take) (false ? (take) : NULL)
#else
#define SEEP_READS(take) (take)
#endif

// Only 'seep import' makes LINES.
#ifdef SEEP_AGENT
#define SEEP_SECTION_LINES(SECTION)
#else
#define SEEP_SECTION_LINES(SECTION) SECTION(lines)
#endif

// In the order of their types, which is that of the file: each may use what those before it have made.
#define SEEP_SECTIONS(SECTION)                                                                               \
    SECTION(leaks)                                                                                           \
    SECTION(mappings)                                                                                        \
    SECTION(wrong_releases)                                                                                  \
    SECTION(account)                                                                                         \
    SECTION(pools)                                                                                           \
    SECTION(pieces)                                                                                          \
    SECTION(marks)                                                                                           \
    SECTION(snapshots)                                                                                       \
    SECTION(holders)                                                                                         \
    SECTION(chains)                                                                                          \
    SECTION(leaders)                                                                                         \
    SECTION(names)                                                                                           \
    SECTION(first_releases)                                                                                  \
    SECTION(arrivals)                                                                                        \
    SECTION(peak)                                                                                            \
    SECTION(platform)                                                                                        \
    SECTION(held)                                                                                            \
    SECTION(slabs)                                                                                           \
    SEEP_SECTION_LINES(SECTION)                                                                              \
    SECTION(given)

#define SEEP_SECTION_DECLARE(name) extern const struct seep_section seep_section_##name;
SEEP_SECTIONS(SEEP_SECTION_DECLARE)
#undef SEEP_SECTION_DECLARE

extern const struct seep_section *const seep_sections[];
extern const size_t seep_nr_sections;

// NULL: none of these.
const struct seep_section *seep_section_of(uint32_t type);

#endif
