// SPDX-License-Identifier: BSD-2-Clause
//
// What a reader of the report must know of the tracing as a whole, see attach_heap.h.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "profile/verdict.h"
#include "source/attach/heap.skel.h"
#include "profile/profile.h"
#include "source/attach/attach_parts.h"

#define NAMED_MAX 16u // files that were not read: a user who makes many cannot fill the report

struct notes {
    struct seep_profile *profile;
    struct seep_error *err;
};

SEEP_PRINTF(3, 4) static void note(struct notes *notes, enum seep_note_code code, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!notes->err)
        notes->err = seep_profile_note(notes->profile, code, "%s", text);
}

// Of another user, and its reader did not get through it.
static bool is_lost(const struct seep_attach_object *object) {
    return object->trouble && strcmp(object->trouble, SEEP_OBJECT_NO_ELF) != 0;
}

// Code in a file of another form, as the image of a Lisp system.
static bool is_no_elf(const struct seep_attach_object *object) {
    return object->inode && object->trouble && !is_lost(object);
}

struct seep_error *seep_attached_notes(const struct seep_attached *attached, struct seep_profile *profile) {
    struct notes notes = {profile, NULL};
    if (attached->options.sample > 1)
        note(&notes, SEEP_NOTE_SAMPLED, "about one allocation in %llu was recorded, by chance: multiply",
             (unsigned long long)attached->options.sample);
    if (attached->nr_without_table)
        note(&notes, SEEP_NOTE_TABLES_FULL, "%llu object%s found no room in the unwinder's tables",
             (unsigned long long)attached->nr_without_table, seep_plural(attached->nr_without_table));
    uint64_t nr_unseen = attached->bpf ? attached->bpf->bss->seep_lost[SEEP_BPF_LOST_LANDING] : 0;
    if (nr_unseen)
        note(&notes, SEEP_NOTE_CALLS_UNSEEN,
             "%llu call%s of operator new %s not seen, because no probe stood yet where the call returns",
             (unsigned long long)nr_unseen, seep_plural(nr_unseen), nr_unseen == 1 ? "was" : "were");
    for (size_t i = 0; i < attached->nr_objects && attached->options.probes == SEEP_PROBES_PERF; i++)
        if (attached->objects[i]->allocator.throws_itself)
            note(&notes, SEEP_NOTE_NOT_COVERED,
                 "operator new of %s does not call malloc and is not covered: a probe on a function that "
                 "throws could end the program",
                 attached->objects[i]->path);
    for (size_t i = 0; i < attached->nr_objects; i++)
        if (attached->objects[i]->allocator.otel_refused)
            note(&notes, SEEP_NOTE_NOT_COVERED, "%s of %s is not covered: seep does not understand it",
                 attached->objects[i]->allocator.otel_refused, attached->objects[i]->path);
    uint64_t nr_unread = attached->bpf ? attached->bpf->bss->seep_lost[SEEP_BPF_LOST_OPERAND] : 0;
    if (nr_unread)
        note(&notes, SEEP_NOTE_CALLS_UNSEEN,
             "%llu sample%s not seen, because the arguments could not be read", (unsigned long long)nr_unread,
             nr_unread == 1 ? " was" : "s were");
    if (attached->options.source == SEEP_SOURCE_OTEL)
        note(&notes, SEEP_NOTE_ESTIMATED,
             "all figures are estimates by the samples that the program tells through its otel_memory "
             "probes");
    uint64_t nr_unreadable = 0;
    for (size_t i = 0; i < attached->nr_objects; i++)
        nr_unreadable += attached->objects[i]->inode && attached->objects[i]->unreadable &&
                         !attached->objects[i]->left_out && !attached->objects[i]->trouble;
    if (nr_unreadable)
        note(
            &notes, SEEP_NOTE_FILES_UNREADABLE,
            "%llu mapped file%s could not be read, so stacks end there: files of another user's process need "
            "CAP_SYS_PTRACE",
            (unsigned long long)nr_unreadable, seep_plural(nr_unreadable));
    size_t nr_named = 0;
    for (size_t i = 0; i < attached->nr_objects; i++)
        if (is_lost(attached->objects[i]) && nr_named++ < NAMED_MAX)
            note(&notes, SEEP_NOTE_FILES_UNREADABLE,
                 "%s was not read (%s): stacks end there, and an allocator "
                 "in it is not traced",
                 attached->objects[i]->path, attached->objects[i]->trouble);
    for (size_t i = 0; i < attached->nr_objects; i++)
        if (is_no_elf(attached->objects[i]) && nr_named++ < NAMED_MAX)
            note(&notes, SEEP_NOTE_FILES_UNREADABLE,
                 "%s has code, and is no ELF file of this machine: it has no call-frame information, so "
                 "stacks end there",
                 attached->objects[i]->path);
    if (attached->nr_left_out)
        note(&notes, SEEP_NOTE_FILES_UNREADABLE,
             "%llu time%s a file was not looked at, because its owner has too many: stacks end there, and an "
             "allocator in it "
             "is not traced",
             (unsigned long long)attached->nr_left_out, seep_plural(attached->nr_left_out));
    for (size_t i = 0; i < attached->nr_objects; i++)
        if (attached->objects[i]->is_refused)
            note(&notes, SEEP_NOTE_NOT_COVERED,
                 "the kernel puts no probes on %s: what its functions allocate is not here",
                 attached->objects[i]->path);
    for (size_t i = 0; i < attached->nr_objects; i++)
        if (attached->objects[i]->is_cut && nr_named++ < NAMED_MAX)
            note(
                &notes, SEEP_NOTE_FILES_UNREADABLE,
                "%s was read only in part, as it would take too long: it has too much call-frame information "
                "or too many symbols; stacks may end there",
                attached->objects[i]->path);
    if (nr_named > NAMED_MAX)
        note(&notes, SEEP_NOTE_FILES_UNREADABLE, "%zu more file%s not read, or only in part",
             nr_named - NAMED_MAX, nr_named - NAMED_MAX == 1 ? " was" : "s were");
    if (!attached->features.can[SEEP_BPF_CAN_LOOP])
        note(&notes, SEEP_NOTE_OLD_KERNEL, "this kernel has no bpf_loop: %s",
             seep_bpf_feature_cost(SEEP_BPF_CAN_LOOP));
    if (attached->nr_forgotten)
        note(&notes, SEEP_NOTE_PROCESSES_ENDED,
             "%llu process%s ended meanwhile, and what they had went with them",
             (unsigned long long)attached->nr_forgotten, seep_plural_es(attached->nr_forgotten));
    if (attached->nr_ignored)
        note(&notes, SEEP_NOTE_PROCESSES_LEFT_ALONE,
             "%llu process%s left alone, because libseep.so is in them and knows better: seep report PID",
             (unsigned long long)attached->nr_ignored, seep_plural_es(attached->nr_ignored));
    return notes.err;
}
