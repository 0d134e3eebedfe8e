// SPDX-License-Identifier: BSD-2-Clause
//
// The undo log of a fork. A child gets its image at its first heap operation, as a copy of the
// parent's; but the parent goes on meanwhile. So from the fork on the parent notes, in memory that
// both share, each block it adds to its map or takes out, before it does; the child copies and then
// undoes. Without a pending child this costs nothing: operations go the special way only while one is.
//
// Which changes came before the fork is known of each thread by a counter in memory that is not shared.
// Counters are copied thread by thread, each at a moment at which it changes none.
//
// A log ends when its child has its image, has become another program or has ended, or when it is
// full; a child that comes after that keeps what it has and counts SEEP_LOST_FORK_INEXACT. So does one
// that meets a thread in the middle of a change that gets no processor for too long.
#ifndef SEEP_PRELOAD_FORK_UNDO_H
#define SEEP_PRELOAD_FORK_UNDO_H

#include "preload/preload.h"

// Before fork, in the parent: opens a log, or shares the one that is pending here. Takes fork_lock.
void seep_undo_prepare(void);
// In the child: takes the log that was prepared as its own.
void seep_undo_in_child(void);

// The thread is about to change the map's entry of `address` from `before` to `after`. Opens the
// change; seep_undo_done closes all that the thread has opened, once its counters are right too.
void seep_undo_note(struct seep_thread *thread, uint64_t address, uint64_t before, uint64_t after);
void seep_undo_done(struct seep_thread *thread);
void seep_undo_note_odd(
    void); // a change that the log cannot hold: the child will count SEEP_LOST_FORK_INEXACT

// In a child with a fresh copy at `fresh` of the parent's image, not yet in its place: makes it what
// the parent's was at the fork. false: not exactly.
bool seep_undo_apply(unsigned char *fresh);

// Where a log is. 0 bytes: there is none. Anywhere, without a lock.
uint64_t seep_undo_part(int number, uint64_t *ret_bytes);

// This process needs the log no longer. seep_undo_need_again: it does after all (exec failed).
void seep_undo_leave(void);
void seep_undo_need_again(void);
// Unmaps the log. An image that the process makes after that is inexact. seep_undo_make_room does so only in
// a child without an image, and not in a child of vfork.
void seep_undo_drop(void);
void seep_undo_make_room(void);

#endif
