// SPDX-License-Identifier: BSD-2-Clause
//
// How far the figures of a profile can be trusted: its notes, its losses in words, and the verdict on them.
#ifndef SEEP_PROFILE_VERDICT_H
#define SEEP_PROFILE_VERDICT_H

#include "profile/profile.h"

// From best to worst. Samples and cut stacks leave a profile complete.
enum seep_verdict {
    SEEP_VERDICT_COMPLETE,
    SEEP_VERDICT_INCOMPLETE, // some events were lost or are not covered, or the file lacks some
    SEEP_VERDICT_NOT_TRACED, // nothing was seen of the process
};
const char *seep_verdict_name(enum seep_verdict verdict); // "complete", "incomplete", "not traced"
enum seep_verdict seep_profile_verdict(const struct seep_profile *profile);
// The worst of `nr`.
enum seep_verdict seep_profiles_verdict(struct seep_profile *const *profiles, size_t nr);

// The note that says why the verdict is not "complete", borrowed. NULL: there is no such note.
const struct seep_note *seep_profile_verdict_note(const struct seep_profile *profile);
// Why the verdict is not "complete", in one sentence of `arena`, without the verdict: that note; else why the
// library gave up; else the malloc that is called instead of its own; else the most frequent loss. NULL: out
// of memory. Only of a profile that is not complete.
SEEP_MUST_CHECK const char *seep_profile_why_incomplete(const struct seep_profile *profile,
                                                        struct seep_arena *arena);
// As preempted_by of a profile, which else is the path of a module.
#define SEEP_PREEMPTED_BY_VALGRIND "Valgrind"

// The module whose malloc is called instead of ours, borrowed, or words for it. NULL: there is none.
const char *seep_profile_preempted_by(const struct seep_profile *profile);
// What to do about that: only where there is such a module.
const char *seep_profile_preempted_advice(const struct seep_profile *profile);
// Why the memory of the process was not scanned at exit, borrowed; NULL: no note says so.
const char *seep_profile_why_not_looked(const struct seep_profile *profile);

// Adds a note, and sets the health.flags that follow from it.
SEEP_MUST_CHECK SEEP_PRINTF(3, 4) struct seep_error *seep_profile_note(struct seep_profile *profile,
                                                                       enum seep_note_code code,
                                                                       const char *format, ...);
bool seep_profile_has_note(const struct seep_profile *profile, enum seep_note_code code);
// Notes once that functions of the allocator beside malloc may be called.
SEEP_MUST_CHECK struct seep_error *seep_profile_note_beside(struct seep_profile *profile);
// Whether what looks like a wrong free may free a block whose allocation was not seen. The address of such a
// block was another block's before, or is in or at the start of one that seems live.
bool seep_profile_may_be_right(const struct seep_profile *profile, const struct seep_wrong_release *wrong);
// Whether a free of this kind is right if the block came from libc's own malloc: a double free, or one inside
// a block.
bool seep_misuse_may_be_unseen(uint32_t misuse);
// Whether the free is of such a kind, and a module of the process may call that malloc
// (SEEP_NOTE_PAST_MALLOC). Reports show such a free as not certain.
bool seep_profile_is_uncertain(const struct seep_profile *profile, const struct seep_wrong_release *wrong);

// Lower-case names as they appear in reports and JSON, "no_leaf", say; "unknown" for a value outside the
// enum.
const char *seep_lost_name(uint32_t lost);
const char *seep_cut_name(uint32_t cut);
// One sentence for the health line: what it means and what to do.
const char *seep_lost_meaning(uint32_t lost);
const char *seep_cut_meaning(uint32_t cut);
const char *seep_passive_meaning(uint32_t passive_reason);

#endif
