// SPDX-License-Identifier: BSD-2-Clause
//
// A private, checked copy of an image's data. The image belongs to a program that may be running,
// may truncate it, may be hostile: so it is never mapped, only read; and only its data is copied,
// because reading a hole through a mapping would make pages in the program's file.
//
// Invariant: the head has been decoded and checked when a copy exists (image_decode.h). What the areas
// contain has not been checked.
//
// Order of reading: the heap map and the counters first, then the header once more, then the arrays
// they refer to. Arrays only grow and an element is counted before anything refers to it, so every
// reference of a truthful image that is read while the program runs leads somewhere.
#ifndef SEEP_SOURCE_IMAGE_IMAGE_COPY_H
#define SEEP_SOURCE_IMAGE_IMAGE_COPY_H

#include <sys/types.h>

#include "base/note.h"
#include "base/arena.h"
#include "base/error.h"
#include "source/image/image_decode.h"

// A piece of the file that is no hole. The bytes are the copy's.
struct seep_image_extent {
    uint64_t off;
    uint64_t nr_bytes;
    const unsigned char *bytes;
};

struct seep_image_copy {
    struct seep_image_head head;
    struct seep_image_extent *extents; // sorted by off, no overlap; what is in none of them is zero
    size_t nr_extents;
    size_t capacity;
    uint64_t data_bytes;
    uint64_t taken_ns;       // CLOCK_MONOTONIC when reading was done; 0: not known
    bool cut;                // a dump without its end
    struct seep_note *notes; // in the arena: what a reader must know
    size_t nr_notes;
    struct seep_arena arena;
    unsigned char *room; // malloc'ed, for the data; what does not fit is in the arena
    size_t room_bytes;
    size_t room_used;
};

// `name` is for messages. The fd is borrowed and its file position may move.
SEEP_MUST_CHECK struct seep_error *seep_image_copy_from_fd(int fd, const char *name,
                                                           struct seep_image_copy **ret_copy);

// The same of the header, the strings, the modules and the threads only.
SEEP_MUST_CHECK struct seep_error *seep_image_copy_small_from_fd(int fd, const char *name,
                                                                 struct seep_image_copy **ret_copy);

// The live image of a process. Tried in this order: /proc/PID/map_files (root), a descriptor of the
// same file in the process or in one of its ancestors (`seep run` holds one), /proc/PID/mem.
#define SEEP_IMAGE_PID_ONLY_MEM (1u << 0) // for tests: the last way only
SEEP_MUST_CHECK struct seep_error *seep_image_copy_from_pid(pid_t pid, unsigned flags,
                                                            struct seep_image_copy **ret_copy);

// A descriptor of the memory file of a process's own image, for who wants to have it when the process is
// gone. -1: it is not traced, has no image of its own yet, or there is no way to the file.
int seep_image_open_pid(pid_t pid);

// Images are memory files: what is said to be one and is not may keep who reads it waiting, or is written to
// by mistake.
bool seep_image_is_memory_file(int fd);

// What the library of a process is to do from now on. The process is not stopped, and not waited for: the
// library follows at its next operation that goes the long way.
enum seep_image_recording { SEEP_RECORDING_AS_IT_IS, SEEP_RECORDING_STOP, SEEP_RECORDING_START };
struct seep_image_control {
    enum seep_image_recording recording;
    uint32_t depth; // 0: as it is
};
SEEP_MUST_CHECK struct seep_error *seep_image_control_pid(pid_t pid, const struct seep_image_control *asked);
// Whether the library follows already, or the process has ended. `nudges`: if not, the library's next release
// goes the long way.
bool seep_image_control_is_done(pid_t pid, bool nudges);
// Appends a record (struct seep_image_mark and what follows it, of a multiple of 8 bytes) to the marks that
// the tool keeps in the live image of a process. The process is neither stopped nor signalled.
SEEP_MUST_CHECK struct seep_error *seep_image_mark_pid(pid_t pid, const void *record, size_t nr_bytes);

// A raw dump (image/raw.h). `bytes` is borrowed as long as the copy lives.
SEEP_MUST_CHECK struct seep_error *seep_image_copy_from_raw(const void *bytes, size_t nr_bytes,
                                                            const char *name,
                                                            struct seep_image_copy **ret_copy);

void seep_image_copy_destroy(struct seep_image_copy *copy); // takes NULL

// Copies bytes as they are; what is not there reads as zero. Any range is allowed. O(log extents).
void seep_image_read(const struct seep_image_copy *copy, uint64_t off, void *ret_bytes, size_t nr_bytes);

// The bytes themselves (no alignment is promised), or zeros where nr_bytes <= SEEP_IMAGE_PAGE lie in a
// hole; NULL where the range lies in more than one extent: use seep_image_read.
const unsigned char *seep_image_bytes(const struct seep_image_copy *copy, uint64_t off, size_t nr_bytes);

// The next piece of data at or after *at and before `end`: its length, or 0 when there is none, and
// *at moved to its start.
size_t seep_image_next(const struct seep_image_copy *copy, uint64_t *at, uint64_t end,
                       const unsigned char **ret_bytes);

// Element or slot `i` of an area, as image/layout.h has it; zero where the copy has nothing.
void seep_image_element(const struct seep_image_copy *copy, enum seep_area_kind kind, uint64_t i,
                        void *ret_element);
// The number at `off`.
uint32_t seep_image_number32(const struct seep_image_copy *copy, uint64_t off);
uint64_t seep_image_number64(const struct seep_image_copy *copy, uint64_t off);
// By enum seep_lost. Reasons of a newer writer, which have no name here, are in the last.
void seep_image_losses(const struct seep_image_copy *copy, uint64_t ret_lost[SEEP_LOST_NR]);

// How many bytes from `off` on are data, without a hole, at most `nr_bytes`.
uint64_t seep_image_dense(const struct seep_image_copy *copy, uint64_t off, uint64_t nr_bytes);

// File offset of a page of the image.
static inline uint64_t seep_image_page_off(const struct seep_image_copy *copy, uint64_t page) {
    return copy->head.header.areas[SEEP_AREA_PAGES].off + page * SEEP_IMAGE_PAGE;
}

// For the sources of this room.
SEEP_MUST_CHECK struct seep_error *seep_image_copy_create(struct seep_image_copy **ret_copy);
// A wish: the data of the next _append is in one piece, of that many bytes.
void seep_image_copy_reserve(struct seep_image_copy *copy, uint64_t nr_bytes);
// Room for nr_bytes of data of the image at `off`, to be filled by the caller, all of it.
SEEP_MUST_CHECK struct seep_error *seep_image_copy_append(struct seep_image_copy *copy, uint64_t off,
                                                          size_t nr_bytes, unsigned char **ret_bytes);
// Data that the caller keeps alive.
SEEP_MUST_CHECK struct seep_error *seep_image_copy_borrow(struct seep_image_copy *copy, uint64_t off,
                                                          const unsigned char *bytes, size_t nr_bytes);
SEEP_MUST_CHECK SEEP_PRINTF(3, 4) struct seep_error *seep_image_copy_note(struct seep_image_copy *copy,
                                                                          enum seep_note_code code,
                                                                          const char *format, ...);
// Sorts what was added, and reads and checks the header.
SEEP_MUST_CHECK struct seep_error *seep_image_copy_finish(struct seep_image_copy *copy, const char *name);

#endif
