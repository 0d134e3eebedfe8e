// SPDX-License-Identifier: BSD-2-Clause
//
// What a reader of figures must know beside them: a code, what follows from it, and a sentence. Code decides
// by `code` and `flags`; `text` is for people only. docs/trace-format.md has the numbers, which never change:
// new codes come at the end.
#ifndef SEEP_BASE_NOTE_H
#define SEEP_BASE_NOTE_H

#include <stdarg.h>

#include "base/arena.h"
#include "base/error.h"

enum seep_note_code {
    SEEP_NOTE_OTHER, // of an old trace
    SEEP_NOTE_CANNOT_PRELOAD,
    SEEP_NOTE_FILE_LIMIT,
    SEEP_NOTE_NO_IMAGE,
    SEEP_NOTE_IMAGE_UNREADABLE,
    SEEP_NOTE_OTHER_USER,
    SEEP_NOTE_NO_PRELOAD,
    SEEP_NOTE_ENDED_EARLY,
    SEEP_NOTE_IMAGE_CUT,
    SEEP_NOTE_IMAGE_DAMAGED,
    SEEP_NOTE_IMAGE_INCOMPLETE,
    SEEP_NOTE_IMAGES_UNREADABLE,
    SEEP_NOTE_DEEP_BOUND,
    SEEP_NOTE_OTHER_NAMESPACE,
    SEEP_NOTE_OWN_ALLOCATOR,
    SEEP_NOTE_OWN_MALLOC,
    SEEP_NOTE_STILL_RUNNING,
    SEEP_NOTE_LEFT_RUNNING,
    SEEP_NOTE_OUT_OF_DESCRIPTORS,
    SEEP_NOTE_TRACE_CUT,
    SEEP_NOTE_CORE_CUT,
    SEEP_NOTE_LATE_PROBES,
    SEEP_NOTE_NOT_COVERED,
    SEEP_NOTE_CALLS_UNSEEN,
    SEEP_NOTE_BLOCKS_LOST,
    SEEP_NOTE_SCAN_FAILED,
    SEEP_NOTE_SCAN_UNREACHABLE,
    SEEP_NOTE_SCAN_NO_EXIT,
    SEEP_NOTE_SCAN_SAMPLED,
    SEEP_NOTE_SCAN_ENDED,
    SEEP_NOTE_SCAN_UNREAD,
    SEEP_NOTE_SCAN_NOT_KEPT,
    SEEP_NOTE_OWN_ALLOCATOR_LIKELY,
    SEEP_NOTE_GO_RUNTIME,
    SEEP_NOTE_ADDRESS_LIMIT,
    SEEP_NOTE_SILENT_PROCESSES,
    SEEP_NOTE_SNAPSHOTS_FAILED,
    SEEP_NOTE_MESSAGES_REFUSED,
    SEEP_NOTE_TOTALS_DIFFER,
    SEEP_NOTE_NO_MARK,
    SEEP_NOTE_SUPPRESSIONS_UNREAD,
    SEEP_NOTE_ATTACHED_LATE,
    SEEP_NOTE_EXEC_FOLLOWS,
    SEEP_NOTE_BREAKPOINTS,
    SEEP_NOTE_SAMPLED,
    SEEP_NOTE_ESTIMATED,
    SEEP_NOTE_TABLES_FULL,
    SEEP_NOTE_FILES_UNREADABLE,
    SEEP_NOTE_OLD_KERNEL,
    SEEP_NOTE_PROCESSES_ENDED,
    SEEP_NOTE_PROCESSES_LEFT_ALONE,
    SEEP_NOTE_KERNEL_OUTSTANDING,
    SEEP_NOTE_WIPED,
    SEEP_NOTE_EVENTS_STRANGE,
    SEEP_NOTE_EVENTS_FOREIGN,
    SEEP_NOTE_OF_SNAPSHOT,
    SEEP_NOTE_RECORDED_LATE,
    SEEP_NOTE_HEADERS,
    SEEP_NOTE_FREES_IMPLIED,
    SEEP_NOTE_NOTICES_CUT,
    SEEP_NOTE_BESIDE_MALLOC,
    SEEP_NOTE_OUT_OF_MEMORY,
    SEEP_NOTE_SNAPSHOT_MISSED,
    SEEP_NOTE_OF_SUMS,
    SEEP_NOTE_AFTER_END,
    SEEP_NOTE_PEAKS_APART,
    SEEP_NOTE_KEPT_MEANWHILE,
    SEEP_NOTE_RECORDED_REST,
    SEEP_NOTE_PROCESSES_LOST,
    SEEP_NOTE_DESCENDANTS,
    SEEP_NOTE_EVENTS_DAMAGED,
    SEEP_NOTE_STOOD_STILL,
    SEEP_NOTE_EVENTS_DROPPED,
    SEEP_NOTE_SCAN_STOPPED,
    SEEP_NOTE_LOST_CYCLES,
    SEEP_NOTE_PAST_MALLOC,
    SEEP_NOTE_PAST_FREE,
    SEEP_NOTE_SCAN_WOKEN,
    SEEP_NOTE_NR
};

// What follows from a note. They travel beside the code, so that those of a code from a newer seep are known.
#define SEEP_NOTE_UNTRACED  1u // nothing was traced; the note is the reason
#define SEEP_NOTE_MISSING   2u // something that there was is not here; the note is the reason
#define SEEP_NOTE_UNSCANNED 4u // what is lost is not known; the note is the reason
#define SEEP_NOTE_FLAGS     7u

struct seep_note {
    uint32_t code; // enum seep_note_code, or a greater number from a newer seep
    uint32_t flags;
    const char *text; // one sentence, without the lead
};

// "image_cut"; "other" for a number that has no name here.
const char *seep_note_name(uint32_t code);
// What people read before the text: "not traced: ", "what is lost is not known: ", or "".
const char *seep_note_lead(const struct seep_note *note);

// Adds one at the end, its text in `arena`, with the flags of its code. The array has always grown by this
// function, which keeps it in `arena` too.
SEEP_MUST_CHECK struct seep_error *seep_note_add(struct seep_arena *arena, struct seep_note **notes,
                                                 size_t *nr_notes, enum seep_note_code code,
                                                 const char *format, va_list args);

#endif
