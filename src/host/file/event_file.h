// SPDX-License-Identifier: BSD-2-Clause
//
// The events of a recording, chunk by chunk, in the order of the file. One chunk at a time is in memory, so a
// file may be larger than that, and may still be written to.
//
// What is damaged ends the recording: the chunks before it are good (each has its checksum), and those behind
// it would follow from what is not there. seep_event_file_trouble() says where that was.
#ifndef SEEP_FILE_EVENT_FILE_H
#define SEEP_FILE_EVENT_FILE_H

#include "file/event_chunk.h"
#include "file/event_sums.h"
#include "profile/profile.h"

struct seep_event_file;

// Whether the file is a recording. One that cannot be read is none: opening it says why.
bool seep_event_file_is_one(const char *path);

// SEEP_E_UNSUPPORTED where the file has no events.
SEEP_MUST_CHECK struct seep_error *seep_event_file_open(const char *path, struct seep_event_file **ret_file);
// The same file once more, for a walk that goes on beside that of the first.
SEEP_MUST_CHECK struct seep_error *seep_event_file_again(const struct seep_event_file *file,
                                                         struct seep_event_file **ret_file);
void seep_event_file_close(struct seep_event_file *file); // takes NULL
// Where the index of the chunks is said to be, so that it is not searched for. 0: nowhere.
void seep_event_file_index_at(struct seep_event_file *file, uint64_t off);

// The next chunk; *ret_chunk NULL: there is none. Valid until the next call; the events are those of
// seep_event_file_events().
SEEP_MUST_CHECK struct seep_error *seep_event_file_next(struct seep_event_file *file,
                                                        const struct seep_chunk **ret_chunk);
// The same, but where the file has an index of its chunks, those that end before from_ns are passed over, and
// those behind the last that has an event until to_ns.
SEEP_MUST_CHECK struct seep_error *seep_event_file_seek(struct seep_event_file *file, int64_t from_ns,
                                                        int64_t to_ns);
// Where in the file the chunk stands that seep_event_file_next() gave last; and from there on, whatever was
// sought.
uint64_t seep_event_file_place(const struct seep_event_file *file);
void seep_event_file_go_to(struct seep_event_file *file, uint64_t place);

// The sums that the index knows of, in the order of the file.
struct seep_event_sums_place {
    uint64_t place;
    uint32_t pid;
    bool whole;
    int64_t most_ns;
    uint64_t nr_events;
};
// *ret_places is malloc'ed; *ret_nr 0: there are none, or no index.
SEEP_MUST_CHECK struct seep_error *seep_event_file_sums(struct seep_event_file *file,
                                                        struct seep_event_sums_place **ret_places,
                                                        size_t *ret_nr);
// One of them, for seep_event_sums_deinit(). SEEP_E_FORMAT where none is there.
SEEP_MUST_CHECK struct seep_error *seep_event_file_sums_at(struct seep_event_file *file, uint64_t place,
                                                           struct seep_event_sums *ret_sums);
const struct seep_recorded *seep_event_file_events(const struct seep_event_file *file);
SEEP_MUST_CHECK struct seep_error *seep_event_file_rewind(struct seep_event_file *file);

// The next section of any kind that has to do with events, unpacked: *ret_type 0: there is none. For who
// wants more than the chunks; *ret_take is valid until the next call.
SEEP_MUST_CHECK struct seep_error *seep_event_file_section(struct seep_event_file *file, uint32_t *ret_type,
                                                           struct seep_take *ret_take);

// From now on, seep_event_file_section() passes over all sections of other types.
void seep_event_file_only(struct seep_event_file *file, uint32_t type);

// Whether all events of all its processes are in it, from their start to their end, with an index of the
// chunks.
bool seep_event_file_is_whole(struct seep_event_file *file);

// Where the tool was killed, the events that the library wrote after that follow the last chunk. Returns the
// i-th of these files, or NULL, and when its process began, as in chunks. Known once the last chunk was read.
const char *seep_event_file_rest(const struct seep_event_file *file, size_t i,
                                 int64_t *ret_start_realtime_ns);

// Whether a section that was dropped (--keep-last) lies before the place that was read last.
bool seep_event_file_has_gap(const struct seep_event_file *file);

// What ended the recording before its time, in words, or NULL. Known once the last chunk was read.
const char *seep_event_file_trouble(const struct seep_event_file *file);
// The same as a note of the profile, unless one tells of damage or of a cut already.
SEEP_MUST_CHECK struct seep_error *seep_event_file_note(const struct seep_event_file *file,
                                                        struct seep_profile *profile);
// Adds a note if the process had more events than the file has: it was shrunk, or keeps only the last ones.
// Adds none if another note already tells of missing events.
SEEP_MUST_CHECK struct seep_error *seep_event_file_note_dropped(struct seep_event_file *file,
                                                                uint64_t nr_events,
                                                                struct seep_profile *profile);

#endif
