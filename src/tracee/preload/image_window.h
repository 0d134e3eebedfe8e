// SPDX-License-Identifier: BSD-2-Clause
//
// The window: the address space through which the library reaches the image. Nothing of it is reserved,
// because the kernel would count it as the program's size: each area is mapped as far as it is open, far
// from where the kernel puts mappings, and grows in place. Where address space is limited (RLIMIT_AS, at
// start or set later by the program) the image takes a quarter of what the limit allows and no more; what
// does not fit is lost by reason.
//
// All of the window is mapped once a filter of system calls is coming, after which nothing can grow, and
// under an emulator.
#ifndef SEEP_PRELOAD_IMAGE_WINDOW_H
#define SEEP_PRELOAD_IMAGE_WINDOW_H

#include "preload/preload.h"

// Maps the file, header and areas as yet closed; sets base, window_bytes and the sizes of what is open.
// false: no room. Unmapped again by seep_window_drop().
SEEP_MUST_CHECK bool seep_window_map(int fd, uint64_t bytes,
                                     const struct seep_image_area areas[SEEP_AREA_PAGED_NR]);
void seep_window_drop(void);

// The program limits its address space from now on: what is reserved and not used is unmapped.
// Takes image_lock, as seep_window_open_all() does.
void seep_window_limit(uint64_t limit_bytes);

// Whether the kernel allows `more_bytes` and another 8 MiB of address space.
bool seep_window_leaves_room(uint64_t more_bytes);

// A filter of system calls is coming: opens what may be needed after that.
void seep_window_open_all(void);

// Whether address space is limited; and whether a view of the whole image fits into it.
bool seep_window_is_limited(void);
bool seep_window_has_room(void);

// Notes in the header what of a limited address space the image takes.
void seep_window_tell_space(void);

// Bytes of an area that can be touched, where the parent of a fork may have opened more than we know.
uint64_t seep_window_visible(enum seep_area_kind area);

// Bytes of an area, in an image that lies as ours does, beyond which nothing was written: whole pages.
uint64_t seep_window_filled(const unsigned char *image, enum seep_area_kind area);

// `bytes` of the image from a page on, in our image or in one that is about to take its place. NULL: the page
// is 0 (there are none), or not all of them can be touched.
void *seep_window_pages(unsigned char *image, uint64_t page, uint64_t bytes);

// Of the file, what children of fork need to see it; in one that has a file of its own, instead of the
// parent's. `one`: there is room for a view of all of it, and will be. `file`: of the descriptor, where
// another process may have put its own under that number; NULL: no other process can.
struct seep_file_id;
void seep_window_make_seeds(int fd, const struct seep_image_area areas[SEEP_AREA_PAGED_NR], bool one,
                            const struct seep_file_id *file);
// Called before address space is limited, because the one seed is then too few.
void seep_window_spread_seeds(void);
// The first byte of each, of SEEP_LARGEST_PAGE bytes; 0: it is not there.
enum { SEEP_WINDOW_SEEDS = SEEP_AREA_PAGED_NR + 1 };
uint64_t seep_window_seed(int number);

// In a fork child, which has none of its parent's image: sees all of it, as far as there is room for it, and
// can only read it. seep_g.base and header are this view's until it is replaced.
SEEP_MUST_CHECK bool seep_window_see_all(void);
void seep_window_leave_parents(void); // the child goes without
// The child's own image, where the parent has its; NULL: no room. It takes the place of the view, or goes.
unsigned char *seep_window_twin(int fd);
SEEP_MUST_CHECK bool seep_window_replace(unsigned char *twin);
void seep_window_drop_twin(unsigned char *twin);

#endif
