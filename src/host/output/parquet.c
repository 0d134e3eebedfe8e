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

// Minima that differ from block to block would give the same difference other bytes each time.
static int64_t round_least(int64_t least) {
    uint64_t below = least < 0 ? ~(uint64_t)least : 0; // -1 - least
    return least < 0 ? (int64_t)(below ? UINT64_MAX << bits_of(below) : UINT64_MAX) : 0;
}

// The numbers of a block, and what each of its parts needs for one.
struct delta_block {
    uint64_t numbers[BLOCK];
    int64_t least;
    unsigned char widths[MINIBLOCKS];
};

static void make_delta_block(const int64_t *values, uint64_t nr, struct delta_block *ret_block) {
    struct delta_block *block = ret_block;
    uint64_t *numbers = block->numbers;
    block->least = INT64_MAX;
    for (uint64_t i = 0; i < nr; i++) {
        numbers[i] = (uint64_t)values[i + 1] - (uint64_t)values[i];
        block->least = SEEP_MIN(block->least, (int64_t)numbers[i]);
    }
    block->least = round_least(block->least);
    memset(block->widths, 0, sizeof(block->widths));
    for (uint64_t i = 0; i < nr; i++) {
        unsigned char *width = &block->widths[i / MINIBLOCK];
        numbers[i] -= (uint64_t)block->least;
        *width = (unsigned char)SEEP_MAX(*width, width_of(numbers[i]));
    }
    memset(numbers + nr, 0, (BLOCK - nr) * sizeof(*numbers));
}

// The width that most parts need. Where it is enough for a part it is taken, as bytes at the same places pack
// better.
static unsigned usual_width(const int64_t *values, uint64_t nr) {
    uint32_t counts[65] = {0};
    unsigned usual = 0;
    struct delta_block block;
    for (uint64_t at = 1; at < nr; at += BLOCK) {
        make_delta_block(values + at - 1, SEEP_MIN(nr - at, (uint64_t)BLOCK), &block);
        for (unsigned mini = 0; mini < MINIBLOCKS; mini++)
            counts[block.widths[mini]]++;
    }
    for (unsigned width = 1; width <= 64; width++)
        usual = counts[width] > counts[usual] ? width : usual;
    return usual;
}

static void put_delta_block(struct seep_put *put, struct delta_block *block, unsigned usual, uint64_t nr) {
    seep_put_zigzag(put, block->least);
    for (unsigned mini = 0; mini < MINIBLOCKS; mini++)
        if (mini * MINIBLOCK < nr)
            block->widths[mini] = (unsigned char)SEEP_MAX(block->widths[mini], usual);
    seep_put_bytes(put, block->widths, sizeof(block->widths));
    if (put->failed || !seep_put_room(put, BLOCK * sizeof(uint64_t)))
        return;
    for (unsigned mini = 0; mini * MINIBLOCK < nr; mini++) {
        struct bits bits = {.put = put};
        for (unsigned i = mini * MINIBLOCK; i < (mini + 1) * MINIBLOCK; i++)
            put_bits(&bits, block->numbers[i], block->widths[mini]);
    }
}

static void put_deltas(struct seep_put *put, const int64_t *values, uint64_t nr) {
    unsigned usual = usual_width(values, nr);
    seep_put_leb(put, BLOCK);
    seep_put_leb(put, MINIBLOCKS);
    seep_put_leb(put, nr);
    seep_put_zigzag(put, nr ? values[0] : 0);
    for (uint64_t at = 1; at < nr; at += BLOCK) {
        uint64_t nr_block = SEEP_MIN(nr - at, (uint64_t)BLOCK);
        struct delta_block block;
        make_delta_block(values + at - 1, nr_block, &block);
        put_delta_block(put, &block, usual, nr_block);
    }
}

static void put_plain_numbers(struct seep_put *put, const int64_t *values, uint64_t nr) {
    if (!seep_put_room(put, nr * sizeof(*values)))
        return;
    struct bits bits = {.put = put};
    for (uint64_t i = 0; i < nr; i++)
        put_bits(&bits, (uint64_t)values[i], 64);
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

static int compare_slots(const void *left, const void *right) {
    const struct seep_parquet_slot *a = left, *b = right;
    return (a->value > b->value) - (a->value < b->value);
}

// Of the dictionary; the indexes follow.
static void sort_distinct(struct seep_parquet *parquet, uint32_t nr) {
    _Static_assert(2 * DISTINCT_MAX <= 1 << SLOT_BITS, "there is room for two of each");
    struct seep_parquet_slot *sorted = parquet->slots, *rank_of = parquet->slots + nr;
    for (uint32_t i = 0; i < nr; i++)
        sorted[i] = (struct seep_parquet_slot){parquet->distinct[i], i};
    qsort(sorted, nr, sizeof(*sorted), compare_slots);
    for (uint32_t i = 0; i < nr; i++) {
        parquet->distinct[i] = sorted[i].value;
        rank_of[sorted[i].index].index = i;
    }
    for (uint64_t i = 0; i < parquet->group_rows; i++)
        parquet->indexes[i] = rank_of[parquet->indexes[i]].index;
}

// ---- pages -----------------------------------------------------------------------------------------------

// Numbers have few repetitions, so choosing matches well gains more than looking for long ones: a fifth of an
// address.
static bool set_parameters(ZSTD_CCtx *zstd) {
    static const struct {
        ZSTD_cParameter parameter;
        int value;
    } parameters[] = {{ZSTD_c_compressionLevel, 9},
                      {ZSTD_c_strategy, ZSTD_btultra},
                      {ZSTD_c_searchLog, 2},
                      {ZSTD_c_minMatch, 3},
                      {ZSTD_c_targetLength, 32}};
    bool good = true;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(parameters); i++)
        good &= !ZSTD_isError(ZSTD_CCtx_setParameter(zstd, parameters[i].parameter, parameters[i].value));
    return good;
}

static struct seep_error *pack(struct seep_parquet *parquet, struct seep_parquet_page *page) {
    const struct seep_put *raw = &page->raw;
    size_t bound = ZSTD_compressBound(raw->used);
    if (raw->failed || !seep_grow(&page->packed, &page->capacity, bound, 1))
        return seep_error_no_memory();
    page->nr_packed = ZSTD_compress2(parquet->zstd, page->packed, bound, raw->bytes, raw->used);
    return ZSTD_isError(page->nr_packed)
               ? seep_error_create(SEEP_E_IO, "cannot pack: %s", ZSTD_getErrorName(page->nr_packed))
               : NULL;
}

static void write_bytes(struct seep_parquet *parquet, const void *bytes, size_t nr) {
    fwrite(bytes, 1, nr, parquet->out);
    parquet->at += nr;
}

static struct seep_error *write_page(struct seep_parquet *parquet, const struct seep_parquet_page *page,
                                     int type, int encoding, uint64_t nr_values) {
    struct seep_put put = {NULL};
    int last = 0, inner = 0;
    put_i32(&put, &last, 1, type);
    put_i32(&put, &last, 2, (int32_t)page->raw.used);
    put_i32(&put, &last, 3, (int32_t)page->nr_packed);
    put_field(&put, &last, type == PAGE_DICTIONARY ? 7 : 5, THRIFT_STRUCT);
    put_i32(&put, &inner, 1, (int32_t)nr_values);
    put_i32(&put, &inner, 2, encoding);
    if (type == PAGE_DATA) {
        put_i32(&put, &inner, 3, ENCODING_RLE);
        put_i32(&put, &inner, 4, ENCODING_RLE);
    }
    put_stop(&put);
    put_stop(&put);
    struct seep_error *error = put.failed ? seep_error_no_memory() : NULL;
    if (!error) {
        write_bytes(parquet, put.bytes, put.used);
        write_bytes(parquet, page->packed, page->nr_packed);
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

// The pages of a column, which are packed, and what the end of the file says of them.
static struct seep_error *write_column(struct seep_parquet *parquet, struct chunk *chunk,
                                       uint32_t nr_distinct) {
    const struct seep_parquet_pages *pages = &parquet->pages;
    struct seep_error *error = NULL;
    chunk->raw_bytes = pages->data.raw.used;
    if (chunk->encoding == ENCODING_DICTIONARY) {
        chunk->raw_bytes += pages->dictionary.raw.used;
        chunk->dictionary_off = parquet->at;
        error = write_page(parquet, &pages->dictionary, PAGE_DICTIONARY, ENCODING_PLAIN, nr_distinct);
    }
    chunk->data_off = parquet->at;
    if (!error)
        error = write_page(parquet, &pages->data, PAGE_DATA, chunk->encoding, parquet->group_rows);
    if (!error)
        put_chunk(parquet, chunk);
    return error;
}

// How numbers can be written. Indexes of a dictionary in the order of the rows repeat each other more where
// blocks are used again soon; those of a sorted one, and the dictionary itself, where addresses rise.
enum way { WAY_IN_ORDER, WAY_SORTED, WAY_DELTAS, WAY_PLAIN, WAYS };
static const unsigned char encoding_of[WAYS] = {ENCODING_DICTIONARY, ENCODING_DICTIONARY, ENCODING_DELTA,
                                                ENCODING_PLAIN};

static bool has_dictionary(enum way way) {
    return encoding_of[way] == ENCODING_DICTIONARY;
}

// Packs the column in one more way, and keeps it where it is shorter than *best. WAY_SORTED comes after
// WAY_IN_ORDER.
static struct seep_error *try_way(struct seep_parquet *parquet, const int64_t *values, enum way way,
                                  uint32_t nr_distinct, size_t *best, enum way *best_way) {
    struct seep_parquet_pages *pages = &parquet->trial;
    struct seep_error *error = NULL;
    size_t nr_bytes = 0;
    pages->data.raw.used = pages->dictionary.raw.used = 0;
    if (way == WAY_SORTED)
        sort_distinct(parquet, nr_distinct);
    if (way == WAY_DELTAS) {
        put_deltas(&pages->data.raw, values, parquet->group_rows);
    } else if (way == WAY_PLAIN) {
        put_plain_numbers(&pages->data.raw, values, parquet->group_rows);
    } else {
        put_indexes(&pages->data.raw, parquet->indexes, parquet->group_rows, nr_distinct);
        put_plain_numbers(&pages->dictionary.raw, parquet->distinct, nr_distinct);
        error = pack(parquet, &pages->dictionary);
        nr_bytes = pages->dictionary.nr_packed;
    }
    if (!error)
        error = pack(parquet, &pages->data);
    nr_bytes += pages->data.nr_packed;
    if (error || nr_bytes >= *best)
        return error;
    struct seep_parquet_pages longer = parquet->pages;
    parquet->pages = *pages;
    *pages = longer;
    *best = nr_bytes;
    *best_way = way;
    return NULL;
}

// Tries one way, or each (WAYS). *ret_bytes: SIZE_MAX where a dictionary is asked for and would be too large.
static struct seep_error *try_ways(struct seep_parquet *parquet, const int64_t *values, enum way only,
                                   uint32_t *ret_nr_distinct, size_t *ret_bytes, enum way *ret_way) {
    enum { FEW = 256 }; // values, of which a dictionary is the shortest
    bool all = only == WAYS;
    bool fits = (all || has_dictionary(only)) && find_distinct(parquet, values, ret_nr_distinct);
    struct seep_error *error = NULL;
    *ret_bytes = SIZE_MAX;
    for (enum way way = 0; !error && way < WAYS; way++) {
        bool can = has_dictionary(way) ? fits : !all || !fits || *ret_nr_distinct > FEW;
        if (can && (all || way == only))
            error = try_way(parquet, values, way, *ret_nr_distinct, ret_bytes, ret_way);
    }
    return error;
}

// In the way that is shortest once it is packed. All are tried in each eighth group, and where the one that
// was the shortest takes a quarter more for a row than it took then.
struct seep_error *seep_parquet_numbers(struct seep_parquet *parquet, const int64_t *values) {
    enum { GROUPS = 8 };
    struct chunk chunk = {.has_range = parquet->columns[parquet->column].type == SEEP_PARQUET_INT64};
    struct seep_parquet_choice *choice = &parquet->choices[parquet->column];
    uint32_t nr_distinct = 0;
    chunk.least = chunk.most = parquet->group_rows ? values[0] : 0;
    for (uint64_t i = 1; i < parquet->group_rows; i++) {
        chunk.least = SEEP_MIN(chunk.least, values[i]);
        chunk.most = SEEP_MAX(chunk.most, values[i]);
    }
    enum way way = (enum way)choice->way;
    size_t bytes = SIZE_MAX;
    struct seep_error *error = NULL;
    if (parquet->nr_groups % GROUPS)
        error = try_ways(parquet, values, way, &nr_distinct, &bytes, &way);
    if (!error && (double)bytes > 1.25 * choice->bytes_a_row * (double)parquet->group_rows) {
        error = try_ways(parquet, values, WAYS, &nr_distinct, &bytes, &way);
        *choice = (struct seep_parquet_choice){(unsigned char)way,
                                               (double)bytes / (double)SEEP_MAX(parquet->group_rows, 1u)};
    }
    chunk.encoding = encoding_of[way];
    return error ? error : write_column(parquet, &chunk, nr_distinct);
}

struct seep_error *seep_parquet_texts(struct seep_parquet *parquet, const uint32_t *indexes,
                                      const char *const *texts, uint32_t nr_texts) {
    struct chunk chunk = {.encoding = ENCODING_DICTIONARY};
    struct seep_parquet_pages *pages = &parquet->pages;
    struct seep_put *put = &pages->dictionary.raw;
    pages->data.raw.used = put->used = 0;
    for (uint32_t i = 0; i < nr_texts; i++) {
        uint32_t nr = (uint32_t)strlen(texts[i]);
        unsigned char length[4] = {(unsigned char)nr, (unsigned char)(nr >> 8), (unsigned char)(nr >> 16),
                                   (unsigned char)(nr >> 24)};
        seep_put_bytes(put, length, sizeof(length));
        seep_put_bytes(put, texts[i], nr);
    }
    put_indexes(&pages->data.raw, indexes, parquet->group_rows, nr_texts);
    struct seep_error *error = pack(parquet, &pages->dictionary);
    if (!error)
        error = pack(parquet, &pages->data);
    return error ? error : write_column(parquet, &chunk, nr_texts);
}

// ---- the file --------------------------------------------------------------------------------------------

struct seep_error *seep_parquet_init(struct seep_parquet *ret_parquet, FILE *out,
                                     const struct seep_parquet_column *columns, uint32_t nr_columns) {
    struct seep_parquet parquet = {.out = out, .columns = columns, .nr_columns = nr_columns};
    parquet.zstd = ZSTD_createCCtx();
    parquet.distinct = malloc(DISTINCT_MAX * sizeof(*parquet.distinct));
    parquet.indexes = malloc(SEEP_PARQUET_ROWS * sizeof(*parquet.indexes));
    parquet.slots = malloc(sizeof(*parquet.slots) << SLOT_BITS);
    parquet.choices = calloc(nr_columns, sizeof(*parquet.choices));
    if (!parquet.zstd || !set_parameters(parquet.zstd) || !parquet.distinct || !parquet.indexes ||
        !parquet.slots || !parquet.choices) {
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

static void page_deinit(struct seep_parquet_page *page) {
    free(page->packed);
    seep_put_deinit(&page->raw);
}

static void pages_deinit(struct seep_parquet_pages *pages) {
    page_deinit(&pages->dictionary);
    page_deinit(&pages->data);
}

void seep_parquet_deinit(struct seep_parquet *parquet) {
    ZSTD_freeCCtx(parquet->zstd);
    free(parquet->distinct);
    free(parquet->indexes);
    free(parquet->slots);
    free(parquet->choices);
    pages_deinit(&parquet->pages);
    pages_deinit(&parquet->trial);
    seep_put_deinit(&parquet->groups);
    seep_put_deinit(&parquet->chunks);
}
