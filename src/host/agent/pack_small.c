// SPDX-License-Identifier: BSD-2-Clause
//
// A packer that makes frames of zstd (RFC 8878) and is small: matches by a table of hashes, lengths and
// offsets coded by the predefined tables of the format, literals as they are. Any reader of zstd takes them.
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "base/records.h"

#define MAGIC          UINT32_C(0xfd2fb528)
#define SIZE_OF_EIGHT  0xc0u // descriptor of the frame: the size is u64, and a byte of the window comes before
#define WINDOW         0x38u // 128 KiB
#define WINDOW_BYTES   (128u << 10)
#define BLOCK_BYTES    (32u << 10)
#define FRAME_BYTES    14u
#define HASH_BITS      12u
#define MATCH_LEAST    4u
#define SEQUENCES_MOST (BLOCK_BYTES / MATCH_LEAST)
#define STATES         64u
#define CODES          53u

// ---- tables of finite state entropy coding ----

struct symbol_step {
    uint32_t bits;
    int32_t find;
};

struct fse {
    unsigned log;
    uint16_t states[STATES];
    struct symbol_step steps[CODES];
};

// Source: RFC 8878, 3.1.1.3.2.2: probabilities of the codes for literal lengths, match lengths and offsets.
static const int8_t literal_odds[36] = {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
                                        2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1};
static const int8_t match_odds[CODES] = {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                         1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1};
static const int8_t offset_odds[29] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 1,  1,  1,  1,  1, 1,
                                       1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1};

static unsigned log_of(uint32_t value) {
    return 31u - (unsigned)__builtin_clz(value);
}

// Source: RFC 8878, 4.1.1: how the states are spread over the codes.
static void fse_init(struct fse *fse, unsigned log, const int8_t *odds, unsigned nr_codes) {
    unsigned size = 1u << log, high = size - 1, position = 0, total = 0;
    uint8_t code_of[STATES];
    uint16_t place[CODES];
    fse->log = log;
    for (unsigned code = 0; code < nr_codes; code++)
        if (odds[code] < 0)
            code_of[high--] = (uint8_t)code;
    for (unsigned code = 0; code < nr_codes; code++)
        for (int i = 0; i < odds[code]; i++) {
            code_of[position] = (uint8_t)code;
            do
                position = (position + (size >> 1) + (size >> 3) + 3) & (size - 1);
            while (position > high);
        }
    for (unsigned code = 0; code < nr_codes; code++) {
        unsigned nr = odds[code] < 0 ? 1 : (unsigned)odds[code];
        unsigned most_bits = nr == 1 ? log : log - log_of(nr - 1);
        place[code] = (uint16_t)total;
        fse->steps[code] =
            (struct symbol_step){(most_bits << 16) - (nr << most_bits), (int32_t)total - (int32_t)nr};
        total += nr;
    }
    for (unsigned i = 0; i < size; i++)
        fse->states[place[code_of[i]]++] = (uint16_t)(size + i);
}

// ---- codes ----

// Codes up to `plain` are values, from `pow` on powers of two; those between have these bits.
static const uint8_t literal_bits[36] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  1,  1,
                                         1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const uint8_t match_bits[CODES] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  0,  0,  0, 0,
                                          0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  0,  0,  1,  1,  1, 1,
                                          2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

// The code whose values begin at or below `value`, and what is added to its first value.
static unsigned code_of(const uint8_t *bits, uint32_t value, uint32_t *ret_rest) {
    uint32_t first = 0;
    unsigned code = 0;
    while (value - first >= UINT32_C(1) << bits[code])
        first += UINT32_C(1) << bits[code++];
    *ret_rest = value - first;
    return code;
}

struct sequence {
    uint16_t nr_literals;
    uint16_t match;  // its bytes, less 3
    uint32_t offset; // as it is coded
};

struct seep_packer {
    struct fse literals, matches, offsets;
    uint32_t heads[1u << HASH_BITS]; // position + 1 of what has the hash
    struct sequence sequences[SEQUENCES_MOST];
    unsigned char plain[BLOCK_BYTES];
    uint32_t last_offset;
};

struct seep_packer *seep_packer_create(void) {
    struct seep_packer *packer = malloc(sizeof(*packer));
    if (!packer)
        return NULL;
    fse_init(&packer->literals, 6, literal_odds, SEEP_ARRAY_SIZE(literal_odds));
    fse_init(&packer->matches, 6, match_odds, SEEP_ARRAY_SIZE(match_odds));
    fse_init(&packer->offsets, 5, offset_odds, SEEP_ARRAY_SIZE(offset_odds));
    return packer;
}

void seep_packer_destroy(struct seep_packer *packer) {
    free(packer);
}

size_t seep_pack_bound(size_t nr) {
    return FRAME_BYTES + nr + (nr / BLOCK_BYTES + 1) * 3;
}

// ---- bits ----

struct bits {
    unsigned char *at;
    unsigned char *end;
    uint64_t held;
    unsigned nr;
};

static void put_bits(struct bits *bits, uint64_t value, unsigned nr) {
    bits->held |= (value & ((UINT64_C(1) << nr) - 1)) << bits->nr;
    bits->nr += nr;
    for (; bits->nr >= 8; bits->nr -= 8, bits->held >>= 8)
        if (bits->at < bits->end)
            *bits->at++ = (unsigned char)bits->held;
}

static unsigned fse_begin(const struct fse *fse, unsigned code) {
    const struct symbol_step *step = &fse->steps[code];
    uint32_t nr = (step->bits + (1u << 15)) >> 16;
    return fse->states[(int32_t)(((nr << 16) - step->bits) >> nr) + step->find];
}

static void fse_put(const struct fse *fse, struct bits *bits, unsigned *state, unsigned code) {
    const struct symbol_step *step = &fse->steps[code];
    uint32_t nr = (*state + step->bits) >> 16;
    put_bits(bits, *state, nr);
    *state = fse->states[(int32_t)(*state >> nr) + step->find];
}

// The last sequence comes first: readers begin at the end.
static void put_sequences(const struct seep_packer *packer, size_t nr, struct bits *bits) {
    unsigned of_literals = 0, of_matches = 0, of_offsets = 0;
    for (size_t i = nr; i--;) {
        const struct sequence *sequence = &packer->sequences[i];
        uint32_t literals, match;
        unsigned literal_code = code_of(literal_bits, sequence->nr_literals, &literals);
        unsigned match_code = code_of(match_bits, sequence->match, &match);
        unsigned offset_code = log_of(sequence->offset);
        if (i == nr - 1) {
            of_matches = fse_begin(&packer->matches, match_code);
            of_offsets = fse_begin(&packer->offsets, offset_code);
            of_literals = fse_begin(&packer->literals, literal_code);
        } else {
            fse_put(&packer->offsets, bits, &of_offsets, offset_code);
            fse_put(&packer->matches, bits, &of_matches, match_code);
            fse_put(&packer->literals, bits, &of_literals, literal_code);
        }
        put_bits(bits, literals, literal_bits[literal_code]);
        put_bits(bits, match, match_bits[match_code]);
        put_bits(bits, sequence->offset, offset_code); // without its highest bit
    }
    put_bits(bits, of_matches, packer->matches.log);
    put_bits(bits, of_offsets, packer->offsets.log);
    put_bits(bits, of_literals, packer->literals.log);
    put_bits(bits, 1, 1);
    put_bits(bits, 0, (8 - bits->nr) & 7);
}

// ---- blocks ----

static unsigned hash_at(const unsigned char *at) {
    uint32_t word;
    memcpy(&word, at, sizeof(word));
    return (unsigned)(word * UINT32_C(2654435761) >> (32 - HASH_BITS));
}

// Finds in [from, to) what matches bytes before it, and the literals. Returns the number of sequences.
static size_t find_matches(struct seep_packer *packer, const unsigned char *raw, size_t from, size_t to,
                           size_t *ret_literals) {
    size_t nr = 0, nr_plain = 0, first = from, at = from;
    while (at + MATCH_LEAST <= to) {
        uint32_t *head = &packer->heads[hash_at(raw + at)];
        size_t before = *head, length = 0;
        *head = (uint32_t)(at + 1);
        if (before && at + 1 - before < WINDOW_BYTES - BLOCK_BYTES)
            while (at + length < to && raw[before - 1 + length] == raw[at + length])
                length++;
        if (length < MATCH_LEAST) {
            at += 1 + ((at - first) >> 6); // steps grow in data without matches
            continue;
        }
        uint32_t offset = (uint32_t)(at + 1 - before);
        bool again = offset == packer->last_offset && at > first;
        packer->sequences[nr++] =
            (struct sequence){(uint16_t)(at - first), (uint16_t)(length - 3), again ? 1 : offset + 3};
        memcpy(packer->plain + nr_plain, raw + first, at - first);
        nr_plain += at - first;
        packer->last_offset = offset;
        at += length;
        first = at;
    }
    memcpy(packer->plain + nr_plain, raw + first, to - first);
    *ret_literals = nr_plain + to - first;
    return nr;
}

static void put_block_head(unsigned char *to, bool is_last, unsigned type, size_t nr) {
    uint32_t head = (uint32_t)is_last | type << 1 | (uint32_t)nr << 3;
    seep_store16(to, (uint16_t)head);
    to[2] = (unsigned char)(head >> 16);
}

// Returns the size of the block without its head, or 0 where that would be no shorter than `nr`.
static size_t put_packed(struct seep_packer *packer, unsigned char *to, const unsigned char *raw, size_t from,
                         size_t nr) {
    size_t nr_literals, nr_sequences = find_matches(packer, raw, from, from + nr, &nr_literals);
    if (!nr_sequences || nr_literals + 8 >= nr)
        return 0;
    unsigned char *at = to;
    uint32_t head = 3u << 2 | (uint32_t)nr_literals << 4; // as they are; their number has 20 bits
    seep_store16(at, (uint16_t)head);
    at[2] = (unsigned char)(head >> 16);
    memcpy(at + 3, packer->plain, nr_literals);
    at += 3 + nr_literals;
    if (nr_sequences < 128) {
        *at++ = (unsigned char)nr_sequences;
    } else {
        *at++ = (unsigned char)((nr_sequences >> 8) + 128);
        *at++ = (unsigned char)nr_sequences;
    }
    *at++ = 0; // all three by the predefined tables
    struct bits bits = {at, to + nr, 0, 0};
    put_sequences(packer, nr_sequences, &bits);
    return bits.at < bits.end ? (size_t)(bits.at - to) : 0;
}

size_t seep_pack(struct seep_packer *packer, unsigned char *to, size_t room, const void *raw, size_t nr,
                 enum seep_pack_effort effort) {
    (void)effort;
    if (room < seep_pack_bound(nr) || nr >= UINT32_MAX)
        return 0;
    memset(packer->heads, 0, sizeof(packer->heads));
    packer->last_offset = 1;
    seep_store32(to, MAGIC);
    to[4] = SIZE_OF_EIGHT;
    to[5] = WINDOW;
    seep_store64(to + 6, nr);
    unsigned char *at = to + FRAME_BYTES;
    for (size_t from = 0; from < nr || !from; from += BLOCK_BYTES) {
        size_t piece = SEEP_MIN(nr - from, (size_t)BLOCK_BYTES);
        uint32_t last_offset = packer->last_offset;
        size_t packed = put_packed(packer, at + 3, raw, from, piece);
        put_block_head(at, from + piece == nr, packed ? 2 : 0, packed ? packed : piece);
        if (!packed) {
            packer->last_offset = last_offset;
            if (piece)
                memcpy(at + 3, (const unsigned char *)raw + from, piece);
        }
        at += 3 + (packed ? packed : piece);
        if (!piece)
            break;
    }
    return (size_t)(at - to);
}
