// SPDX-License-Identifier: BSD-2-Clause
//
// The lock of a link, against published vectors: those of the cacophony suite for Noise_NNpsk0_25519_ChaChaPoly_SHA256;
// and what is changed, comes again, or has another key.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/noise.h"

#define PROLOGUE "4a6f686e2047616c74"
#define PSK      "54686973206973206d7920417573747269616e20706572737065637469766521"

static const struct {
    const char *payload;
    const char *message;
} vectors[] = {
    {"4c756477696720766f6e204d69736573", "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
                                         "79b962b8aff8485742ac32f905ba45369e2465fb59e138a93d67a0d1266b6a54"},
    {"4d757272617920526f746862617264", "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
                                       "d6062704d5a9c422a8e834423f8c1feada7e8d0d910a1a2cd030fb584221e3"},
    {"462e20412e20486179656b", "e632c3763d7669067383433197a3baddf146e9e70ad4b4e9e59e0f"},
    {"4361726c204d656e676572", "64c6bee32ea91c8474bb4c21d7a700109ad45af77b29764ba5eb1e"},
    {"4a65616e2d426170746973746520536179",
     "e2fa0bed0603b62d3ccac2ecabbf3fe33f3e86514909b323361626266cb2471cc8"},
    {"457567656e2042f6686d20766f6e2042617765726b",
     "0c01dc9cec1fe4ddd692e8dd32188aa351088dc91183639a53b57aa4692b5ebdef8b8ca111"},
};

static size_t bytes_of(const char *hex, unsigned char *out) {
    size_t nr = strlen(hex) / 2;
    for (size_t i = 0; i < nr; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
        out[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return nr;
}

static struct seep_noise *side(bool initiator, const char *psk, const char *ephemeral) {
    unsigned char prologue[64], key[32], secret[32];
    struct seep_noise *noise = NULL;
    assert_int_equal(bytes_of(psk, key), 32);
    assert_null(seep_noise_create(initiator, prologue, bytes_of(PROLOGUE, prologue), key, &noise));
    if (ephemeral) {
        bytes_of(ephemeral, secret);
        seep_noise_set_ephemeral(noise, secret);
    }
    return noise;
}

static void test_published_vectors(void **state) {
    struct seep_noise *sides[2] = {
        side(true, PSK, "893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"),
        side(false, PSK, "bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b")};
    for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
        unsigned char payload[64], message[128];
        size_t nr_payload = bytes_of(vectors[i].payload, payload), nr = bytes_of(vectors[i].message, message);
        struct seep_noise *from = sides[i % 2], *to = sides[1 - i % 2];
        struct seep_put out = {NULL}, back = {NULL};
        if (i < 2) {
            assert_null(seep_noise_hello_put(from, payload, nr_payload, &out));
            assert_true(seep_noise_hello_take(to, out.bytes, out.used, &back));
        } else {
            seep_noise_seal(from, payload, nr_payload, &out);
        }
        assert_int_equal(out.used, nr);
        assert_memory_equal(out.bytes, message, nr);
        if (i >= 2) {
            size_t nr_back = 0;
            assert_true(seep_noise_unseal(to, message, nr, &nr_back));
            seep_put_bytes(&back, message, nr_back);
        }
        assert_int_equal(back.used, nr_payload);
        assert_memory_equal(back.bytes, payload, nr_payload);
        seep_put_deinit(&out);
        seep_put_deinit(&back);
    }
    assert_true(seep_noise_is_open(sides[0]) && seep_noise_is_open(sides[1]));
    seep_noise_destroy(sides[0]);
    seep_noise_destroy(sides[1]);
}

// false: one of them did not believe the other.
static bool greet(struct seep_noise *first, struct seep_noise *second, int flip_of, size_t flip) {
    struct seep_put out = {NULL}, none = {NULL};
    bool good = true;
    for (int i = 0; good && i < 2; i++) {
        out.used = 0;
        assert_null(seep_noise_hello_put(i ? second : first, NULL, 0, &out));
        assert_int_equal(out.used, SEEP_NOISE_HELLO_BYTES);
        if (i == flip_of)
            out.bytes[flip / 8] ^= (unsigned char)(1u << flip % 8);
        good = seep_noise_hello_take(i ? first : second, out.bytes, out.used, &none);
    }
    seep_put_deinit(&out);
    seep_put_deinit(&none);
    return good;
}

static void test_any_flipped_bit_of_the_greeting_is_seen(void **state) {
    for (int of = 0; of < 2; of++)
        for (size_t bit = 0; bit < 8 * SEEP_NOISE_HELLO_BYTES; bit++) {
            struct seep_noise *first = side(true, PSK, NULL), *second = side(false, PSK, NULL);
            // The highest bit of a point is ignored by the curve, but not by the hash.
            assert_false(greet(first, second, of, bit));
            seep_noise_destroy(first);
            seep_noise_destroy(second);
        }
}

static void test_another_key_and_another_turn(void **state) {
    struct seep_noise *first = side(true, PSK, NULL);
    struct seep_noise *second =
        side(false, "44686973206973206d7920417573747269616e20706572737065637469766521", NULL);
    assert_false(greet(first, second, -1, 0));
    seep_noise_destroy(second);
    second = side(false, PSK, NULL);
    struct seep_put out = {NULL};
    struct seep_error *error = seep_noise_hello_put(second, NULL, 0, &out); // the other is first
    assert_non_null(error);
    seep_error_destroy(error);
    unsigned char nothing[SEEP_NOISE_HELLO_BYTES] = {0};
    assert_false(seep_noise_hello_take(second, nothing, sizeof(nothing), &out)); // a point of low order
    assert_false(seep_noise_hello_take(second, nothing, 47, &out));
    seep_noise_destroy(first);
    seep_noise_destroy(second);
    seep_put_deinit(&out);
}

static void test_messages_that_are_changed_or_come_again(void **state) {
    struct seep_noise *first = side(true, PSK, NULL), *second = side(false, PSK, NULL);
    assert_true(greet(first, second, -1, 0));
    struct seep_put one = {NULL};
    unsigned char copy[64];
    size_t nr = 0;
    seep_noise_seal(first, "question", 8, &one);
    memcpy(copy, one.bytes, one.used);
    assert_true(seep_noise_unseal(second, copy, one.used, &nr) && nr == 8 && !memcmp(copy, "question", 8));
    memcpy(copy, one.bytes, one.used);
    assert_false(seep_noise_unseal(second, copy, one.used, &nr)); // again
    one.used = 0;
    seep_noise_seal(second, "answer", 6, &one);
    for (size_t cut = 0; cut < SEEP_NOISE_TAG_BYTES; cut++)
        assert_false(seep_noise_unseal(first, one.bytes, cut, &nr));
    one.bytes[2] ^= 4;
    assert_false(seep_noise_unseal(first, one.bytes, one.used, &nr));
    seep_put_deinit(&one);
    seep_noise_destroy(first);
    seep_noise_destroy(second);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_vectors),
        cmocka_unit_test(test_any_flipped_bit_of_the_greeting_is_seen),
        cmocka_unit_test(test_another_key_and_another_turn),
        cmocka_unit_test(test_messages_that_are_changed_or_come_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
