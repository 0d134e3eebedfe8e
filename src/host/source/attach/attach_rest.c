// SPDX-License-Identifier: BSD-2-Clause
//
// Walks on where the BPF program (bpf/unwind.bpf.h) met code that was not read yet. It sends the memory of
// such a stack, and the tool has read the file by the time the memory arrives. The steps are those of the BPF
// program. See attach_parts.h. Proof: tests/live/test_attach_reload.py.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "source/attach/attach_parts.h"
#include "source/attach/traced_process.h"

struct walk {
    const struct seep_bpf_tables *tables;
    const struct seep_traced_code *code;
    const struct seep_bpf_rest *rest;
    const struct seep_bpf_mapping *mapping; // of the latest address
    size_t first;                           // of the mappings that are right in its generation
    uint64_t pc;
    uint64_t sp;
    uint64_t bp;
    bool exact;
};

static struct seep_traced_code *code_of(struct seep_traced_process *process) {
    if (!process->code)
        process->code = calloc(1, sizeof(*process->code));
    return process->code;
}

struct seep_error *seep_attach_set_code(struct seep_traced_process *process,
                                        const struct seep_bpf_mapping *mappings, size_t nr,
                                        const uint32_t generations[2]) {
    struct seep_traced_code *code = code_of(process);
    if (!code || !seep_grow(&code->mappings, &code->capacity, SEEP_MAX(nr, (size_t)1), sizeof(*mappings)))
        return seep_error_no_memory();
    if (nr)
        memcpy(code->mappings, mappings, nr * sizeof(*mappings));
    code->nr_mappings = code->nr_read = nr;
    memcpy(code->generations, generations, sizeof(code->generations));
    return NULL;
}

struct seep_error *seep_attach_add_code(struct seep_traced_process *process,
                                        const struct seep_bpf_mapping *mapping) {
    struct seep_traced_code *code = code_of(process);
    if (!code || !seep_grow(&code->mappings, &code->capacity, code->nr_mappings + 1, sizeof(*mapping)))
        return seep_error_no_memory();
    code->mappings[code->nr_mappings++] = *mapping;
    return NULL;
}

void seep_attach_forget_code(struct seep_traced_process *process) {
    if (!process->code)
        return;
    process->code->nr_mappings = process->code->nr_read = 0;
    memset(process->code->generations, 0, sizeof(process->code->generations));
}

struct seep_error *seep_attach_keep_code(struct seep_traced_process *process) {
    struct seep_traced_code *code = process->code;
    if (!code || code->lasting || !code->generations[1])
        return NULL;
    code->lasting = calloc(code->nr_mappings + 1, sizeof(*code->lasting));
    if (!code->lasting)
        return seep_error_no_memory();
    memcpy(code->lasting, code->mappings, code->nr_mappings * sizeof(*code->lasting));
    code->nr_lasting = code->nr_mappings;
    return NULL;
}

struct seep_error *seep_attach_took_rest(struct seep_traced_process *process,
                                         const struct seep_bpf_rest *rest, size_t nr_bytes) {
    if (nr_bytes < sizeof(*rest) || rest->nr_bytes > nr_bytes - sizeof(*rest))
        return NULL;
    free(process->rest);
    process->rest = malloc(sizeof(*rest) + rest->nr_bytes);
    if (!process->rest)
        return seep_error_no_memory();
    memcpy(process->rest, rest, sizeof(*rest) + rest->nr_bytes);
    return NULL;
}

static bool read_word(const struct walk *walk, uint64_t address, uint64_t *ret_word) {
    uint64_t offset = address - walk->rest->sp;
    if (walk->rest->nr_bytes < sizeof(*ret_word) || offset > walk->rest->nr_bytes - sizeof(*ret_word))
        return false;
    memcpy(ret_word, walk->rest->bytes + offset, sizeof(*ret_word));
    return true;
}

static bool find_among(struct walk *walk, const struct seep_bpf_mapping *mappings, size_t nr,
                       uint64_t address) {
    while (nr-- > 0) {
        walk->mapping = &mappings[nr];
        if (address >= walk->mapping->start && address < walk->mapping->end)
            return true;
    }
    return false;
}

static bool find_mapping(struct walk *walk, uint64_t address) {
    const struct seep_traced_code *code = walk->code;
    return find_among(walk, code->mappings + walk->first, code->nr_mappings - walk->first, address) ||
           find_among(walk, code->lasting, code->nr_lasting, address);
}

static uint64_t find_row(struct walk *walk, uint64_t address) {
    return find_mapping(walk, address) ? seep_bpf_tables_row(walk->tables, walk->mapping, address) : 0;
}

// A function that was not called, or the loader's entry point.
static bool is_start(struct walk *walk) {
    if (walk->rest->start_stack - walk->sp < SEEP_BPF_START_BYTES)
        return true;
    uint64_t row = walk->exact ? 0 : find_row(walk, walk->pc);
    return SEEP_BPF_ROW_KIND(row) != SEEP_ROW_NONE &&
           walk->mapping->base + SEEP_BPF_ROW_ADDRESS(row) == walk->pc;
}

static bool find_cfa(const struct walk *walk, uint64_t row, uint64_t *ret_cfa) {
    *ret_cfa = seep_bpf_row_cfa(row, walk->pc, walk->sp, walk->bp);
    return SEEP_BPF_ROW_KIND(row) != SEEP_ROW_BP_DEREF || read_word(walk, *ret_cfa, ret_cfa);
}

// What lies beyond the bytes that were sent is not known, so the stack stays cut as it was.
#define CUT_UNREAD (1 + (uint32_t)SEEP_CUT_UNREAD)
#define GOES_ON    UINT32_MAX

static uint32_t leave_signal(struct walk *walk) {
    uint64_t pc, sp, bp;
    if (!read_word(walk, walk->sp + SEEP_ROW_SIGNAL_PC, &pc) ||
        !read_word(walk, walk->sp + SEEP_ROW_SIGNAL_SP, &sp) ||
        !read_word(walk, walk->sp + SEEP_ROW_SIGNAL_BP, &bp))
        return CUT_UNREAD;
    walk->pc = pc;
    walk->sp = sp;
    walk->bp = bp;
    walk->exact = true;
    return GOES_ON;
}

// From the frame at walk->pc to its caller. GOES_ON, or how the stack ends: 0, or 1 + enum seep_cut.
static uint32_t leave_frame(struct walk *walk) {
    uint64_t address = walk->exact ? walk->pc : walk->pc - 1;
    if (!find_mapping(walk, address))
        return CUT_UNREAD;
    uint64_t row = seep_bpf_tables_row(walk->tables, walk->mapping, address), cfa, pc, bp = walk->bp;
    uint32_t kind = SEEP_BPF_ROW_KIND(row);
    if (kind == SEEP_ROW_END)
        return 0;
    if (kind == SEEP_ROW_SIGNAL)
        return leave_signal(walk);
    if (kind == SEEP_ROW_UNSUPPORTED)
        return 1 + SEEP_CUT_BAD_CFI;
    if (kind == SEEP_ROW_NONE) {
        if (is_start(walk))
            return 0;
        if (walk->bp < walk->sp || walk->bp & 7 || !read_word(walk, walk->bp, &bp))
            return 1 + SEEP_CUT_NO_CFI;
        cfa = walk->bp + 16;
    } else {
        if (!find_cfa(walk, row, &cfa))
            return CUT_UNREAD;
        if (SEEP_BPF_ROW_BP_SAVED(row) && !read_word(walk, seep_bpf_row_bp_slot(row, cfa, walk->bp), &bp))
            return CUT_UNREAD;
    }
    if (cfa <= walk->sp)
        return 1 + SEEP_CUT_LOOP;
    if (!read_word(walk, cfa - 8, &pc))
        return CUT_UNREAD;
    walk->pc = pc;
    walk->sp = cfa;
    walk->bp = bp;
    walk->exact = false;
    return GOES_ON;
}

// Whether all code that the process had mapped is known, or only some of it.
static bool knows_all(const struct seep_traced_code *code, uint32_t generation) {
    return generation && (generation == code->generations[0] || generation == code->generations[1]);
}

uint32_t seep_attach_walk_rest(const struct seep_attached *attached, struct seep_traced_process *process,
                               uint64_t id, uint64_t *frames, uint32_t nr, uint32_t *end) {
    struct seep_bpf_rest *rest = process->rest;
    if (!rest || rest->event.address != id || !process->code || !nr)
        return nr;
    struct walk walk = {.tables = &attached->tables,
                        .code = process->code,
                        .rest = rest,
                        .first = knows_all(process->code, rest->generation) ? 0 : process->code->nr_read,
                        .pc = rest->exact ? rest->pc : rest->pc + 1,
                        .sp = rest->sp,
                        .bp = rest->bp,
                        .exact = rest->exact};
    uint32_t how = leave_frame(&walk);
    while (how == GOES_ON) {
        if (!walk.pc) {
            how = 0;
        } else if (nr >= SEEP_BPF_FRAMES_MAX - 1) {
            how = 1 + SEEP_CUT_DEPTH;
        } else if (!find_mapping(&walk, walk.exact ? walk.pc : walk.pc - 1)) {
            how = CUT_UNREAD; // its frame would have no name
        } else {
            frames[nr++] = walk.pc | (walk.exact ? SEEP_BPF_EXACT : 0);
            how = leave_frame(&walk);
        }
    }
    *end = how;
    free(process->rest);
    process->rest = NULL;
    return nr;
}
