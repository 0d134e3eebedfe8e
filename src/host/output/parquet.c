// SPDX-License-Identifier: BSD-2-Clause
// Writes Parquet, see parquet.h.
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/map.h"
#include "output/parquet.h"

enum { SLOT_BITS = 18, DISTINCT_MAX = 1 << 16, BLOCK = 128, MINIBLOCKS = 4, MINIBLOCK = 32 };

// Of parquet.thrift.
enum { TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_DELTA = 5, ENCODING_DICTIONARY = 8 };
enum {
    CODEC_ZSTD = 6,
    PAGE_DATA = 0,
    PAGE_DICTIONARY = 2,
    REQUIRED = 0,
    CONVERTED_UTF8 = 0,
    CONVERTED_UINT64 = 14
};

// ---- the compact protocol of Thrift ----------------------------------------------------------------------

enum { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

// Fields are written in rising order, so each says how far it is from the one before.
static void put_field(struct seep_put *put, int *last, int field, int type) {
    unsigned char byte = (unsigned char)((field - *last) << 4 | type);
    seep_put_bytes(put, &byte, 1);
    *last = field;
}

static void put_stop(struct seep_put *put) {
    seep_put_bytes(put, "", 1);
}

static void put_i32(struct seep_put *put, int *last, int field, int32_t value) {
    put_field(put, last, field, THRIFT_I32);
    seep_put_zigzag(put, value);
}

static void put_i64(struct seep_put *put, int *last, int field, uint64_t value) {
    put_field(put, last, field, THRIFT_I64);
    seep_put_zigzag(put, (int64_t)value);
}

static void put_string(struct seep_put *put, const char *text) {
    seep_put_leb(put, strlen(text));
    seep_put_bytes(put, text, strlen(text));
}

static void put_list(struct seep_put *put, size_t nr, int type) {
    unsigned char byte = (unsigned char)((nr < 15 ? nr : 15) << 4 | (unsigned)type);
    seep_put_bytes(put, &byte, 1);
    if (nr >= 15)
        seep_put_leb(put, nr);
}

// ---- encodings -------------------------------------------------------------------------------------------

static unsigned bits_of(uint64_t value) {
    return value ? 64u - (unsigned)__builtin_clzll(value) : 0;
}

// Whole bytes pack better behind zstd than bits that straddle them.
static unsigned width_of(uint64_t most) {
    unsigned bits = bits_of(most);
    return bits <= 2 ? bits : bits <= 4 ? 4 : (bits + 7) / 8 * 8;
}

struct bits {
    struct seep_put *put;
    unsigned __int128 held;
    unsigned nr;
};

// Room for them is there.
static inline void put_bits(struct bits *bits, uint64_t value, unsigned width) {
    struct seep_put *put = bits->put;
    bits->held |= (unsigned __int128)value << bits->nr;
    for (bits->nr += width; bits->nr >= 8; bits->nr -= 8) {
        put->bytes[put->used++] = (unsigned char)bits->held;
        bits->held >>= 8;
    }
}

static void put_delta_block(struct seep_put *put, const int64_t *deltas, unsigned nr) {
    int64_t least = deltas[0];
    for (unsigned i = 1; i < nr; i++)
        least = SEEP_MIN(least, deltas[i]);
    seep_put_zigzag(put, least);
    unsigned char widths[MINIBLOCKS] = {0};
    for (unsigned i = 0; i < nr; i++) {
        unsigned width = width_of((uint64_t)deltas[i] - (uint64_t)least);
        widths[i / MINIBLOCK] = (unsigned char)SEEP_MAX(widths[i / MINIBLOCK], width);
    }
    seep_put_bytes(put, widths, sizeof(widths));
    if (put->failed || !seep_put_room(put, BLOCK * sizeof(uint64_t)))
        return;
    for (unsigned mini = 0; mini * MINIBLOCK < nr; mini++) {
        struct bits bits = {.put = put};
        for (unsigned i = mini * MINIBLOCK; i < (mini + 1) * MINIBLOCK; i++)
            put_bits(&bits, i < nr ? (uint64_t)deltas[i] - (uint64_t)least : 0, widths[mini]);
    }
}

static void put_deltas(struct seep_put *put, const int64_t *values, uint64_t nr) {
    int64_t deltas[BLOCK];
    seep_put_leb(put, BLOCK);
    seep_put_leb(put, MINIBLOCKS);
    seep_put_leb(put, nr);
    seep_put_zigzag(put, nr ? values[0] : 0);
    for (uint64_t at = 1; at < nr; at += BLOCK) {
        unsigned nr_block = (unsigned)SEEP_MIN(nr - at, (uint64_t)BLOCK);
        for (unsigned i = 0; i < nr_block; i++)
            deltas[i] = (int64_t)((uint64_t)values[at + i] - (uint64_t)values[at + i - 1]);
        put_delta_block(put, deltas, nr_block);
    }
}

// One run of packed bits, or of one value.
static void put_indexes(struct seep_put *put, const uint32_t *indexes, uint64_t nr, uint32_t nr_distinct) {
    unsigned char width = (unsigned char)width_of(nr_distinct > 1 ? nr_distinct - 1 : 0);
    seep_put_bytes(put, &width, 1);
    if (!width) {
        seep_put_leb(put, nr << 1);
        return;
    }
    uint64_t nr_groups = (nr + 7) / 8;
    seep_put_leb(put, nr_groups << 1 | 1);
    if (put->failed || !seep_put_room(put, nr_groups * width))
        return;
    struct bits bits = {.put = put};
    for (uint64_t i = 0; i < nr_groups * 8; i++)
        put_bits(&bits, i < nr ? indexes[i] : 0, width);
}

// ---- dictionaries ----------------------------------------------------------------------------------------

struct seep_parquet_slot {
    int64_t value;
    uint32_t index; // + 1; 0: free
};

// false: more than a dictionary should have.
static bool find_distinct(struct seep_parquet *parquet, const int64_t *values, uint32_t *ret_nr) {
    uint32_t nr = 0;
    memset(parquet->slots, 0, sizeof(*parquet->slots) << SLOT_BITS);
    for (uint64_t i = 0; i < parquet->group_rows; i++) {
        size_t at = (size_t)(seep_hash64((uint64_t)values[i]) >> (64 - SLOT_BITS));
        while (parquet->slots[at].index && parquet->slots[at].value != values[i])
            at = (at + 1) & (((size_t)1 << SLOT_BITS) - 1);
        if (!parquet->slots[at].index) {
            if (nr == DISTINCT_MAX)
                return false;
            parquet->distinct[nr] = values[i];
            parquet->slots[at] = (struct seep_parquet_slot){values[i], ++nr};
        }
        parquet->indexes[i] = parquet->slots[at].index - 1;
    }
    *ret_nr = nr;
    return true;
}

// ---- pages -----------------------------------------------------------------------------------------------

// Indexes of a dictionary have few repetitions, so choosing matches well gains more than looking for long
// ones: a fifth of an address. Differences gain nothing by it.
enum { LEVEL = 9 };
static const struct {
    ZSTD_cParameter parameter;
    int value[2]; // otherwise, and of indexes
} parameters[] = {{ZSTD_c_strategy, {0, ZSTD_btultra}},
                  {ZSTD_c_searchLog, {0, 2}},
                  {ZSTD_c_minMatch, {0, 3}},
                  {ZSTD_c_targetLength, {0, 32}},
                  {ZSTD_c_compressionLevel, {LEVEL, LEVEL}}};

static bool set_parameters(ZSTD_CCtx *zstd, bool of_indexes) {
    bool good = true;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(parameters); i++)
        good &= !ZSTD_isError(
            ZSTD_CCtx_setParameter(zstd, parameters[i].parameter, parameters[i].value[of_indexes]));
    return good;
}

static struct seep_error *pack(struct seep_parquet *parquet, const struct seep_put *raw, void **packed,
                               size_t *capacity, size_t *ret_nr) {
    size_t bound = ZSTD_compressBound(raw->used);
    if (raw->failed || !seep_grow(packed, capacity, bound, 1) ||
        !set_parameters(parquet->zstd, raw == &parquet->other))
        return seep_error_no_memory();
    *ret_nr = ZSTD_compress2(parquet->zstd, *packed, bound, raw->bytes, raw->used);
    return ZSTD_isError(*ret_nr) ? seep_error_create(SEEP_E_IO, "cannot pack: %s", ZSTD_getErrorName(*ret_nr))
                                 : NULL;
}

static void write_bytes(struct seep_parquet *parquet, const void *bytes, size_t nr) {
    fwrite(bytes, 1, nr, parquet->out);
    parquet->at += nr;
}

struct page {
    int type; // PAGE_*
    int encoding;
    uint64_t nr_values;
    size_t raw_bytes;
    size_t packed_bytes;
};

static struct seep_error *write_page(struct seep_parquet *parquet, const struct page *page,
                                     const void *packed) {
    struct seep_put put = {NULL};
    int last = 0, inner = 0;
    put_i32(&put, &last, 1, page->type);
    put_i32(&put, &last, 2, (int32_t)page->raw_bytes);
    put_i32(&put, &last, 3, (int32_t)page->packed_bytes);
    put_field(&put, &last, page->type == PAGE_DICTIONARY ? 7 : 5, THRIFT_STRUCT);
    put_i32(&put, &inner, 1, (int32_t)page->nr_values);
    put_i32(&put, &inner, 2, page->encoding);
    if (page->type == PAGE_DATA) {
        put_i32(&put, &inner, 3, ENCODING_RLE);
        put_i32(&put, &inner, 4, ENCODING_RLE);
    }
    put_stop(&put);
    put_stop(&put);
    struct seep_error *error = put.failed ? seep_error_no_memory() : NULL;
    if (!error) {
        write_bytes(parquet, put.bytes, put.used);
        write_bytes(parquet, packed, page->packed_bytes);
    }
    seep_put_deinit(&put);
    return error;
}

// What the end of the file says of a column of this group.
struct chunk {
    uint64_t dictionary_off; // 0: none
    uint64_t data_off;
    uint64_t raw_bytes;
    int encoding;
    bool has_range;
    int64_t least, most;
};

static void put_chunk(struct seep_parquet *parquet, const struct chunk *chunk) {
    const struct seep_parquet_column *column = &parquet->columns[parquet->column];
    struct seep_put *put = &parquet->chunks;
    uint64_t begin = chunk->dictionary_off ? chunk->dictionary_off : chunk->data_off;
    int last = 0, meta = 0, range = 0;
    put_i64(put, &last, 2, begin);
    put_field(put, &last, 3, THRIFT_STRUCT);
    put_i32(put, &meta, 1, column->type == SEEP_PARQUET_TEXT ? TYPE_BYTE_ARRAY : TYPE_INT64);
    put_field(put, &meta, 2, THRIFT_LIST);
    put_list(put, chunk->dictionary_off ? 2 : 1, THRIFT_I32);
    seep_put_zigzag(put, chunk->encoding);
    if (chunk->dictionary_off)
        seep_put_zigzag(put, ENCODING_PLAIN);
    put_field(put, &meta, 3, THRIFT_LIST);
    put_list(put, 1, THRIFT_BINARY);
    put_string(put, column->name);
    put_i32(put, &meta, 4, CODEC_ZSTD);
    put_i64(put, &meta, 5, parquet->group_rows);
    put_i64(put, &meta, 6, chunk->raw_bytes);
    put_i64(put, &meta, 7, parquet->at - begin);
    put_i64(put, &meta, 9, chunk->data_off);
    if (chunk->dictionary_off)
        put_i64(put, &meta, 11, chunk->dictionary_off);
    if (chunk->has_range) {
        int64_t values[] = {chunk->most, chunk->least};
        put_field(put, &meta, 12, THRIFT_STRUCT);
        for (int i = 0; i < 2; i++) {
            put_field(put, &range, 5 + i, THRIFT_BINARY);
            seep_put_leb(put, sizeof(values[i]));
            for (unsigned k = 0; k < 8; k++) {
                unsigned char byte = (unsigned char)((uint64_t)values[i] >> (8 * k));
                seep_put_bytes(put, &byte, 1);
            }
        }
        put_stop(put);
    }
    put_stop(put);
    put_stop(put);
    parquet->group_bytes += parquet->at - begin;
    parquet->column++;
}

static void put_plain_numbers(struct seep_put *put, const int64_t *values, size_t nr) {
    for (size_t i = 0; i < nr; i++) {
        unsigned char bytes[8];
        for (unsigned k = 0; k < 8; k++)
            bytes[k] = (unsigned char)((uint64_t)values[i] >> (8 * k));
        seep_put_bytes(put, bytes, sizeof(bytes));
    }
}

// The dictionary is in `raw`, the indexes are in `other` and, packed, in `packed_other`.
static struct seep_error *write_with_dictionary(struct seep_parquet *parquet, uint32_t nr_distinct,
                                                size_t packed_bytes, struct chunk *chunk) {
    struct page page = {.type = PAGE_DICTIONARY,
                        .encoding = ENCODING_PLAIN,
                        .nr_values = nr_distinct,
                        .raw_bytes = parquet->raw.used};
    struct seep_error *error =
        pack(parquet, &parquet->raw, &parquet->packed, &parquet->packed_capacity, &page.packed_bytes);
    chunk->dictionary_off = parquet->at;
    if (!error)
        error = write_page(parquet, &page, parquet->packed);
    page = (struct page){.type = PAGE_DATA,
                         .encoding = ENCODING_DICTIONARY,
                         .nr_values = parquet->group_rows,
                         .raw_bytes = parquet->other.used,
                         .packed_bytes = packed_bytes};
    chunk->data_off = parquet->at;
    chunk->encoding = ENCODING_DICTIONARY;
    chunk->raw_bytes = parquet->raw.used + parquet->other.used;
    return error ? error : write_page(parquet, &page, parquet->packed_other);
}

static struct seep_error *pack_indexes(struct seep_parquet *parquet, const uint32_t *indexes,
                                       uint32_t nr_distinct, size_t *ret_packed_bytes) {
    put_indexes(&parquet->other, indexes, parquet->group_rows, nr_distinct);
    return pack(parquet, &parquet->other, &parquet->packed_other, &parquet->packed_other_capacity,
                ret_packed_bytes);
}

static struct seep_error *write_deltas(struct seep_parquet *parquet, size_t packed_bytes,
                                       struct chunk *chunk) {
    struct page page = {.type = PAGE_DATA,
                        .encoding = ENCODING_DELTA,
                        .nr_values = parquet->group_rows,
                        .raw_bytes = parquet->raw.used,
                        .packed_bytes = packed_bytes};
    chunk->data_off = parquet->at;
    chunk->encoding = ENCODING_DELTA;
    chunk->raw_bytes = parquet->raw.used;
    return write_page(parquet, &page, parquet->packed);
}

// By differences or with a dictionary, whichever is shorter once it is packed.
struct seep_error *seep_parquet_numbers(struct seep_parquet *parquet, const int64_t *values) {
    struct chunk chunk = {.has_range = parquet->columns[parquet->column].type == SEEP_PARQUET_INT64};
    uint32_t nr_distinct = 0;
    size_t nr_deltas = 0, nr_indexes = 0;
    bool fits = find_distinct(parquet, values, &nr_distinct);
    chunk.least = chunk.most = parquet->group_rows ? values[0] : 0;
    for (uint64_t i = 1; i < parquet->group_rows; i++) {
        chunk.least = SEEP_MIN(chunk.least, values[i]);
        chunk.most = SEEP_MAX(chunk.most, values[i]);
    }
    struct seep_error *error = NULL;
    parquet->raw.used = parquet->other.used = 0;
    if (!fits || nr_distinct > 256) {
        put_deltas(&parquet->raw, values, parquet->group_rows);
        error = pack(parquet, &parquet->raw, &parquet->packed, &parquet->packed_capacity, &nr_deltas);
    }
    if (!error && fits)
        error = pack_indexes(parquet, parquet->indexes, nr_distinct, &nr_indexes);
    if (error)
        return error;
    if (fits && (!nr_deltas || nr_indexes + (size_t)nr_distinct * 4 < nr_deltas)) {
        parquet->raw.used = 0;
        put_plain_numbers(&parquet->raw, parquet->distinct, nr_distinct);
        error = write_with_dictionary(parquet, nr_distinct, nr_indexes, &chunk);
    } else {
        error = write_deltas(parquet, nr_deltas, &chunk);
    }
    if (!error)
        put_chunk(parquet, &chunk);
    return error;
}

struct seep_error *seep_parquet_texts(struct seep_parquet *parquet, const uint32_t *indexes,
                                      const char *const *texts, uint32_t nr_texts) {
    struct chunk chunk = {.has_range = false};
    parquet->raw.used = parquet->other.used = 0;
    for (uint32_t i = 0; i < nr_texts; i++) {
        uint32_t nr = (uint32_t)strlen(texts[i]);
        unsigned char length[4] = {(unsigned char)nr, (unsigned char)(nr >> 8), (unsigned char)(nr >> 16),
                                   (unsigned char)(nr >> 24)};
        seep_put_bytes(&parquet->raw, length, sizeof(length));
        seep_put_bytes(&parquet->raw, texts[i], nr);
    }
    size_t nr_indexes = 0;
    struct seep_error *error = pack_indexes(parquet, indexes, nr_texts, &nr_indexes);
    if (!error)
        error = write_with_dictionary(parquet, nr_texts, nr_indexes, &chunk);
    if (!error)
        put_chunk(parquet, &chunk);
    return error;
}

// ---- the file --------------------------------------------------------------------------------------------

struct seep_error *seep_parquet_init(struct seep_parquet *ret_parquet, FILE *out,
                                     const struct seep_parquet_column *columns, uint32_t nr_columns) {
    struct seep_parquet parquet = {.out = out, .columns = columns, .nr_columns = nr_columns};
    parquet.zstd = ZSTD_createCCtx();
    parquet.distinct = malloc(DISTINCT_MAX * sizeof(*parquet.distinct));
    parquet.indexes = malloc(SEEP_PARQUET_ROWS * sizeof(*parquet.indexes));
    parquet.slots = malloc(sizeof(*parquet.slots) << SLOT_BITS);
    if (!parquet.zstd || !parquet.distinct || !parquet.indexes || !parquet.slots) {
        seep_parquet_deinit(&parquet);
        return seep_error_no_memory();
    }
    write_bytes(&parquet, "PAR1", 4);
    *ret_parquet = parquet;
    return NULL;
}

void seep_parquet_begin_group(struct seep_parquet *parquet, uint32_t nr_rows) {
    parquet->group_rows = nr_rows;
    parquet->group_bytes = 0;
    parquet->column = 0;
    parquet->chunks.used = 0;
}

void seep_parquet_end_group(struct seep_parquet *parquet) {
    int last = 0;
    struct seep_put *put = &parquet->groups;
    put_field(put, &last, 1, THRIFT_LIST);
    put_list(put, parquet->nr_columns, THRIFT_STRUCT);
    put->failed |= parquet->chunks.failed;
    seep_put_bytes(put, parquet->chunks.bytes, parquet->chunks.used);
    put_i64(put, &last, 2, parquet->group_bytes);
    put_i64(put, &last, 3, parquet->group_rows);
    put_stop(put);
    parquet->nr_rows += parquet->group_rows;
    parquet->nr_groups++;
}

static void put_schema(struct seep_put *put, const struct seep_parquet *parquet) {
    int root = 0;
    put_list(put, parquet->nr_columns + (size_t)1, THRIFT_STRUCT);
    put_field(put, &root, 4, THRIFT_BINARY);
    put_string(put, "events");
    put_i32(put, &root, 5, (int32_t)parquet->nr_columns);
    put_stop(put);
    for (uint32_t i = 0; i < parquet->nr_columns; i++) {
        const struct seep_parquet_column *column = &parquet->columns[i];
        int last = 0;
        put_i32(put, &last, 1, column->type == SEEP_PARQUET_TEXT ? TYPE_BYTE_ARRAY : TYPE_INT64);
        put_i32(put, &last, 3, REQUIRED);
        put_field(put, &last, 4, THRIFT_BINARY);
        put_string(put, column->name);
        if (column->type != SEEP_PARQUET_INT64)
            put_i32(put, &last, 6, column->type == SEEP_PARQUET_TEXT ? CONVERTED_UTF8 : CONVERTED_UINT64);
        put_stop(put);
    }
}

struct seep_error *seep_parquet_finish(struct seep_parquet *parquet) {
    struct seep_put put = {NULL};
    int last = 0;
    put_i32(&put, &last, 1, 2);
    put_field(&put, &last, 2, THRIFT_LIST);
    put_schema(&put, parquet);
    put_i64(&put, &last, 3, parquet->nr_rows);
    put_field(&put, &last, 4, THRIFT_LIST);
    put_list(&put, parquet->nr_groups, THRIFT_STRUCT);
    seep_put_bytes(&put, parquet->groups.bytes, parquet->groups.used);
    put_field(&put, &last, 6, THRIFT_BINARY);
    put_string(&put, "seep");
    put_stop(&put);
    struct seep_error *error = put.failed || parquet->groups.failed ? seep_error_no_memory() : NULL;
    if (!error) {
        unsigned char length[4] = {(unsigned char)put.used, (unsigned char)(put.used >> 8),
                                   (unsigned char)(put.used >> 16), (unsigned char)(put.used >> 24)};
        write_bytes(parquet, put.bytes, put.used);
        write_bytes(parquet, length, sizeof(length));
        write_bytes(parquet, "PAR1", 4);
    }
    seep_put_deinit(&put);
    return error;
}

void seep_parquet_deinit(struct seep_parquet *parquet) {
    ZSTD_freeCCtx(parquet->zstd);
    free(parquet->distinct);
    free(parquet->indexes);
    free(parquet->slots);
    free(parquet->packed);
    free(parquet->packed_other);
    seep_put_deinit(&parquet->groups);
    seep_put_deinit(&parquet->chunks);
    seep_put_deinit(&parquet->raw);
    seep_put_deinit(&parquet->other);
}
