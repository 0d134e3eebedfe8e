// SPDX-License-Identifier: BSD-2-Clause
// How far the figures of a profile can be trusted: its notes, and the verdict on its health. See verdict.h.
#include <inttypes.h>
#include <string.h>

#include "profile/verdict.h"

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
    // The first reason becomes the first note: readers of minor version 1 of the trace look for it there.
    if (is_first && added.flags & REASONS) {
        memmove(health->notes + 1, health->notes, (health->nr_notes - 1) * sizeof(added));
        health->notes[0] = added;
    }
    return NULL;
}

bool seep_profile_has_note(const struct seep_profile *profile, enum seep_note_code code) {
    for (size_t i = 0; i < profile->health.nr_notes; i++)
        if (profile->health.notes[i].code == code)
            return true;
    return false;
}

struct seep_error *seep_profile_note_beside(struct seep_profile *profile) {
    if (seep_profile_has_note(profile, SEEP_NOTE_BESIDE_MALLOC))
        return NULL;
    return seep_profile_note(
        profile, SEEP_NOTE_BESIDE_MALLOC,
        "the program may call functions of its allocator beside malloc (mallocx of jemalloc, tc_malloc, "
        "mi_malloc), which are not traced: a block of malloc that they free counts as live, and may count as "
        "lost; what looks freed twice, inside a block or by a wrong function may be their memory and is not "
        "named; for a scan, pointers in their memory, and in what is free there, hold");
}

bool seep_profile_may_be_right(const struct seep_profile *profile, const struct seep_wrong_release *wrong) {
    return (wrong->kind == SEEP_MISUSE_DOUBLE_FREE || wrong->kind == SEEP_MISUSE_INSIDE ||
            wrong->kind == SEEP_MISUSE_MISMATCH) &&
           seep_profile_has_note(profile, SEEP_NOTE_BESIDE_MALLOC);
}

bool seep_misuse_may_be_unseen(uint32_t misuse) {
    return misuse == SEEP_MISUSE_DOUBLE_FREE || misuse == SEEP_MISUSE_INSIDE;
}

bool seep_profile_is_uncertain(const struct seep_profile *profile, const struct seep_wrong_release *wrong) {
    return seep_misuse_may_be_unseen(wrong->kind) && seep_profile_has_note(profile, SEEP_NOTE_PAST_MALLOC);
}

// The first note with any of `flags`, SEEP_NOTE_*; NULL: there is none.
static const struct seep_note *find_note(const struct seep_profile *profile, uint32_t flags) {
    for (size_t i = 0; i < profile->health.nr_notes; i++)
        if (profile->health.notes[i].flags & flags)
            return &profile->health.notes[i];
    return NULL;
}

const char *seep_verdict_name(enum seep_verdict verdict) {
    static const char *const names[] = {"complete", "incomplete", "not traced"};
    return names[verdict];
}

static uint32_t most_frequent_loss(const struct seep_health *health) {
    uint32_t most = 0;
    for (uint32_t i = 1; i < SEEP_LOST_NR; i++)
        if (health->lost[i] > health->lost[most])
            most = i;
    return most;
}

enum seep_verdict seep_profile_verdict(const struct seep_profile *profile) {
    const struct seep_health *health = &profile->health;
    if (health->flags & SEEP_HEALTH_UNTRACED || (health->state == SEEP_STATE_PASSIVE && !health->events))
        return SEEP_VERDICT_NOT_TRACED;
    bool trouble = health->flags & (SEEP_HEALTH_MISSING | SEEP_FLAG_PREEMPTED) ||
                   health->state == SEEP_STATE_PASSIVE || health->lost[most_frequent_loss(health)];
    return trouble ? SEEP_VERDICT_INCOMPLETE : SEEP_VERDICT_COMPLETE;
}

enum seep_verdict seep_profiles_verdict(struct seep_profile *const *profiles, size_t nr) {
    enum seep_verdict worst = SEEP_VERDICT_COMPLETE;
    for (size_t i = 0; i < nr; i++)
        worst = SEEP_MAX(worst, seep_profile_verdict(profiles[i]));
    return worst;
}

const struct seep_note *seep_profile_verdict_note(const struct seep_profile *profile) {
    bool noted = profile->health.flags & (SEEP_HEALTH_UNTRACED | SEEP_HEALTH_MISSING);
    return noted ? find_note(profile, REASONS) : NULL;
}

const char *seep_profile_preempted_by(const struct seep_profile *profile) {
    if (!(profile->health.flags & SEEP_FLAG_PREEMPTED))
        return NULL;
    return profile->health.preempted_by ? profile->health.preempted_by : "the program itself";
}

const char *seep_profile_preempted_advice(const struct seep_profile *profile) {
    return strcmp(seep_profile_preempted_by(profile), SEEP_PREEMPTED_BY_VALGRIND) == 0
               ? "run the program without Valgrind"
               : "'seep attach' sees them";
}

const char *seep_profile_why_incomplete(const struct seep_profile *profile, struct seep_arena *arena) {
    const struct seep_health *health = &profile->health;
    const struct seep_note *note = seep_profile_verdict_note(profile);
    const char *other = seep_profile_preempted_by(profile);
    uint32_t lost = most_frequent_loss(health);
    if (note)
        return seep_arena_strdup(arena, note->text);
    if (health->state == SEEP_STATE_PASSIVE)
        return seep_arena_printf(arena, "seep gave up: %s", seep_passive_meaning(health->passive_reason));
    if (other)
        return seep_arena_printf(arena, "allocations through the malloc of %s are not covered; %s", other,
                                 seep_profile_preempted_advice(profile));
    return seep_arena_printf(arena, "lost %" PRIu64 " (%s): %s", health->lost[lost], seep_lost_name(lost),
                             seep_lost_meaning(lost));
}

const char *seep_profile_why_not_looked(const struct seep_profile *profile) {
    const struct seep_note *note = find_note(profile, SEEP_NOTE_UNSCANNED);
    return note ? note->text : NULL;
}

// ---- words ----

static const char *word(const char *const *words, uint32_t nr_words, uint32_t value, const char *otherwise) {
    return value < nr_words && words[value] ? words[value] : otherwise;
}

static const char *const lost_names[SEEP_LOST_NR] = {
    [SEEP_LOST_REENTERED] = "reentered",
    [SEEP_LOST_NO_SITE] = "no_site",
    [SEEP_LOST_NO_LEAF] = "no_leaf",
    [SEEP_LOST_ODD_FULL] = "odd_full",
    [SEEP_LOST_NO_THREAD] = "no_thread",
    [SEEP_LOST_NO_COUNTERS] = "no_counters",
    [SEEP_LOST_FREE_UNSEEN] = "free_unseen",
    [SEEP_LOST_FORK] = "fork",
    [SEEP_LOST_NO_MODULE] = "no_module",
    [SEEP_LOST_PASSIVE] = "passive",
    [SEEP_LOST_FORK_INEXACT] = "fork_inexact",
    [SEEP_LOST_NO_MAPPING] = "no_mapping",
    [SEEP_LOST_NO_MISUSE] = "no_misuse",
    [SEEP_LOST_NO_PIECE] = "no_piece",
    [SEEP_LOST_NO_NOTE] = "no_note",
    [SEEP_LOST_RING] = "ring",
    [SEEP_LOST_EXEC] = "exec",
    [SEEP_LOST_SWAPPED] = "swapped",
    [SEEP_LOST_LOG] = "log",
    [SEEP_LOST_EVENT] = "event",
    [SEEP_LOST_STOPPED] = "stopped",
};

static const char *const lost_meanings[SEEP_LOST_NR] = {
    [SEEP_LOST_REENTERED] = "a signal handler allocated or freed while seep was at work in its thread: "
                            "totals are too low by this many; do not allocate in signal handlers",
    [SEEP_LOST_NO_SITE] = "allocations counted under \"(stack not recorded)\" because the stack tree was "
                          "full or busy: trace a shorter run or set a smaller --depth",
    [SEEP_LOST_NO_LEAF] =
        "live blocks that could not be kept because the heap map could not grow: the blocks listed are not "
        "all there are; give the system more shared memory, or the program a higher 'ulimit -v' or 'ulimit "
        "-f'",
    [SEEP_LOST_ODD_FULL] = "live blocks at unusual addresses that could not be kept: the blocks listed are "
                           "not all there are; the counters are right",
    [SEEP_LOST_NO_THREAD] = "events of threads for which there was no slot or no memory: totals are too low "
                            "by this many; run with fewer threads at a time, or raise the limits of "
                            "memory (ulimit -v, -d)",
    [SEEP_LOST_NO_COUNTERS] = "events for which there was no room to count them: totals are too low by this "
                              "many; give the system more shared memory",
    [SEEP_LOST_FREE_UNSEEN] =
        "blocks whose address was allocated again although seep saw no free: counted as "
        "freed; a library may free past seep",
    [SEEP_LOST_FORK] =
        "forked children that are not in this report: no image of their own could be made (raise the limits "
        "of memory, file size and open files), the tool could not be reached (chroot, another user), or the "
        "child ended before its probes were in place",
    [SEEP_LOST_NO_MODULE] = "frames shown as bare addresses because the module table was full: load fewer "
                            "libraries, or trace a shorter run",
    [SEEP_LOST_FORK_INEXACT] =
        "forked children whose inherited blocks are those of the parent a little after "
        "the fork: their own allocations are exact",
    [SEEP_LOST_PASSIVE] =
        "this many events or more were not counted after seep gave up: the report says why it gave up",
    [SEEP_LOST_NO_MAPPING] = "mappings of the program that were not kept because their table was full or "
                             "busy: the list of mappings is not complete; the heap's figures are right",
    [SEEP_LOST_NO_MISUSE] = "invalid or mismatched frees that were not kept because their table was full or "
                            "busy: mend those that are shown first",
    [SEEP_LOST_NO_PIECE] = "pieces of the program's own pools that were not kept because their table was "
                           "full or busy: the figures of pools are too low; the heap's are right",
    [SEEP_LOST_NO_NOTE] =
        "names, marks, ignored blocks or roots that were not kept because their table was full or busy: let "
        "the program tell of fewer; all other figures are right",
    [SEEP_LOST_RING] = "events of the kernel that found no room in the ring buffer: totals are too low, and "
                       "a block whose free was lost counts as live; set a larger --buffer or a --sample-rate",
    [SEEP_LOST_EXEC] =
        "programs executed as another user, in another root (chroot), under a filter of system calls or "
        "without a free descriptor: from there they cannot reach the tool, and those that are not in this "
        "report were not traced; run seep as that user or in that root, raise the limit of open files "
        "(ulimit "
        "-n), or use 'seep attach'",
    [SEEP_LOST_SWAPPED] =
        "times that records of seep were swapped out and could not all be read back: totals are too low; "
        "give the system more memory, or trace with --sample",
    [SEEP_LOST_LOG] =
        "calls that are counted and not in the log: there was no room for them, the program closed the "
        "descriptor of --log-fd, or it has a filter of system calls; make room, or take --log for --log-fd",
    [SEEP_LOST_EVENT] =
        "events that are counted and not in the recording: the file had no room, or seep was stopped, killed "
        "or too slow, or --drop was given; totals are right, the heap at a moment is not exact",
    [SEEP_LOST_STOPPED] =
        "allocations that were not recorded because recording was stopped ('stop' of seep connect): the "
        "figures have neither them nor their frees; what was live before is exact",
};

static const char *const cut_names[SEEP_CUT_NR] = {
    [SEEP_CUT_NO_CFI] = "no_cfi",      [SEEP_CUT_BAD_READ] = "bad_read", [SEEP_CUT_BAD_CFI] = "bad_cfi",
    [SEEP_CUT_LOOP] = "loop",          [SEEP_CUT_DEPTH] = "depth",       [SEEP_CUT_UNREAD] = "unread",
    [SEEP_CUT_PROBE] = "return_probe",
};

static const char *const cut_meanings[SEEP_CUT_NR] = {
    [SEEP_CUT_NO_CFI] = "code without call-frame information, as JIT compilers and hand-written assembly "
                        "make: compile with -fasynchronous-unwind-tables or -fno-omit-frame-pointer; with "
                        "musl-gcc, link with -Wl,--eh-frame-hdr too",
    [SEEP_CUT_BAD_READ] = "the next frame was not in readable memory: the stack may be damaged, or of a kind "
                          "of coroutine that seep does not know",
    [SEEP_CUT_BAD_CFI] = "call-frame information that cannot be interpreted: the module may be damaged or "
                         "made by an unusual tool; build it again",
    [SEEP_CUT_LOOP] = "the stack pointer did not move outward: the stack is split (gcc -fsplit-stack) or "
                      "damaged, or the call-frame information is wrong; build the module again",
    [SEEP_CUT_DEPTH] =
        "the stack was deeper than the limit and its outermost frames are missing: set a larger --depth",
    [SEEP_CUT_UNREAD] =
        "seep was still reading the call-frame information of a module that no traced process "
        "had mapped before (some milliseconds, some hundred for a large one): later stacks "
        "are complete",
    [SEEP_CUT_PROBE] = "a return probe (uretprobe) of another tracer, as perf or bpftrace, stood in place of "
                       "the return address, which the kernel does not tell: end that tracer",
};

static const char *const passive_meanings[SEEP_PASSIVE_NR] = {
    [SEEP_PASSIVE_NONE] = "seep did not give up: nothing to do",
    [SEEP_PASSIVE_NO_MEMORY_FILE] =
        "the memory file could not be made, so nothing was traced: allow memfd_create in the sandbox",
    // In parentheses: clang takes two strings side by side for a forgotten comma.
    [SEEP_PASSIVE_NO_MAP] = ("there was no address space for the image, so nothing was traced from then on: "
                             "raise the limit of address space (ulimit -v)"),
    [SEEP_PASSIVE_DISABLED] = "tracing was switched off: unset SEEP_DISABLE",
    [SEEP_PASSIVE_FORK] = ("this forked child could not make an image of its own: raise the limit of open "
                           "files, of file size or of memory (ulimit -n, -f, -v, -d)"),
    [SEEP_PASSIVE_UNMAPPED] =
        ("the program mapped something over memory of seep, at an address of its own choice, so nothing "
         "after that was traced: 'seep attach' has no memory in the program"),
};

const char *seep_lost_name(uint32_t lost) {
    return word(lost_names, SEEP_LOST_NR, lost, "unknown");
}

const char *seep_cut_name(uint32_t cut) {
    return word(cut_names, SEEP_CUT_NR, cut, "unknown");
}

static const char newer[] = "a reason that this seep does not know: update seep";

const char *seep_lost_meaning(uint32_t lost) {
    return word(lost_meanings, SEEP_LOST_NR, lost, newer);
}

const char *seep_cut_meaning(uint32_t cut) {
    return word(cut_meanings, SEEP_CUT_NR, cut, newer);
}

const char *seep_passive_meaning(uint32_t passive_reason) {
    return word(passive_meanings, SEEP_PASSIVE_NR, passive_reason, newer);
}
