// SPDX-License-Identifier: BSD-2-Clause
// See unlzma.h. Source: the LZMA specification, 7-Zip (public domain), by Igor Pavlov.
// Proof: tests/unit/test_pack.c, tests/live/test_agent.py, tests/cross/test_agent_armhf.py.
#include "agent/unlzma.h"

enum { LC = 3, LP = 1, PB = 1 }; // as tools/lzma_header.py packs
enum { TOP = 1 << 24 };

static void normalize(struct seep_unlzma *d) {
    if (d->range >= TOP)
        return;
    d->failed |= d->from == d->end;
    d->range <<= 8;
    d->code = d->code << 8 | (d->failed ? 0 : *d->from++);
}

static unsigned bit(struct seep_unlzma *d, uint16_t *probability) {
    normalize(d);
    uint32_t bound = (d->range >> 11) * *probability;
    if (d->code < bound) {
        d->range = bound;
        *probability = (uint16_t)(*probability + ((2048 - *probability) >> 5));
        return 0;
    }
    d->range -= bound;
    d->code -= bound;
    *probability = (uint16_t)(*probability - (*probability >> 5));
    return 1;
}

static unsigned tree(struct seep_unlzma *d, uint16_t *probabilities, unsigned nr_bits) {
    unsigned at = 1;
    for (unsigned i = 0; i < nr_bits; i++)
        at = at << 1 | bit(d, &probabilities[at]);
    return at - (1u << nr_bits);
}

static unsigned tree_reversed(struct seep_unlzma *d, uint16_t *probabilities, unsigned nr_bits) {
    unsigned at = 1, value = 0;
    for (unsigned i = 0; i < nr_bits; i++) {
        unsigned one = bit(d, &probabilities[at]);
        at = at << 1 | one;
        value |= one << i;
    }
    return value;
}

static unsigned length(struct seep_unlzma *d, struct seep_lzma_lengths *lengths, unsigned place) {
    if (!bit(d, &lengths->choice[0]))
        return 2 + tree(d, lengths->low[place], 3);
    if (!bit(d, &lengths->choice[1]))
        return 10 + tree(d, lengths->middle[place], 3);
    return 18 + tree(d, lengths->high, 8);
}

static uint32_t distance(struct seep_unlzma *d, unsigned nr) {
    unsigned slot = tree(d, d->slots[nr < 6 ? nr - 2 : 3], 6);
    if (slot < 4)
        return slot;
    unsigned nr_bits = (slot >> 1) - 1;
    uint32_t value = (2 | (slot & 1)) << nr_bits;
    if (slot < 14)
        return value + tree_reversed(d, d->distances + value - slot, nr_bits);
    uint32_t direct = 0;
    for (unsigned i = 4; i < nr_bits; i++) {
        normalize(d);
        d->range >>= 1;
        bool one = d->code >= d->range;
        if (one)
            d->code -= d->range;
        direct = direct << 1 | one;
    }
    return value + (direct << 4) + tree_reversed(d, d->aligned, 4);
}

static unsigned char literal(struct seep_unlzma *d, const unsigned char *out, size_t at, unsigned state,
                             uint32_t back) {
    unsigned before = at ? out[at - 1] : 0, symbol = 1;
    uint16_t *probabilities = d->literals + 768 * (((at & ((1 << LP) - 1)) << LC) + (before >> (8 - LC)));
    if (state >= 7) { // after a match the literal differs from the byte that would continue the match
        unsigned match = out[at - back - 1];
        while (symbol < 256) {
            unsigned expected = match >> 7 & 1, one;
            match <<= 1;
            one = bit(d, &probabilities[((1 + expected) << 8) + symbol]);
            symbol = symbol << 1 | one;
            if (one != expected)
                break;
        }
    }
    while (symbol < 256)
        symbol = symbol << 1 | bit(d, &probabilities[symbol]);
    return (unsigned char)symbol;
}

// Returns the length of a match. reps[0] then has its distance less one.
static unsigned match(struct seep_unlzma *d, uint32_t *reps, unsigned *state, unsigned place) {
    unsigned from = *state;
    if (!bit(d, &d->is_rep[from])) {
        *state = from < 7 ? 7 : 10;
        reps[3] = reps[2];
        reps[2] = reps[1];
        reps[1] = reps[0];
        unsigned nr = length(d, &d->match, place);
        reps[0] = distance(d, nr);
        return nr;
    }
    if (!bit(d, &d->is_rep0[from])) {
        if (!bit(d, &d->is_rep0_long[from][place])) {
            *state = from < 7 ? 9 : 11;
            return 1;
        }
    } else {
        unsigned which = !bit(d, &d->is_rep1[from]) ? 1 : !bit(d, &d->is_rep2[from]) ? 2 : 3;
        uint32_t taken = reps[which];
        for (; which; which--)
            reps[which] = reps[which - 1];
        reps[0] = taken;
    }
    *state = from < 7 ? 8 : 11;
    return length(d, &d->rep, place);
}

static void decode(struct seep_unlzma *d, unsigned char *out, size_t nr_bytes) {
    uint32_t reps[4] = {0, 0, 0, 0};
    unsigned state = 0;
    for (uint16_t *p = &d->is_match[0][0]; p < (uint16_t *)(d + 1); p++)
        *p = 1024;
    d->code = d->range = 0;
    for (int i = 0; i < 5; i++)
        normalize(d);
    d->range = UINT32_MAX;
    for (size_t at = 0; at < nr_bytes && !d->failed;) {
        unsigned place = at & ((1 << PB) - 1);
        if (!bit(d, &d->is_match[state][place])) {
            out[at] = literal(d, out, at, state, reps[0]);
            at++;
            state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
            continue;
        }
        unsigned nr = match(d, reps, &state, place);
        if (reps[0] >= at || nr > nr_bytes - at) {
            d->failed = true;
            return;
        }
        for (; nr; nr--, at++)
            out[at] = out[at - reps[0] - 1];
    }
}

// Calls and jumps of Thumb code (BL, B.W) are packed with target addresses in place of distances, because
// targets repeat.
static void restore_calls(unsigned char *code, size_t nr_bytes) {
#if defined(__arm__)
    for (size_t i = 0; i + 4 <= nr_bytes; i += 2) {
        unsigned char *at = code + i;
        if ((at[1] & 0xf8) != 0xf0 || (at[3] & 0xb8) != 0xb8)
            continue;
        uint32_t to = (at[1] & 7u) << 19 | (uint32_t)at[0] << 11 | (at[3] & 7u) << 8 | at[2];
        to = (to * 2 - ((uint32_t)i + 4)) >> 1;
        at[1] = (unsigned char)(0xf0 | (to >> 19 & 7));
        at[0] = (unsigned char)(to >> 11);
        at[3] = (unsigned char)((at[3] & 0xf8) | (to >> 8 & 7));
        at[2] = (unsigned char)to;
        i += 2;
    }
#else
    (void)code, (void)nr_bytes;
#endif
}

bool seep_unlzma(struct seep_unlzma *work, unsigned char *to, size_t nr, const unsigned char *packed,
                 size_t nr_packed) {
    work->from = packed;
    work->end = packed + nr_packed;
    work->failed = false;
    decode(work, to, nr);
    restore_calls(to, nr);
    return !work->failed;
}
