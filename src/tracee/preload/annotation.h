// SPDX-License-Identifier: BSD-2-Clause
//
// What else the program tells of itself through seep.h: names, marks, ignored blocks, roots. All of it
// is rare, under one lock, and counted as lost where there is no room.
#ifndef SEEP_PRELOAD_ANNOTATION_H
#define SEEP_PRELOAD_ANNOTATION_H

#include "preload/preload.h"

// The offset of a copy of `name` in the strings area, which has each only once; 0: an empty name, or no room.
// Longer names are cut. Takes the lock.
uint64_t seep_note_string(const char *name);

// Keeps what each site has at this moment, under `name`. No room: counted as SEEP_LOST_NO_NOTE. Takes the
// lock.
void seep_mark_moment(struct seep_thread *thread, const char *name);
bool seep_mark_try(struct seep_thread *thread,
                   const char *name); // the same; false: not kept, and not counted as lost
// The name is cut to what the thread's slot has room for; "" takes it back. Without a lock.
void seep_name_thread(struct seep_thread *thread, const char *name);
// Memory that the program says is a root, or a block that it ignores. Removed is the root with the same start
// and size, or the ignored block with the same start. No room: counted as SEEP_LOST_NO_NOTE. Both take the
// lock.
void seep_region_add(enum seep_region_kind kind, uint64_t start, uint64_t bytes);
void seep_region_remove(enum seep_region_kind kind, uint64_t start, uint64_t bytes);

// An ignored block is about to be freed. Only where SEEP_SPECIAL_IGNORED is set.
void seep_ignored_gone(uint64_t address);

// If `tid` was stopped while it held the lock of the tables: repairs the tables and releases the lock.
void seep_annotations_recover(uint32_t tid);
// In a child of fork, when its image is in place: the lock may be that of a thread that is not there.
void seep_annotations_in_child(void);

#endif
