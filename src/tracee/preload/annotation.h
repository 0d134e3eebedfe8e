// SPDX-License-Identifier: BSD-2-Clause
//
// What else the program tells of itself through seep.h: names, marks, ignored blocks, roots. All of it
// is rare, under one lock, and counted as lost where there is no room.
#ifndef SEEP_PRELOAD_ANNOTATION_H
#define SEEP_PRELOAD_ANNOTATION_H

#include "preload/preload.h"

// A name in the strings area, each only once; 0: none, or no room. Takes the lock.
uint64_t seep_note_string(const char *name);

// The threads are entered.
void seep_mark_moment(struct seep_thread *thread, const char *name);
bool seep_mark_try(struct seep_thread *thread,
                   const char *name); // the same; false: not kept, and not counted as lost
void seep_name_thread(struct seep_thread *thread, const char *name);
void seep_region_add(enum seep_region_kind kind, uint64_t start, uint64_t bytes);
void seep_region_remove(enum seep_region_kind kind, uint64_t start, uint64_t bytes);

// An ignored block is about to be freed. Only where SEEP_SPECIAL_IGNORED is set.
void seep_ignored_gone(uint64_t address);

// If `tid` was stopped while it held the lock of the tables: repairs the tables and releases the lock.
void seep_annotations_recover(uint32_t tid);
void seep_annotations_in_child(void);

#endif
