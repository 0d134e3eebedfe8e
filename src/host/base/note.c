// SPDX-License-Identifier: BSD-2-Clause
// Notes and their codes, see note.h.
#include <stdio.h>

#include "base/note.h"

static const struct {
    const char *name;
    uint32_t flags;
} codes[SEEP_NOTE_NR] = {
    [SEEP_NOTE_OTHER] = {"other", 0},
    [SEEP_NOTE_CANNOT_PRELOAD] = {"cannot_preload", SEEP_NOTE_UNTRACED},
    [SEEP_NOTE_FILE_LIMIT] = {"file_limit", SEEP_NOTE_UNTRACED},
    [SEEP_NOTE_NO_IMAGE] = {"no_image", SEEP_NOTE_UNTRACED},
    [SEEP_NOTE_IMAGE_UNREADABLE] = {"image_unreadable", SEEP_NOTE_UNTRACED},
    [SEEP_NOTE_OTHER_USER] = {"other_user", SEEP_NOTE_UNTRACED},
    [SEEP_NOTE_NO_PRELOAD] = {"no_preload", SEEP_NOTE_UNTRACED},
    [SEEP_NOTE_ENDED_EARLY] = {"ended_early", SEEP_NOTE_UNTRACED},
    [SEEP_NOTE_IMAGE_CUT] = {"image_cut", SEEP_NOTE_MISSING},
    [SEEP_NOTE_IMAGE_DAMAGED] = {"image_damaged", SEEP_NOTE_MISSING},
    [SEEP_NOTE_IMAGE_INCOMPLETE] = {"image_incomplete", SEEP_NOTE_MISSING},
    [SEEP_NOTE_IMAGES_UNREADABLE] = {"images_unreadable", SEEP_NOTE_MISSING},
    [SEEP_NOTE_DEEP_BOUND] = {"deep_bound", SEEP_NOTE_MISSING},
    [SEEP_NOTE_OTHER_NAMESPACE] = {"other_namespace", SEEP_NOTE_MISSING},
    [SEEP_NOTE_OWN_ALLOCATOR] = {"own_allocator", SEEP_NOTE_MISSING},
    [SEEP_NOTE_OWN_MALLOC] = {"own_malloc", SEEP_NOTE_MISSING},
    [SEEP_NOTE_STILL_RUNNING] = {"still_running", SEEP_NOTE_MISSING},
    [SEEP_NOTE_LEFT_RUNNING] = {"left_running", SEEP_NOTE_MISSING},
    [SEEP_NOTE_OUT_OF_DESCRIPTORS] = {"out_of_descriptors", SEEP_NOTE_MISSING},
    [SEEP_NOTE_TRACE_CUT] = {"trace_cut", SEEP_NOTE_MISSING},
    [SEEP_NOTE_CORE_CUT] = {"core_cut", SEEP_NOTE_MISSING},
    [SEEP_NOTE_LATE_PROBES] = {"late_probes", SEEP_NOTE_MISSING},
    [SEEP_NOTE_NOT_COVERED] = {"not_covered", SEEP_NOTE_MISSING},
    [SEEP_NOTE_CALLS_UNSEEN] = {"calls_unseen", SEEP_NOTE_MISSING},
    [SEEP_NOTE_BLOCKS_LOST] = {"blocks_lost", SEEP_NOTE_MISSING},
    [SEEP_NOTE_SCAN_FAILED] = {"scan_failed", SEEP_NOTE_UNSCANNED},
    [SEEP_NOTE_SCAN_UNREACHABLE] = {"scan_unreachable", SEEP_NOTE_UNSCANNED},
    [SEEP_NOTE_SCAN_NO_EXIT] = {"scan_no_exit", SEEP_NOTE_UNSCANNED},
    [SEEP_NOTE_SCAN_SAMPLED] = {"scan_sampled", 0},
    [SEEP_NOTE_SCAN_ENDED] = {"scan_ended", 0},
    [SEEP_NOTE_SCAN_UNREAD] = {"scan_unread", 0},
    [SEEP_NOTE_SCAN_NOT_KEPT] = {"scan_not_kept", 0},
    [SEEP_NOTE_OWN_ALLOCATOR_LIKELY] = {"own_allocator_likely", 0},
    [SEEP_NOTE_GO_RUNTIME] = {"go_runtime", 0},
    [SEEP_NOTE_ADDRESS_LIMIT] = {"address_limit", 0},
    [SEEP_NOTE_SILENT_PROCESSES] = {"silent_processes", 0},
    [SEEP_NOTE_SNAPSHOTS_FAILED] = {"snapshots_failed", 0},
    [SEEP_NOTE_MESSAGES_REFUSED] = {"messages_refused", 0},
    [SEEP_NOTE_TOTALS_DIFFER] = {"totals_differ", 0},
    [SEEP_NOTE_NO_MARK] = {"no_mark", 0},
    [SEEP_NOTE_SUPPRESSIONS_UNREAD] = {"suppressions_unread", 0},
    [SEEP_NOTE_ATTACHED_LATE] = {"attached_late", 0},
    [SEEP_NOTE_EXEC_FOLLOWS] = {"exec_follows", 0},
    [SEEP_NOTE_BREAKPOINTS] = {"breakpoints", 0},
    [SEEP_NOTE_SAMPLED] = {"sampled", 0},
    [SEEP_NOTE_ESTIMATED] = {"estimated", 0},
    [SEEP_NOTE_TABLES_FULL] = {"tables_full", 0},
    [SEEP_NOTE_FILES_UNREADABLE] = {"files_unreadable", 0},
    [SEEP_NOTE_OLD_KERNEL] = {"old_kernel", 0},
    [SEEP_NOTE_PROCESSES_ENDED] = {"processes_ended", 0},
    [SEEP_NOTE_PROCESSES_LEFT_ALONE] = {"processes_left_alone", 0},
    [SEEP_NOTE_KERNEL_OUTSTANDING] = {"kernel_outstanding", 0},
    [SEEP_NOTE_WIPED] = {"wiped", 0},
    [SEEP_NOTE_EVENTS_STRANGE] = {"events_strange", 0},
    [SEEP_NOTE_EVENTS_FOREIGN] = {"events_foreign", SEEP_NOTE_MISSING},
    [SEEP_NOTE_OF_SNAPSHOT] = {"of_snapshot", 0},
    [SEEP_NOTE_RECORDED_LATE] = {"recorded_late", 0},
    [SEEP_NOTE_HEADERS] = {"headers", 0},
    [SEEP_NOTE_BESIDE_MALLOC] = {"beside_malloc", 0},
    [SEEP_NOTE_FREES_IMPLIED] = {"frees_implied", 0},
    [SEEP_NOTE_NOTICES_CUT] = {"notices_cut", SEEP_NOTE_MISSING},
    [SEEP_NOTE_OUT_OF_MEMORY] = {"out_of_memory", 0},
    [SEEP_NOTE_SNAPSHOT_MISSED] = {"snapshot_missed", 0},
    [SEEP_NOTE_OF_SUMS] = {"of_sums", 0},
    [SEEP_NOTE_AFTER_END] = {"after_end", 0},
    [SEEP_NOTE_PEAKS_APART] = {"peaks_apart", 0},
    [SEEP_NOTE_KEPT_MEANWHILE] = {"kept_meanwhile", SEEP_NOTE_MISSING},
    [SEEP_NOTE_RECORDED_REST] = {"recorded_rest", 0},
    [SEEP_NOTE_PROCESSES_LOST] = {"processes_lost", 0},
    [SEEP_NOTE_DESCENDANTS] = {"descendants", 0},
    [SEEP_NOTE_EVENTS_DAMAGED] = {"events_damaged", SEEP_NOTE_MISSING},
    [SEEP_NOTE_STOOD_STILL] = {"stood_still", 0},
    [SEEP_NOTE_EVENTS_DROPPED] = {"events_dropped", SEEP_NOTE_MISSING},
    [SEEP_NOTE_SCAN_STOPPED] = {"scan_stopped", 0},
    [SEEP_NOTE_LOST_CYCLES] = {"lost_cycles", 0},
    [SEEP_NOTE_PAST_MALLOC] = {"past_malloc", 0},
    [SEEP_NOTE_PAST_FREE] = {"past_free", SEEP_NOTE_MISSING},
    [SEEP_NOTE_SCAN_WOKEN] = {"scan_woken", 0},
};

const char *seep_note_name(uint32_t code) {
    return codes[code < SEEP_NOTE_NR ? code : SEEP_NOTE_OTHER].name;
}

const char *seep_note_lead(const struct seep_note *note) {
    return note->flags & SEEP_NOTE_UNTRACED    ? "not traced: "
           : note->flags & SEEP_NOTE_UNSCANNED ? "what is lost is not known: "
                                               : "";
}

struct seep_error *seep_note_add(struct seep_arena *arena, struct seep_note **notes, size_t *nr_notes,
                                 enum seep_note_code code, const char *format, va_list args) {
    char text[1024];
    vsnprintf(text, sizeof(text), format, args);
    char *kept = seep_arena_strdup(arena, text);
    if (!kept || !seep_arena_more(arena, notes, *nr_notes, 1, sizeof(**notes)))
        return seep_error_no_memory();
    (*notes)[(*nr_notes)++] = (struct seep_note){code, codes[code].flags, kept};
    return NULL;
}
