// SPDX-License-Identifier: BSD-2-Clause
// Reads the notes of USDT probes, see usdt_notes.h.
#include <stdlib.h>
#include <string.h>

#include "process/elf_notes.h"
#include "source/attach/usdt_notes.h"

#define NOTE_TYPE 3u
#define NOTE_NAME "stapsdt"

// The text at *at, which is then behind it. NULL: it does not end.
static const char *take_text(const unsigned char *bytes, uint64_t nr_bytes, uint64_t *at) {
    const unsigned char *text = bytes + *at;
    const unsigned char *end = memchr(text, 0, nr_bytes - *at);
    if (!end)
        return NULL;
    *at = (uint64_t)(end + 1 - bytes);
    return (const char *)text;
}

// What a note says: three addresses, three texts.
static bool read_probe(const unsigned char *bytes, uint64_t nr_bytes, struct seep_usdt_probe *ret_probe) {
    uint64_t addresses[3], at = sizeof(addresses);
    if (nr_bytes < sizeof(addresses))
        return false;
    memcpy(addresses, bytes, sizeof(addresses));
    struct seep_usdt_probe probe = {.pc = addresses[0], .base = addresses[1], .semaphore = addresses[2]};
    probe.provider = take_text(bytes, nr_bytes, &at);
    probe.name = probe.provider ? take_text(bytes, nr_bytes, &at) : NULL;
    probe.arguments = probe.name ? take_text(bytes, nr_bytes, &at) : NULL;
    *ret_probe = probe;
    return probe.arguments != NULL;
}

void seep_usdt_notes(const unsigned char *bytes, uint64_t nr_bytes, seep_usdt_visit *visit, void *context) {
    struct seep_elf_note note;
    for (uint64_t at = 0; seep_elf_note_next(bytes, nr_bytes, &at, &note);) {
        struct seep_usdt_probe probe;
        if (note.type == NOTE_TYPE && seep_elf_note_is_of(&note, NOTE_NAME) &&
            read_probe(note.bytes, note.nr_bytes, &probe) && !visit(context, &probe))
            return;
    }
}

// ---- arguments ----

// In the order of struct pt_regs, and of the parts of 8, 4, 2 and 1 bytes.
// Source: Linux uapi asm/ptrace.h (x86-64).
static const char registers[][4][6] = {
    {"r15", "r15d", "r15w", "r15b"}, {"r14", "r14d", "r14w", "r14b"}, {"r13", "r13d", "r13w", "r13b"},
    {"r12", "r12d", "r12w", "r12b"}, {"rbp", "ebp", "bp", "bpl"},     {"rbx", "ebx", "bx", "bl"},
    {"r11", "r11d", "r11w", "r11b"}, {"r10", "r10d", "r10w", "r10b"}, {"r9", "r9d", "r9w", "r9b"},
    {"r8", "r8d", "r8w", "r8b"},     {"rax", "eax", "ax", "al"},      {"rcx", "ecx", "cx", "cl"},
    {"rdx", "edx", "dx", "dl"},      {"rsi", "esi", "si", "sil"},     {"rdi", "edi", "di", "dil"},
};
#define PLACE_RSP 19u

// "%rdi" at *at. false: no register, or one of those that hold no integer.
static bool take_register(const char **at, bool whole, uint8_t *ret_place) {
    if (**at != '%')
        return false;
    const char *name = *at + 1;
    size_t nr = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789");
    *at = name + nr;
    if (nr == 3 && memcmp(name, "rsp", 3) == 0) {
        *ret_place = PLACE_RSP;
        return true;
    }
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(registers); i++)
        for (size_t part = 0; part < (whole ? 1 : SEEP_ARRAY_SIZE(registers[i])); part++)
            if (strlen(registers[i][part]) == nr && memcmp(registers[i][part], name, nr) == 0) {
                *ret_place = (uint8_t)i;
                return true;
            }
    return false;
}

// A number in decimal or after 0x, with a sign or without.
static bool take_number(const char **at, int64_t *ret_number) {
    const char *digits = *at + (**at == '-' || **at == '+');
    if (*digits < '0' || *digits > '9')
        return false;
    char *end;
    uint64_t number = strtoull(digits, &end, digits[0] == '0' && (digits[1] | 32) == 'x' ? 16 : 10);
    *ret_number = (int64_t)(**at == '-' ? 0 - number : number);
    *at = end;
    return true;
}

// "(%base)", "(%base,%index,4)", "(,%index,8)".
static bool take_memory(const char **at, struct seep_bpf_operand *operand) {
    operand->kind = SEEP_BPF_MEMORY;
    operand->base = operand->index = SEEP_BPF_NO_REGISTER;
    if (*(*at)++ != '(' || (**at != ',' && !take_register(at, true, &operand->base)))
        return false;
    if (**at == ',') {
        int64_t scale = 1;
        ++*at;
        if (!take_register(at, true, &operand->index))
            return false;
        if (**at == ',' && (++*at, !take_number(at, &scale)))
            return false;
        if (scale != 1 && scale != 2 && scale != 4 && scale != 8)
            return false;
        operand->shift = (uint8_t)__builtin_ctzll((uint64_t)scale);
    }
    return *(*at)++ == ')';
}

static bool take_operand(const char **at, struct seep_bpf_operand *ret_operand) {
    struct seep_bpf_operand operand = {.kind = SEEP_BPF_CONSTANT};
    int64_t nr_bytes;
    if (!take_number(at, &nr_bytes) || *(*at)++ != '@')
        return false;
    operand.is_signed = nr_bytes < 0;
    if (nr_bytes < 0 && nr_bytes >= -8)
        nr_bytes = -nr_bytes;
    if (nr_bytes != 1 && nr_bytes != 2 && nr_bytes != 4 && nr_bytes != 8)
        return false;
    operand.nr_bytes = (uint8_t)nr_bytes;
    bool done;
    if (**at == '%') {
        operand.kind = SEEP_BPF_REGISTER;
        operand.index = SEEP_BPF_NO_REGISTER;
        done = take_register(at, false, &operand.base);
    } else if (**at == '$') {
        ++*at;
        done = take_number(at, &operand.offset);
    } else {
        done = **at == '(' || take_number(at, &operand.offset);
        done = done && take_memory(at, &operand);
    }
    *ret_operand = operand;
    return done && (**at == ' ' || !**at);
}

bool seep_usdt_operands(const char *arguments, struct seep_bpf_operand *ret_operands, size_t nr) {
    for (size_t i = 0; i < nr; i++) {
        while (*arguments == ' ')
            arguments++;
        if (!*arguments || !take_operand(&arguments, &ret_operands[i]))
            return false;
    }
    return true;
}
