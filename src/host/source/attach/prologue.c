// SPDX-License-Identifier: BSD-2-Clause
// A decoder of the few instructions that functions begin with (x86-64), see prologue.h. What it does not
// know ends the search: the start of the function is always right.
// Source: Intel SDM volume 2, chapter 2 and appendix A.
#include <string.h>

#include "source/attach/prologue.h"

#define SEARCH_BYTES 32u // the farthest place that is looked at

enum {
    RAX,
    RCX,
    RDX,
    RBX,
    RSP,
    RBP,
    RSI,
    RDI,
    R8,
    R9,
};

struct reader {
    const uint8_t *bytes;
    size_t nr_bytes;
    size_t at;
};

static bool is_emulated(const struct reader *reader) {
    const uint8_t *op = reader->bytes + reader->at;
    size_t room = reader->nr_bytes - reader->at;
    if (room >= 1 && ((op[0] & 0xf8) == 0x50 || (op[0] & 0xf0) == 0x70 || op[0] == 0x90 || op[0] == 0xe8 ||
                      op[0] == 0xe9 || op[0] == 0xeb))
        return true; // push, jcc, nop, call, jmp
    if (room >= 2 && op[0] == 0x41 && (op[1] & 0xf8) == 0x50)
        return true;                                             // push r8..r15
    return room >= 2 && op[0] == 0x0f && (op[1] & 0xf0) == 0x80; // jcc
}

// The probe reads rdi, rsi and rdx at entry and the unwinder rsp and rbp; a caller's rbx and r12..r15 are
// no caller's business, but a function saves them before it writes them.
static bool is_free(unsigned reg) {
    return reg == RAX || reg == RCX || (reg >= R8 && reg <= R9 + 2);
}

// Moves over modrm, sib and displacement. *ret_reg and *ret_rm: the registers; *ret_memory: rm is memory.
static bool read_modrm(struct reader *reader, uint8_t rex, unsigned *ret_reg, unsigned *ret_rm,
                       bool *ret_memory) {
    if (reader->at >= reader->nr_bytes)
        return false;
    uint8_t modrm = reader->bytes[reader->at++];
    unsigned mod = modrm >> 6, rm = modrm & 7;
    *ret_reg = (modrm >> 3 & 7u) | (rex & 4u) << 1;
    *ret_rm = rm | (rex & 1u) << 3;
    *ret_memory = mod != 3;
    if (mod == 3)
        return true;
    unsigned displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
    if (rm == 4) {
        if (reader->at >= reader->nr_bytes)
            return false;
        if (mod == 0 && (reader->bytes[reader->at] & 7) == 5)
            displacement = 4;
        reader->at++;
    } else if (mod == 0 && rm == 5) {
        displacement = 4; // relative to rip
    }
    reader->at += displacement;
    return reader->at <= reader->nr_bytes;
}

// Moves over one instruction that is neither emulated nor changes anything of interest. false: not such
// a one, or not known.
static bool skip_harmless(struct reader *reader) {
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    size_t room = reader->nr_bytes - reader->at;
    if (room >= sizeof(endbr64) && memcmp(reader->bytes + reader->at, endbr64, sizeof(endbr64)) == 0) {
        reader->at += sizeof(endbr64);
        return true;
    }
    uint8_t rex = 0;
    if (room && (reader->bytes[reader->at] & 0xf0) == 0x40)
        rex = reader->bytes[reader->at++];
    if (reader->at >= reader->nr_bytes)
        return false;
    uint8_t op = reader->bytes[reader->at++];
    unsigned reg, rm;
    bool memory;
    if ((op & 0xf8) == 0xb8) { // mov reg, imm
        reader->at += rex & 8 ? 8 : 4;
        return is_free((op & 7u) | (rex & 1u) << 3) && reader->at <= reader->nr_bytes;
    }
    switch (op) {
    case 0x84: // test
    case 0x85:
    case 0x38: // cmp
    case 0x39:
    case 0x3a:
    case 0x3b:
        return read_modrm(reader, rex, &reg, &rm, &memory);
    case 0x31: // xor
    case 0x89: // mov to rm
        return read_modrm(reader, rex, &reg, &rm, &memory) && !memory && is_free(rm);
    case 0x33: // xor
    case 0x8b: // mov to reg
    case 0x8d: // lea
        return read_modrm(reader, rex, &reg, &rm, &memory) && is_free(reg);
    case 0x80: // with an immediate of one byte: only cmp
    case 0x83:
        if (!read_modrm(reader, rex, &reg, &rm, &memory) || (reg & 7) != 7)
            return false;
        reader->at += 1;
        return reader->at <= reader->nr_bytes;
    case 0x81:
        if (!read_modrm(reader, rex, &reg, &rm, &memory) || (reg & 7) != 7)
            return false;
        reader->at += 4;
        return reader->at <= reader->nr_bytes;
    case 0x3d: // cmp eax, imm
        reader->at += 4;
        return reader->at <= reader->nr_bytes;
    case 0x0f:
        if (reader->at >= reader->nr_bytes || reader->bytes[reader->at++] != 0x1f)
            return false;
        return read_modrm(reader, rex, &reg, &rm, &memory); // nop of several bytes
    default:
        return false;
    }
}

static int64_t signed_bytes(const uint8_t *bytes, unsigned nr_bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < nr_bytes; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    unsigned shift = 64 - 8 * nr_bytes;
    return (int64_t)(value << shift) >> shift;
}

// Whether anything from `from` on could be read as a jump to (0, site]. Bytes are not decoded one after
// the other, so nothing that is a jump is missed; what only looks like one costs no more than time.
static bool is_jumped_to(const uint8_t *bytes, size_t nr_bytes, size_t site) {
    for (size_t at = 0; at < nr_bytes; at++) {
        unsigned displacement = 0, head = 1;
        if ((bytes[at] & 0xf0) == 0x70 || bytes[at] == 0xeb || (bytes[at] & 0xfc) == 0xe0) {
            displacement = 1;
        } else if (bytes[at] == 0xe9 || bytes[at] == 0xe8) {
            displacement = 4;
        } else if (bytes[at] == 0x0f && at + 1 < nr_bytes && (bytes[at + 1] & 0xf0) == 0x80) {
            displacement = 4;
            head = 2;
        }
        if (!displacement || at + head + displacement > nr_bytes)
            continue;
        int64_t target = (int64_t)(at + head + displacement) + signed_bytes(bytes + at + head, displacement);
        if (target > 0 && target <= (int64_t)site)
            return true;
    }
    return false;
}

uint32_t seep_prologue_site(const uint8_t *bytes, size_t nr_bytes) {
#ifdef __x86_64__
    struct reader reader = {bytes, SEEP_MIN(nr_bytes, (size_t)SEARCH_BYTES), 0};
    while (reader.at < reader.nr_bytes) {
        if (is_emulated(&reader))
            return is_jumped_to(bytes, nr_bytes, reader.at) ? 0 : (uint32_t)reader.at;
        if (!skip_harmless(&reader))
            return 0;
    }
#else
    (void)bytes;
    (void)nr_bytes;
#endif
    return 0;
}
