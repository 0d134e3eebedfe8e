// SPDX-License-Identifier: BSD-2-Clause
// Small and slow: it unpacks one file, the library in the agent. See inflate.h.
#include <string.h>

#include "agent/inflate.h"

#define BITS_MOST 15u

struct stream {
    const unsigned char *at;
    const unsigned char *end;
    uint32_t held;
    unsigned nr_held;
    unsigned char *to;
    size_t nr;
    size_t room;
    bool failed;
};

// Codes by their length, and the symbols in the order of the codes.
struct codes {
    uint16_t nr_of[BITS_MOST + 1];
    uint16_t symbols[288];
};

static unsigned take_bits(struct stream *stream, unsigned nr) {
    while (stream->nr_held < nr) {
        if (stream->at == stream->end) {
            stream->failed = true;
            return 0;
        }
        stream->held |= (uint32_t)*stream->at++ << stream->nr_held;
        stream->nr_held += 8;
    }
    unsigned value = stream->held & ((1u << nr) - 1);
    stream->held >>= nr;
    stream->nr_held -= nr;
    return value;
}

static unsigned take_symbol(struct stream *stream, const struct codes *codes) {
    int code = 0, first = 0, index = 0;
    for (unsigned length = 1; length <= BITS_MOST && !stream->failed; length++) {
        int nr = codes->nr_of[length];
        code |= (int)take_bits(stream, 1);
        if (code - nr < first)
            return codes->symbols[index + (code - first)];
        index += nr;
        first = (first + nr) << 1;
        code <<= 1;
    }
    stream->failed = true;
    return 0;
}

static void make_codes(struct codes *codes, const uint8_t *lengths, unsigned nr) {
    uint16_t places[BITS_MOST + 1] = {0};
    memset(codes, 0, sizeof(*codes));
    for (unsigned i = 0; i < nr; i++)
        codes->nr_of[lengths[i]]++;
    codes->nr_of[0] = 0;
    for (unsigned length = 1; length < BITS_MOST; length++)
        places[length + 1] = (uint16_t)(places[length] + codes->nr_of[length]);
    for (unsigned i = 0; i < nr; i++)
        if (lengths[i])
            codes->symbols[places[lengths[i]]++] = (uint16_t)i;
}

static void copy_match(struct stream *stream, unsigned length, unsigned distance) {
    if (distance > stream->nr || length > stream->room - stream->nr) {
        stream->failed = true;
        return;
    }
    for (; length; length--, stream->nr++)
        stream->to[stream->nr] = stream->to[stream->nr - distance];
}

static void take_block(struct stream *stream, const struct codes *lengths, const struct codes *distances) {
    enum { END = 256, LENGTHS = 29, DISTANCES = 30 };
    while (!stream->failed) {
        unsigned symbol = take_symbol(stream, lengths);
        if (stream->failed || symbol == END)
            return;
        if (symbol < END) {
            if (stream->nr == stream->room)
                stream->failed = true;
            else
                stream->to[stream->nr++] = (unsigned char)symbol;
            continue;
        }
        // Four codes for each number of extra bits; the last of the lengths is 258 alone.
        unsigned code = symbol - END - 1;
        unsigned extra = code < 8 || code == LENGTHS - 1 ? 0 : (code - 4) / 4;
        unsigned length = code == LENGTHS - 1 ? 258
                          : code < 8          ? code + 3
                                              : ((4 + code % 4) << extra) + 3 + take_bits(stream, extra);
        code = code < LENGTHS ? take_symbol(stream, distances) : DISTANCES;
        extra = code < 4 ? 0 : (code - 2) / 2;
        if (code >= DISTANCES)
            stream->failed = true;
        else
            copy_match(stream, length,
                       code < 4 ? code + 1 : ((2 + code % 2) << extra) + 1 + take_bits(stream, extra));
    }
}

static void take_stored(struct stream *stream) {
    stream->held = stream->nr_held = 0;
    size_t nr = stream->end - stream->at >= 4 ? (size_t)(stream->at[0] | stream->at[1] << 8) : SIZE_MAX;
    if (nr > (size_t)(stream->end - stream->at) - 4 || nr > stream->room - stream->nr) {
        stream->failed = true;
        return;
    }
    memcpy(stream->to + stream->nr, stream->at + 4, nr);
    stream->nr += nr;
    stream->at += 4 + nr;
}

static void take_fixed(struct stream *stream) {
    struct codes symbols, distances;
    uint8_t lengths[288];
    for (unsigned i = 0; i < 288; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_codes(&symbols, lengths, 288);
    memset(lengths, 5, 30);
    make_codes(&distances, lengths, 30);
    take_block(stream, &symbols, &distances);
}

static void take_dynamic(struct stream *stream) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    struct codes symbols, distances;
    uint8_t lengths[288 + 32] = {0};
    unsigned nr_symbols = take_bits(stream, 5) + 257, nr_distances = take_bits(stream, 5) + 1;
    unsigned nr_order = take_bits(stream, 4) + 4;
    for (unsigned i = 0; i < nr_order; i++)
        lengths[order[i]] = (uint8_t)take_bits(stream, 3);
    make_codes(&symbols, lengths, 19);
    memset(lengths, 0, sizeof(lengths));
    for (unsigned i = 0; i < nr_symbols + nr_distances && !stream->failed;) {
        unsigned symbol = take_symbol(stream, &symbols), again = 1;
        uint8_t length = symbol < 16 ? (uint8_t)symbol : 0;
        if (symbol == 16) {
            length = i ? lengths[i - 1] : 0;
            again = 3 + take_bits(stream, 2);
        } else if (symbol >= 17) {
            again = symbol == 17 ? 3 + take_bits(stream, 3) : 11 + take_bits(stream, 7);
        }
        if (i + again > nr_symbols + nr_distances)
            stream->failed = true;
        for (; again && !stream->failed; again--)
            lengths[i++] = length;
    }
    if (stream->failed || nr_symbols > 288) {
        stream->failed = true;
        return;
    }
    make_codes(&symbols, lengths, nr_symbols);
    make_codes(&distances, lengths + nr_symbols, nr_distances);
    take_block(stream, &symbols, &distances);
}

bool seep_inflate(unsigned char *to, size_t nr, const unsigned char *packed, size_t nr_packed) {
    struct stream stream = {.at = packed, .end = packed + nr_packed, .to = to, .room = nr};
    bool is_last = false;
    while (!is_last && !stream.failed) {
        is_last = take_bits(&stream, 1);
        switch (take_bits(&stream, 2)) {
        case 0:
            take_stored(&stream);
            break;
        case 1:
            take_fixed(&stream);
            break;
        case 2:
            take_dynamic(&stream);
            break;
        default:
            stream.failed = true;
        }
    }
    return !stream.failed && stream.nr == nr;
}
