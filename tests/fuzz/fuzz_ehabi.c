// SPDX-License-Identifier: BSD-2-Clause
//
// Unwind tables of 32-bit ARM from any bytes. Besides not crashing: a row keeps the promises of ehabi.h, and
// can be stepped over.
//
// Input, little-endian: bytes 0 to 3 the address of the object, 4 to 7 that of the index from its start, 8 to
// 11 the size of the index, 12 to 15 a pc from the object's start; the rest is the object. Asked for is the
// row of that pc, and of the first functions of the index. tools/make_ehabi_seeds.py writes the first inputs.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/ehabi.h"
#include "unwind/step.h"
#include "fuzz.h"

enum { NR_HEAD = 16, MOST_FUNCTIONS = 64, NR_REGS = 16, LR = 14 };

static bool read_word(void *context, uint64_t address, uint64_t *ret_word) {
    (void)context;
    *ret_word = address * 2654435761u;
    return address % 16 != 4;
}

static void check_row(const struct seep_cfi_row *row, uint64_t pc) {
    const int64_t most = INT64_C(1) << 32;
    MUST(row->start <= pc && row->return_reg == LR);
    MUST(row->cfa.kind == SEEP_CFI_REGISTER && row->cfa.reg < NR_REGS);
    MUST(row->cfa.offset >= -most && row->cfa.offset <= most);
    for (unsigned i = 0; i < NR_REGS; i++) {
        const struct seep_cfi_rule *rule = &row->regs[i];
        MUST(rule->kind == SEEP_CFI_SAME || rule->kind == SEEP_CFI_UNDEFINED ||
             rule->kind == SEEP_CFI_OFFSET);
        MUST(rule->offset >= -most && rule->offset <= most);
    }
    struct seep_regs regs = {.pc = pc, .known = 0xffff};
    for (unsigned i = 0; i < NR_REGS; i++)
        regs.value[i] = 0x40800000 + i * 4096;
    enum seep_step stepped = seep_step(row, &regs, read_word, NULL);
    MUST(stepped >= SEEP_STEP_BAD_CFI && stepped <= SEEP_STEP_END);
}

static void ask(const struct seep_cfi_object *object, uint64_t pc) {
    struct seep_cfi_row row;
    memset(&row, 0x55, sizeof(row));
    int status = seep_ehabi_row_at(object, pc, &row);
    MUST(status == SEEP_CFI_OK || status == SEEP_CFI_NONE || status == SEEP_CFI_BAD);
    if (status == SEEP_CFI_OK)
        check_row(&row, pc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint32_t head[NR_HEAD / 4];
    if (size < NR_HEAD)
        return 0;
    memcpy(head, data, NR_HEAD);
    // A copy of exactly its size: what is read beyond is seen.
    uint8_t *bytes = malloc(size - NR_HEAD + !(size - NR_HEAD));
    if (!bytes)
        return 0;
    memcpy(bytes, data + NR_HEAD, size - NR_HEAD);
    struct seep_cfi_object object = {.bytes = bytes,
                                     .start = head[0],
                                     .size_bytes = size - NR_HEAD,
                                     .eh_frame_hdr = (uint64_t)head[0] + head[1],
                                     .exidx_bytes = head[2]};
    ask(&object, (uint64_t)head[0] + head[3]);
    for (uint32_t i = 0; i < MOST_FUNCTIONS && i < head[2] / 8; i++) {
        uint64_t at = (uint64_t)head[1] + i * 8;
        uint32_t word;
        if (at + 4 > object.size_bytes)
            break;
        memcpy(&word, bytes + at, 4);
        uint32_t function = (uint32_t)(object.start + at) + (word & 0x7fffffff) + ((word & 0x40000000) << 1);
        ask(&object, (uint64_t)function + 2);
    }
    free(bytes);
    return 0;
}
