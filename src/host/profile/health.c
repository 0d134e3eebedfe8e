// SPDX-License-Identifier: BSD-2-Clause
// How far the figures of a profile can be trusted: its notes, and the verdict on its health. See profile.h.
#include <string.h>

#include "profile/profile.h"

#define REASONS (SEEP_NOTE_UNTRACED | SEEP_NOTE_MISSING)

struct seep_error *seep_profile_note(struct seep_profile *profile, enum seep_note_code code,
                                     const char *format, ...) {
    struct seep_health *health = &profile->health;
    bool is_first = !(health->flags & (SEEP_HEALTH_UNTRACED | SEEP_HEALTH_MISSING));
    va_list args;
    va_start(args, format);
    struct seep_error *err =
        seep_note_add(&profile->arena, &health->notes, &health->nr_notes, code, format, args);
    va_end(args);
    if (err)
        return err;
    struct seep_note added = health->notes[health->nr_notes - 1];
    health->flags |= added.flags & SEEP_NOTE_UNTRACED ? SEEP_HEALTH_UNTRACED : 0;
    health->flags |= added.flags & SEEP_NOTE_MISSING ? SEEP_HEALTH_MISSING : 0;
    // The first reason is the first note: readers of minor version 1 of the trace know it by that.
    if (is_first && added.flags & REASONS) {
        memmove(health->notes + 1, health->notes, (health->nr_notes - 1) * sizeof(added));
        health->notes[0] = added;
    }
    return NULL;
}

// The first note with any of `flags`, SEEP_NOTE_*; NULL: there is none.
static const struct seep_note *find_note(const struct seep_profile *profile, uint32_t flags) {
    for (size_t i = 0; i < profile->health.nr_notes; i++)
        if (profile->health.notes[i].flags & flags)
            return &profile->health.notes[i];
    return NULL;
}

enum seep_verdict seep_profile_verdict(const struct seep_profile *profile,
                                       const struct seep_note **ret_reason) {
    const struct seep_health *health = &profile->health;
    bool noted = health->flags & (SEEP_HEALTH_UNTRACED | SEEP_HEALTH_MISSING);
    *ret_reason = noted ? find_note(profile, REASONS) : NULL;
    if (health->flags & SEEP_HEALTH_UNTRACED || (health->state == SEEP_STATE_PASSIVE && !health->events))
        return SEEP_VERDICT_NOT_TRACED;
    if (health->flags & SEEP_HEALTH_MISSING)
        return SEEP_VERDICT_INCOMPLETE;
    bool trouble = health->state == SEEP_STATE_PASSIVE || health->flags & SEEP_FLAG_PREEMPTED;
    for (size_t i = 0; i < SEEP_LOST_NR; i++)
        trouble |= health->lost[i] != 0;
    return trouble ? SEEP_VERDICT_INCOMPLETE : SEEP_VERDICT_COMPLETE;
}

const char *seep_profile_why_not_looked(const struct seep_profile *profile) {
    const struct seep_note *note = find_note(profile, SEEP_NOTE_UNSCANNED);
    return note ? note->text : NULL;
}
