// SPDX-License-Identifier: BSD-2-Clause
//
// The one door between the bytes of an image and the structs of image/layout.h. What a process wrote may be
// of an older or a newer version, of the other byte order and of another word size; behind this door it is as
// image/layout.h says, in the byte order of this machine. No other file reads an image's numbers from its
// bytes; tests/lint holds that.
//
// Invariant of a head that was decoded: its areas lie within the file and do not overlap, their elements are
// as long as this version needs, and their `used` fits. An area that the image does not have is empty. What
// the areas contain has not been checked.
#ifndef SEEP_SOURCE_IMAGE_IMAGE_DECODE_H
#define SEEP_SOURCE_IMAGE_IMAGE_DECODE_H

#include "base/error.h"
#include "core/platform.h"
#include "image/hello.h"
#include "image/layout.h"
#include "image/raw.h"
#include "image/ring.h"

struct seep_image_head {
    struct seep_image_header
        header; // areas[] by kind; of version 1 with the losses, else see seep_image_losses
    struct seep_platform platform;
    bool is_swapped; // the image is in the other byte order
    // Where words stand in the file that change, or that the tool writes.
    uint64_t used_at[SEEP_AREA_NR];
    uint64_t ring_beat_at;
    uint64_t control_at; // 0: the library takes no requests; `control_done` follows
};

// Of the directory of the heap map.
static inline uint64_t seep_image_dir_bytes(const struct seep_image_header *header) {
    return (UINT64_C(1) << header->dir_bits << SEEP_MAP_PLANE_SHIFT(header->flags)) * sizeof(uint32_t);
}

// `bytes`: the first SEEP_IMAGE_PAGE bytes of the image; fewer than a header is an error.
SEEP_MUST_CHECK struct seep_error *seep_image_head_decode(const void *bytes, size_t nr_bytes,
                                                          const char *name, struct seep_image_head *ret_head);

// The same where an image that cannot be read is as good as none. false: it cannot, or fd is -1.
SEEP_MUST_CHECK bool seep_image_head_try(int fd, struct seep_image_head *ret_head);

// One number of 4 or 8 bytes, of any alignment.
uint32_t seep_image_u32(const struct seep_image_head *head, const void *bytes);
uint64_t seep_image_u64(const struct seep_image_head *head, const void *bytes);

// An element of an area: `bytes` are as many as areas[kind].element_bytes says. ret_element is of the area's
// struct, and zero where an older writer had less.
void seep_image_element_decode(const struct seep_image_head *head, enum seep_area_kind kind,
                               const void *bytes, void *ret_element);

// Elements [first, first + nr) out of a memory file, which `used` counts; false: they are not there.
SEEP_MUST_CHECK bool seep_image_elements_read(int fd, const struct seep_image_head *head,
                                              enum seep_area_kind kind, uint64_t first, uint64_t nr,
                                              void *ret_elements);

// In place, after their bytes were copied; the other way round too.
void seep_image_swap_counters(const struct seep_image_head *head, struct seep_image_counters *counters);
void seep_image_swap_mark(const struct seep_image_head *head, struct seep_image_mark *mark);
void seep_image_swap_ring(const struct seep_image_head *head, struct seep_ring *ring);
void seep_image_swap_words(const struct seep_image_head *head, uint64_t *words, size_t nr_words);

// Decodes, in place, what a process sends on the socket of `seep run` (image/hello.h). Numbers of the other
// byte order are swapped. The caller checks the contents.
union seep_image_words {
    struct seep_hello hello;
    struct seep_parked parked;
    struct seep_notice notice;
};
void seep_image_swap_words_said(union seep_image_words *words);

// A raw dump begins before the image does, so its own numbers say what order they are in.
// *ret_is_swapped: its records are in the other byte order.
bool seep_image_is_raw(const void *bytes, size_t nr_bytes, bool *ret_is_swapped);
// Checks the header of a dump. SEEP_E_FORMAT: this is no dump. SEEP_E_VERSION: the dump has another version.
SEEP_MUST_CHECK struct seep_error *seep_image_raw_begin(const void *bytes, size_t nr_bytes, const char *name,
                                                        bool *ret_is_swapped);
// The record at `bytes`, of any alignment, in the byte order of this machine. It is not checked.
struct seep_raw_record seep_image_raw_record(const void *bytes, bool is_swapped);
struct seep_raw_events seep_image_raw_events(const void *bytes, bool is_swapped);
// Gives an error of a file's format a hint, if it has none. Takes `error` and returns it; both may be NULL.
SEEP_MUST_CHECK struct seep_error *seep_image_file_damaged(struct seep_error *error);
// Of one that is not the end; it stands at offset `at`.
SEEP_MUST_CHECK struct seep_error *seep_image_raw_check(const struct seep_raw_record *record,
                                                        const char *name, uint64_t at);

// Units: bytes; of all areas but the pages, whose elements are no structs.
#define SEEP_IMAGE_ELEMENT_MOST 768u
// What this version needs of an element, and the length of the shape that swaps it: for tests.
size_t seep_image_element_least(enum seep_area_kind kind);
size_t seep_image_shape_bytes(enum seep_area_kind kind); // SEEP_AREA_NR: of the header

#endif
