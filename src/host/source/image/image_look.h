// SPDX-License-Identifier: BSD-2-Clause
//
// One image over many looks, in little memory. Nodes and sites only grow, so they stay in the file, and are
// read when they are asked for. A look keeps for each site its figures (packed), the epoch of their last
// change, and their change in the last look. A look skips counters of threads that did not change.
//
// Invariant: figures are those of the last look, whatever the program does meanwhile. So an answer that is
// made in pieces is of one look.
#ifndef SEEP_SOURCE_IMAGE_IMAGE_LOOK_H
#define SEEP_SOURCE_IMAGE_IMAGE_LOOK_H

#include <sys/types.h>

#include "base/records.h"
#include "profile/profile.h"

// Allocations, bytes, frees, bytes, temporary, peak, least size, greatest size.
#define SEEP_FIGURES 8u
struct seep_figures {
    uint64_t values[SEEP_FIGURES];
};

// What one thread counted for one site; SEEP_FIGURES_OF_THREAD of the figures. Sorted by (site, thread).
#define SEEP_FIGURES_OF_THREAD 5u
struct seep_thread_figures {
    uint32_t site;
    uint32_t thread;
    uint64_t values[SEEP_FIGURES_OF_THREAD];
};
#define SEEP_THREAD_FIGURES_MOST 5000u

struct seep_look_site {
    uint32_t node;
    uint32_t via; // enum seep_via
};

struct seep_image_look;

// Owner: takes the descriptor of the image, also on failure. `pid` as we see the process. Nothing is read
// yet.
SEEP_MUST_CHECK struct seep_error *seep_image_look_create(int fd, pid_t pid,
                                                          struct seep_image_look **ret_look);
void seep_image_look_destroy(struct seep_image_look *look); // takes NULL

// Whether `fd` leads to the same image.
bool seep_image_look_is_of(const struct seep_image_look *look, int fd);
// Goes over to another file, a later copy of the same image. Takes the descriptor.
void seep_image_look_move(struct seep_image_look *look, int fd);

// Makes a look: from now on all figures are of this epoch. Epochs grow; 0 is not an epoch. After an error
// figures may be of the new epoch and the profile of the old one. O(counters).
SEEP_MUST_CHECK struct seep_error *seep_image_look_take(struct seep_image_look *look, uint64_t epoch);

int seep_image_look_fd(const struct seep_image_look *look); // borrowed
// Process, health, totals, threads and modules of the last epoch. It has no nodes, no sites and no blocks.
struct seep_profile *seep_image_look_profile(const struct seep_image_look *look);
const struct seep_profile *seep_image_look_profile_before(
    const struct seep_image_look *look); // of the take before; NULL: none
// How many there are in the last take. These numbers never fall.
uint32_t seep_image_look_nr_nodes(const struct seep_image_look *look);
uint32_t seep_image_look_nr_sites(const struct seep_image_look *look);
uint32_t seep_image_look_nr_sites_before(const struct seep_image_look *look); // in the take before
// The last epoch in which figures changed, and the epoch of the take before the last.
uint64_t seep_image_look_changed(const struct seep_image_look *look);
uint64_t seep_image_look_before(const struct seep_image_look *look);
// The head of the image in the last take. Borrowed.
const struct seep_image_head *seep_image_look_head(const struct seep_image_look *look);

// Nodes, or (node, via) of sites, [first, first + nr). first + nr is at most the number of nodes, or of
// sites.
SEEP_MUST_CHECK struct seep_error *seep_image_look_nodes(const struct seep_image_look *look, uint32_t first,
                                                         uint32_t nr, struct seep_node *ret_nodes);
SEEP_MUST_CHECK struct seep_error *seep_image_look_sites(const struct seep_image_look *look, uint32_t first,
                                                         uint32_t nr, struct seep_look_site *ret_sites);

// Visits each site whose figures changed after `since`, by id. `bytes` are LEBs: a mask of the figures that
// are not 0, then these, the lowest first. With `differences` they are zigzag differences to the take before
// the last; `since` must then be seep_image_look_before() or later. Site 0 is left out.
typedef struct seep_error *seep_figures_visit(void *data, uint32_t site, const unsigned char *bytes,
                                              size_t nr_bytes);
SEEP_MUST_CHECK struct seep_error *seep_image_look_each(const struct seep_image_look *look, uint64_t since,
                                                        bool differences, seep_figures_visit *visit,
                                                        void *data);
// Reads the `bytes` of seep_image_look_each() without differences.
struct seep_figures seep_figures_read(const unsigned char *bytes, size_t nr_bytes);

// What threads counted, now and in the take before. NULL: there are more than SEEP_THREAD_FIGURES_MOST.
const struct seep_thread_figures *seep_image_look_threads(const struct seep_image_look *look, bool before,
                                                          size_t *ret_nr);

// Visits the blocks that are live now, by address, of the sites of the last take. It ends where `visit`
// returns false. A block that is allocated or freed meanwhile may be visited or not. O(heap map).
typedef bool seep_block_visit(void *data, const struct seep_block *block);
SEEP_MUST_CHECK struct seep_error *seep_image_look_blocks(const struct seep_image_look *look,
                                                          seep_block_visit *visit, void *data);

// For the sources of this room. Bytes behind the end of the file are zero.
SEEP_MUST_CHECK struct seep_error *seep_image_look_read(const struct seep_image_look *look, uint64_t off,
                                                        void *ret_bytes, size_t nr);

#endif
