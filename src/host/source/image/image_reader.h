// SPDX-License-Identifier: BSD-2-Clause
// What the files that read an image into a profile share; private to profile_image.c and image_*.c.
#ifndef SEEP_SOURCE_IMAGE_IMAGE_READER_H
#define SEEP_SOURCE_IMAGE_IMAGE_READER_H

#include "source/image/image_copy.h"
#include "profile/profile.h"

struct seep_image_reader {
    const struct seep_image_copy *copy;
    struct seep_profile *profile;
    const char *strings; // of the image, each with its NUL
    uint64_t strings_bytes;
    uint64_t nr_damaged; // references that lead nowhere
    uint64_t nr_missing; // elements counted, but not there
};

// A run of image pages that something refers to.
struct seep_page_claim {
    uint64_t page;
    uint32_t owner; // directory index of a leaf; thread of a chunk or chunk directory
    uint32_t index; // of a chunk: which
};

// A growing array, owned by the reader.
struct seep_page_claims {
    struct seep_page_claim *items;
    size_t nr_items;
    size_t capacity;
};

// false: out of memory.
SEEP_MUST_CHECK bool seep_page_claim_add(struct seep_page_claims *claims, uint64_t page, uint32_t owner,
                                         uint32_t index);
// Sorts by page and drops claims that overlap one before them or lie outside the pages: so that the
// work is bounded by the data, whatever the image says. Counts them in nr_damaged.
void seep_page_claims_settle(struct seep_image_reader *reader, struct seep_page_claims *claims,
                             uint64_t nr_pages);

// Converts the counters of one thread for one site to those of a profile. `from` is in the byte order of this
// machine.
struct seep_counters seep_image_counters_of(const struct seep_image_copy *copy,
                                            const struct seep_image_counters *from);
// Adds what another thread counted for the same site. Peaks of threads do not add up: the highest is kept.
void seep_counters_add(struct seep_counters *sum, const struct seep_counters *counters);
// What the sum for a site lacks, to be added to it: a program goes on while it is read, and what it had
// allocated is read before what it had freed. Each block that was freed had been allocated.
struct seep_counters seep_counters_lacking(const struct seep_counters *sum);

// Reads the parts that do not grow with sites and blocks: process, health, modules, threads. The strings live
// as long as the profile.
SEEP_MUST_CHECK struct seep_error *seep_image_read_small(struct seep_image_reader *reader);
// Sets what follows from the totals of a derived profile.
void seep_image_set_totals(struct seep_image_reader *reader);
// The error of the peak, after the copy of the peak was looked at: that is made by flushes.
void seep_image_narrow_peak(struct seep_image_reader *reader);
// The last step: adds notes about damage.
SEEP_MUST_CHECK struct seep_error *seep_image_add_notes(struct seep_image_reader *reader);
// How many elements an array has in the file, whose first `dense` bytes are data without a hole.
uint32_t seep_image_nr_elements(struct seep_image_reader *reader, enum seep_area_kind kind, uint64_t dense);
// A node of the profile. A damaged link of it is counted in nr_damaged, and made to lead to the root or to
// module 0.
struct seep_node seep_image_node_from(struct seep_image_reader *reader, uint32_t id,
                                      const struct seep_image_node *from);

// 1 + enum seep_cut of the outermost node of this node's stack; 0: the stack is whole. `before`: the same of
// all nodes with smaller ids.
uint8_t seep_image_cut_of(const struct seep_node *node, uint32_t id, const uint8_t *before);

// false, and counted as damaged: not the id of a site.
SEEP_MUST_CHECK bool seep_image_is_site(struct seep_image_reader *reader, uint32_t site);

// Sums the counters of all threads into sites, threads and thread_sites.
SEEP_MUST_CHECK struct seep_error *seep_image_read_counters(struct seep_image_reader *reader);

// Mappings of the program, and blocks freed in a wrong way.
SEEP_MUST_CHECK struct seep_error *seep_image_read_mappings(struct seep_image_reader *reader);

// What the program told through seep.h, and marks.
SEEP_MUST_CHECK struct seep_error *seep_image_read_annotations(struct seep_image_reader *reader);

// What the sites had at the peak: the copy that the library made, or where the peak is not over, what they
// have. Context: the profile is derived, and its totals have the peak.
SEEP_MUST_CHECK struct seep_error *seep_image_read_peak(struct seep_image_reader *reader);

// The string at `off` of the strings area, which lives as long as the profile; `otherwise` when there is
// none. *ret_end, if not NULL, is the offset behind its NUL.
const char *seep_image_string(struct seep_image_reader *reader, uint64_t off, const char *otherwise,
                              uint64_t *ret_end);

// The heap map: bytes of a leaf's entries, and the factor from these to the whole leaf.
uint64_t seep_image_leaf_bytes(const struct seep_image_header *header);
uint64_t seep_image_leaf_planes(const struct seep_image_header *header);
// The low bits of a block's address, which its entry holds.
uint64_t seep_image_sub_of(const struct seep_image_header *header, uint64_t entry);
// The age at `now` of a block with that birth; -1: not known.
int64_t seep_image_age_ns(uint64_t birth, uint64_t now);

// The live blocks of the heap map and of the odd table, by address.
SEEP_MUST_CHECK struct seep_error *seep_image_read_blocks(struct seep_image_reader *reader);

#endif
