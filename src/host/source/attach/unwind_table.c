// SPDX-License-Identifier: BSD-2-Clause
// All rows of an object, sorted, without gaps and repetitions; see unwind_table.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "source/attach/unwind_table.h"
#include "image/bpf_events.h"
#include "unwind/row.h"

struct piece {
    uint64_t start;
    uint64_t end;
    uint32_t packed;
    uint32_t order; // of two that cover the same address the first counts
};

struct pieces {
    struct piece *items;
    size_t nr;
    size_t capacity;
    bool out_of_memory;
    bool sorted;
    struct seep_budget *budget;
    bool cut; // by the budget
};

static bool add_piece(void *context, const struct seep_cfi_row *row) {
    struct pieces *pieces = context;
    pieces->cut = !seep_budget_take(pieces->budget, 1);
    if (pieces->cut)
        return false;
    if (!row || row->end <= row->start)
        return true;
    uint32_t packed = seep_row_pack(row);
    struct piece *last = pieces->nr ? &pieces->items[pieces->nr - 1] : NULL;
    if (last && last->end == row->start && last->packed == packed) {
        last->end = row->end;
        return true;
    }
    pieces->sorted &= !last || last->end <= row->start;
    if (!seep_grow(&pieces->items, &pieces->capacity, pieces->nr + 1, sizeof(*pieces->items))) {
        pieces->out_of_memory = true;
        return false;
    }
    pieces->items[pieces->nr] = (struct piece){row->start, row->end, packed, (uint32_t)pieces->nr};
    pieces->nr++;
    return true;
}

static int compare_pieces(const void *left, const void *right) {
    const struct piece *a = left;
    const struct piece *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static uint64_t add_section(const struct seep_elf_file *elf, const Elf64_Shdr *section, bool is_debug_frame,
                            struct pieces *pieces) {
    unsigned char *bytes = seep_elf_read_section(elf, section);
    if (!bytes)
        return 0;
    struct seep_cfi_object object = {
        .bytes = bytes, .start = is_debug_frame ? 0 : section->sh_addr, .size_bytes = section->sh_size};
    struct seep_cfi_section where = {object.start, object.size_bytes, is_debug_frame};
    uint64_t nr_bad = seep_cfi_visit_rows(&object, &where, add_piece, pieces);
    free(bytes);
    return nr_bad;
}

// Without section headers: from the start of .eh_frame, which its index tells, to the end of the segment;
// the section ends itself with a zero.
static uint64_t add_segment(const struct seep_elf_file *elf, struct pieces *pieces) {
    for (uint32_t i = 0; i < elf->nr_segments; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        unsigned char head[8];
        if (segment->p_type != PT_GNU_EH_FRAME ||
            !seep_elf_read(elf, segment->p_offset, head, sizeof(head)) || head[0] != 1 ||
            head[1] != 0x1b) // version; relative to its place, 4 bytes with a sign
            continue;
        int32_t distance;
        memcpy(&distance, head + 4, sizeof(distance));
        Elf64_Shdr section = {.sh_addr = segment->p_vaddr + 4 + (uint64_t)(int64_t)distance};
        if (!seep_elf_file_off(elf, section.sh_addr, &section.sh_offset))
            continue;
        for (uint32_t j = 0; j < elf->nr_segments; j++) {
            const Elf64_Phdr *load = &elf->segments[j];
            if (load->p_type == PT_LOAD && section.sh_addr >= load->p_vaddr &&
                section.sh_addr - load->p_vaddr < load->p_filesz)
                section.sh_size = load->p_filesz - (section.sh_addr - load->p_vaddr);
        }
        return add_section(elf, &section, false, pieces);
    }
    return 0;
}

static uint64_t make_row(const struct seep_unwind_table *table, uint64_t address, uint32_t packed) {
    return (uint64_t)packed << 32 | (uint32_t)(address - table->base);
}

// Rows of sorted pieces, which may overlap. There is room for two per piece.
static void fill_rows(struct seep_unwind_table *table, const struct pieces *pieces) {
    uint64_t end = table->base;
    uint32_t latest = UINT32_MAX; // no row packs to this
    for (size_t i = 0; i < pieces->nr; i++) {
        const struct piece *piece = &pieces->items[i];
        uint64_t start = SEEP_MAX(piece->start, end);
        if (start >= piece->end || piece->end - table->base > UINT32_MAX)
            continue;
        if (start > end && latest != 0) {
            table->rows[table->nr_rows++] = make_row(table, end, 0);
            latest = 0;
        }
        if (piece->packed != latest)
            table->rows[table->nr_rows++] = make_row(table, start, piece->packed);
        table->nr_unsupported += seep_row_kind(piece->packed) == SEEP_ROW_UNSUPPORTED;
        latest = piece->packed;
        end = piece->end;
    }
    if (latest != 0)
        table->rows[table->nr_rows++] = make_row(table, end, 0);
}

bool seep_unwind_table_index(struct seep_unwind_table *table) {
    uint32_t last = SEEP_BPF_ROW_ADDRESS(table->rows[table->nr_rows - 1]);
    table->nr_pages = (last >> SEEP_BPF_PAGE_SHIFT) + 1;
    table->index = calloc(table->nr_pages + 1, sizeof(*table->index));
    if (!table->index)
        return false;
    uint32_t row = 0;
    for (uint32_t page = 0; page < table->nr_pages; page++) {
        while (row < table->nr_rows && SEEP_BPF_ROW_ADDRESS(table->rows[row]) >> SEEP_BPF_PAGE_SHIFT < page)
            row++;
        table->index[page] = row;
    }
    table->index[table->nr_pages] = table->nr_rows;
    return true;
}

struct seep_error *seep_unwind_table_init(const struct seep_elf_file *elf,
                                          struct seep_unwind_table *ret_table) {
    struct seep_unwind_table table = {0};
    struct pieces pieces = {.sorted = true, .budget = elf->budget};
    const Elf64_Shdr *eh_frame = seep_elf_section(elf, ".eh_frame");
    const Elf64_Shdr *debug_frame = seep_elf_section(elf, ".debug_frame");
    table.nr_bad = eh_frame ? add_section(elf, eh_frame, false, &pieces) : add_segment(elf, &pieces);
    if (debug_frame && !pieces.cut)
        table.nr_bad += add_section(elf, debug_frame, true, &pieces);
    if (!pieces.sorted)
        qsort(pieces.items, pieces.nr, sizeof(*pieces.items), compare_pieces);
    if (pieces.nr && !pieces.out_of_memory) {
        table.base = pieces.items[0].start;
        table.rows = calloc(pieces.nr * 2 + 1, sizeof(*table.rows));
        pieces.out_of_memory = !table.rows;
        if (table.rows)
            fill_rows(&table, &pieces);
        if (table.nr_rows)
            pieces.out_of_memory |= !seep_unwind_table_index(&table);
    }
    table.cut = pieces.cut;
    free(pieces.items);
    if (pieces.out_of_memory) {
        seep_unwind_table_deinit(&table);
        return seep_error_no_memory();
    }
    *ret_table = table;
    return NULL;
}

void seep_unwind_table_deinit(struct seep_unwind_table *table) {
    free(table->rows);
    free(table->index);
    *table = (struct seep_unwind_table){0};
}
