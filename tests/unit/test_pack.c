// SPDX-License-Identifier: BSD-2-Clause
// The agent's packer against libzstd, and its unpacker against liblzma: what one packs the other unpacks, whatever the bytes are.
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/unlzma.h"
#include "base/pack.h"

// Those of agent/pack_small.c, by the names that this test compiles it with.
struct seep_packer *small_packer_create(void);
void small_packer_destroy(struct seep_packer *packer);
size_t small_pack_bound(size_t nr);
size_t small_pack(struct seep_packer *packer, unsigned char *to, size_t room, const void *raw, size_t nr,
                  enum seep_pack_effort effort);

#define MOST 300000u

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Bytes of many kinds: none alike, few, runs, words that come again near and far, numbers as the protocol has them.
static size_t fill(unsigned char *bytes, unsigned kind, uint32_t *state) {
    static const size_t sizes[] = {0, 1, 3, 4, 5, 31, 127, 1000, 32767, 32768, 32769, 65536, 131072, MOST};
    size_t nr = sizes[next(state) % SEEP_ARRAY_SIZE(sizes)];
    for (size_t i = 0; i < nr; i++) {
        switch (kind) {
        case 0:
            bytes[i] = (unsigned char)next(state);
            break;
        case 1:
            bytes[i] = (unsigned char)("ab"[next(state) & 1]);
            break;
        case 2:
            bytes[i] = (unsigned char)(i >> 12);
            break;
        case 3:
            bytes[i] = i > 5000 && next(state) % 100 ? bytes[i - 5000] : (unsigned char)next(state);
            break;
        case 4:
            bytes[i] = i > 120000 ? bytes[i - 120000] : (unsigned char)next(state);
            break;
        default:
            bytes[i] = (unsigned char)(next(state) % 16 ? i % 7 : next(state));
        }
    }
    return nr;
}

static void test_what_it_packs_is_zstd(void **unused) {
    (void)unused;
    unsigned char *raw = malloc(MOST), *packed = malloc(small_pack_bound(MOST)), *back = malloc(MOST);
    struct seep_packer *packer = small_packer_create();
    uint32_t state = 1;
    size_t all = 0, all_packed = 0;
    for (unsigned i = 0; i < 240; i++) {
        size_t nr = fill(raw, i % 6, &state);
        size_t nr_packed = small_pack(packer, packed, small_pack_bound(nr), raw, nr, SEEP_PACK_FAST);
        assert_in_range(nr_packed, 1, small_pack_bound(nr));
        assert_true(seep_unpack(back, nr, packed, nr_packed));
        assert_memory_equal(back, raw, nr);
        assert_int_equal(small_pack(packer, packed, small_pack_bound(nr) - 1, raw, nr, SEEP_PACK_FAST), 0);
        all += nr;
        all_packed += nr_packed;
    }
    assert_true(all_packed < all * 6 / 10); // two of six kinds do not pack
    small_packer_destroy(packer);
    free(raw), free(packed), free(back);
}

// As tools/lzma_header.py does.
static size_t lzma_with(const unsigned char *raw, size_t nr, unsigned char *packed, size_t room) {
    lzma_options_lzma options;
    assert_false(lzma_lzma_preset(&options, 6));
    options.dict_size = 1 << 20;
    options.lc = 3, options.lp = 1, options.pb = 1;
    const lzma_filter filters[] = {{LZMA_FILTER_LZMA1, &options}, {LZMA_VLI_UNKNOWN, NULL}};
    size_t nr_packed = 0;
    assert_int_equal(lzma_raw_buffer_encode(filters, NULL, raw, nr, packed, &nr_packed, room), LZMA_OK);
    return nr_packed;
}

static void test_what_liblzma_packs_it_unpacks(void **unused) {
    (void)unused;
    size_t room = MOST * 2;
    unsigned char *raw = malloc(MOST), *packed = malloc(room), *back = malloc(MOST + 1);
    struct seep_unlzma *work = malloc(sizeof(*work));
    uint32_t state = 2;
    for (unsigned i = 0; i < 24; i++) {
        size_t nr = fill(raw, i % 6, &state);
        size_t nr_packed = lzma_with(raw, nr, packed, room);
        assert_true(seep_unlzma(work, back, nr, packed, nr_packed));
        assert_memory_equal(back, raw, nr);
        assert_false(seep_unlzma(work, back, nr + 1, packed, nr_packed));
        if (nr > 1000)
            assert_false(seep_unlzma(work, back, nr, packed, nr_packed / 2));
        assert_false(seep_unlzma(work, back, nr, packed, 3));
        // Damaged ones are refused or make other bytes, and nothing else.
        for (unsigned k = 0; nr_packed && k < 20; k++) {
            packed[next(&state) % nr_packed] ^= (unsigned char)(1 + next(&state) % 255);
            (void)!seep_unlzma(work, back, nr, packed, nr_packed);
        }
    }
    free(raw), free(packed), free(back), free(work);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_packs_is_zstd),
        cmocka_unit_test(test_what_liblzma_packs_it_unpacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
