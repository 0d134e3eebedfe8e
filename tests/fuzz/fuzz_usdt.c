// SPDX-License-Identifier: BSD-2-Clause
//
// A section .note.stapsdt of any bytes. Besides not crashing: the texts lie in the section, and an argument
// that was understood names registers that there are and a part of them that can be.
#include <stdlib.h>
#include <string.h>

#include "source/attach/usdt_notes.h"
#include "fuzz.h"

struct section {
    const uint8_t *bytes;
    size_t nr_bytes;
    size_t nr_seen;
};

static void check_text(const struct section *section, const char *text) {
    const uint8_t *at = (const uint8_t *)text;
    MUST(at >= section->bytes && at < section->bytes + section->nr_bytes);
    MUST(memchr(at, 0, (size_t)(section->bytes + section->nr_bytes - at)));
}

static void check_operand(const struct seep_bpf_operand *operand) {
    MUST(operand->nr_bytes == 1 || operand->nr_bytes == 2 || operand->nr_bytes == 4 ||
         operand->nr_bytes == 8);
    MUST(operand->kind <= SEEP_BPF_MEMORY && operand->is_signed <= 1 && operand->shift <= 3);
    bool uses_base = operand->base != SEEP_BPF_NO_REGISTER,
         uses_index = operand->index != SEEP_BPF_NO_REGISTER;
    if (operand->kind == SEEP_BPF_CONSTANT)
        return;
    MUST(!uses_base || operand->base < 20);
    MUST(!uses_index || operand->index < 20);
    MUST(operand->kind == SEEP_BPF_MEMORY ? uses_base || uses_index : uses_base && !uses_index);
}

static void check_operands(const char *arguments) {
    struct seep_bpf_operand operands[3];
    for (size_t nr = 0; nr <= 3; nr++)
        for (size_t i = 0; seep_usdt_operands(arguments, operands, nr) && i < nr; i++)
            check_operand(&operands[i]);
}

static bool look_at(void *context, const struct seep_usdt_probe *probe) {
    struct section *section = context;
    check_text(section, probe->provider);
    check_text(section, probe->name);
    check_text(section, probe->arguments);
    check_operands(probe->arguments);
    return ++section->nr_seen < 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct section section = {data, size, 0};
    seep_usdt_notes(data, size, look_at, &section);
    // And the same bytes as arguments.
    char *text = malloc(size + 1);
    MUST(text);
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    check_operands(text);
    free(text);
    return 0;
}
