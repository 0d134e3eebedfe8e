// SPDX-License-Identifier: BSD-2-Clause
//
// The rows of an object: that of one pc, or all of a section. What an entry is: cfi_entry.h; how its program
// becomes a row: cfi_program.h.
#include "unwind/cfi_program.h"

int seep_cfi_row_in(struct seep_cfi_machine *machine, const struct seep_cfi_object *object, uint64_t pc,
                    struct seep_cfi_row *ret_row) {
    if (object->size_bytes > UINT64_MAX - object->start)
        return SEEP_CFI_BAD;
    struct seep_cfi_cursor entry;
    int status = seep_cfi_find_fde(object, pc, &entry);
    if (status)
        return status;
    struct seep_cfi_cie cie = {0};
    struct seep_cfi_fde fde;
    status = seep_cfi_read_fde(entry, &cie, &fde);
    if (status)
        return status;
    if (pc < fde.start || pc >= fde.end)
        return SEEP_CFI_NONE;

    status = seep_cfi_program_start(machine, &cie, &fde, pc);
    if (!status)
        status = seep_cfi_program_run(machine, &fde.program);
    if (!status)
        status = seep_cfi_program_row(object, machine, ret_row);
    machine->cie = NULL; // which is on this stack: a scan of what stays would find it
    return status;
}

int seep_cfi_row_at(const struct seep_cfi_object *object, uint64_t pc, struct seep_cfi_row *ret_row) {
    struct seep_cfi_machine machine;
    return seep_cfi_row_in(&machine, object, pc, ret_row);
}

#define STOPPED 1 // by the visitor

// All rows of one FDE: each is what row_at gives for its start.
static int visit_fde(const struct seep_cfi_object *object, const struct seep_cfi_cie *cie,
                     struct seep_cfi_fde *fde, seep_cfi_visit *visit, void *context) {
    struct seep_cfi_machine machine;
    struct seep_cfi_row row;
    int status =
        fde->start < fde->end ? seep_cfi_program_start(&machine, cie, fde, fde->start) : SEEP_CFI_BAD;
    while (!status) {
        machine.pc = machine.start;
        machine.end = fde->end;
        status = seep_cfi_program_run(&machine, &fde->program);
        if (!status)
            status = seep_cfi_program_row(object, &machine, &row);
        if (!status && !visit(context, &row))
            return STOPPED;
        if (status || machine.end >= fde->end)
            break;
        machine.start = machine.end;
    }
    return status;
}

// The CIE that an FDE at `entry` refers to, by its place; the cursor is behind the reference.
static bool find_cie(struct seep_cfi_cursor *entry, const struct seep_cfi_cursor *section,
                     bool is_debug_frame, uint64_t *ret_place) {
    uint64_t place = entry->at;
    uint64_t reference = seep_cfi_read_unsigned(entry, 4);
    if (is_debug_frame) {
        *ret_place = section->at + reference;
        return !entry->bad && reference != DEBUG_FRAME_CIE_ID && reference < section->end - section->at;
    }
    *ret_place = place - reference;
    return !entry->bad && reference && reference <= place;
}

uint64_t seep_cfi_visit_rows(const struct seep_cfi_object *object, const struct seep_cfi_section *where,
                             seep_cfi_visit *visit, void *context) {
    if (object->size_bytes > UINT64_MAX - object->start || where->size_bytes > object->size_bytes)
        return 0;
    struct seep_cfi_cursor section = seep_cfi_cursor_at(object, where->start);
    if (section.bad || where->size_bytes > section.end - section.at)
        return 0;
    section.end = section.at + where->size_bytes;
    struct seep_cfi_cursor at = section;
    struct seep_cfi_cie cie = {0};
    uint64_t cie_place = UINT64_MAX, nr_bad = 0; // neighbours mostly share their CIE
    while (section.end - at.at >= 4) {
        struct seep_cfi_cursor entry = at;
        if (seep_cfi_enter_entry(&entry))
            break; // the end, or no telling where the next one begins
        at.at = entry.end;
        struct seep_cfi_cursor body = entry;
        uint64_t id = where->is_debug_frame ? DEBUG_FRAME_CIE_ID : 0;
        if (seep_cfi_read_unsigned(&body, 4) == id)
            continue;
        uint64_t place;
        struct seep_cfi_fde fde;
        if (!visit(context, NULL))
            break;
        int status = find_cie(&entry, &section, where->is_debug_frame, &place) ? SEEP_CFI_OK : SEEP_CFI_BAD;
        if (!status && place != cie_place) {
            struct seep_cfi_cursor cie_cursor = section;
            cie_cursor.at = place;
            cie = (struct seep_cfi_cie){0};
            status = seep_cfi_read_cie(cie_cursor, id, &cie);
            cie_place = status ? UINT64_MAX : place;
        }
        if (!status)
            status = seep_cfi_read_fde_body(entry, &cie, &fde);
        if (!status)
            status = visit_fde(object, &cie, &fde, visit, context);
        if (status == STOPPED)
            break;
        nr_bad += status != SEEP_CFI_OK;
    }
    return nr_bad;
}
