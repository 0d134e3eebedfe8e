// SPDX-License-Identifier: BSD-2-Clause
// Noise_NNpsk0_25519_ChaChaPoly_SHA256, see noise.h. The names are those of the specification: h, ck, e, re.
#include <bearssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "wire/noise.h"

#define HASH_BYTES 32u
#define NAME       "Noise_NNpsk0_25519_ChaChaPoly_SHA256"

struct cipher {
    unsigned char key[32];
    uint64_t nonce;
};

struct seep_noise {
    bool initiator;
    bool has_ephemeral;
    bool open;
    unsigned nr_messages;
    unsigned char h[HASH_BYTES];
    unsigned char ck[HASH_BYTES];
    unsigned char psk[SEEP_NOISE_KEY_BYTES];
    unsigned char e_secret[32];
    unsigned char e[32];
    unsigned char re[32];
    struct cipher handshake;
    struct cipher to;
    struct cipher from;
};

bool seep_noise_is_there(void) {
    return true;
}

// ---- primitives ----

static void hash(unsigned char out[HASH_BYTES], const void *first, size_t nr_first, const void *second,
                 size_t nr_second) {
    br_sha256_context context;
    br_sha256_init(&context);
    br_sha256_update(&context, first, nr_first);
    br_sha256_update(&context, second, nr_second);
    br_sha256_out(&context, out);
}

static void mac(unsigned char out[HASH_BYTES], const unsigned char key[HASH_BYTES], const void *first,
                size_t nr_first, const void *second, size_t nr_second) {
    br_hmac_key_context keyed;
    br_hmac_context context;
    br_hmac_key_init(&keyed, &br_sha256_vtable, key, HASH_BYTES);
    br_hmac_init(&context, &keyed, 0);
    br_hmac_update(&context, first, nr_first);
    br_hmac_update(&context, second, nr_second);
    br_hmac_out(&context, out);
}

// HKDF of the specification: `third` may be NULL.
static void derive(const unsigned char ck[HASH_BYTES], const void *input, size_t nr,
                   unsigned char first[HASH_BYTES], unsigned char second[HASH_BYTES], unsigned char *third) {
    static const unsigned char one = 1, two = 2, three = 3;
    unsigned char key[HASH_BYTES], a[HASH_BYTES], b[HASH_BYTES];
    mac(key, ck, input, nr, NULL, 0);
    mac(a, key, &one, 1, NULL, 0);
    mac(b, key, a, HASH_BYTES, &two, 1);
    if (third)
        mac(third, key, b, HASH_BYTES, &three, 1);
    memcpy(first, a, HASH_BYTES);
    memcpy(second, b, HASH_BYTES);
}

// Both secret and point little-endian; false: the point is of low order.
static bool multiply(unsigned char out[32], const unsigned char secret[32], const unsigned char point[32]) {
    unsigned char none = 0;
    memcpy(out, point, 32);
    br_ec_c25519_m31.mul(out, 32, secret, 32, BR_EC_curve25519); // which sets and clears the bits of RFC 7748
    for (size_t i = 0; i < 32; i++)
        none |= out[i];
    return none != 0;
}

static void public_of(unsigned char out[32], const unsigned char secret[32]) {
    static const unsigned char base[32] = {9};
    (void)multiply(out, secret, base);
}

static void nonce_of(unsigned char out[12], uint64_t nonce) {
    memset(out, 0, 4);
    for (size_t i = 0; i < 8; i++)
        out[4 + i] = (unsigned char)(nonce >> (8 * i));
}

static void encrypt(struct cipher *cipher, const void *ad, size_t nr_ad, unsigned char *bytes, size_t nr,
                    unsigned char tag[SEEP_NOISE_TAG_BYTES]) {
    unsigned char nonce[12];
    nonce_of(nonce, cipher->nonce++);
    br_poly1305_ctmul_run(cipher->key, nonce, bytes, nr, ad, nr_ad, tag, br_chacha20_ct_run, 1);
}

// Compared without regard to where they differ.
static bool decrypt(struct cipher *cipher, const void *ad, size_t nr_ad, unsigned char *bytes, size_t nr,
                    const unsigned char tag[SEEP_NOISE_TAG_BYTES]) {
    unsigned char nonce[12], right[SEEP_NOISE_TAG_BYTES], differs = 0;
    nonce_of(nonce, cipher->nonce++);
    br_poly1305_ctmul_run(cipher->key, nonce, bytes, nr, ad, nr_ad, right, br_chacha20_ct_run, 0);
    for (size_t i = 0; i < sizeof(right); i++)
        differs |= right[i] ^ tag[i];
    return differs == 0;
}

// ---- the state ----

static void mix_hash(struct seep_noise *noise, const void *bytes, size_t nr) {
    hash(noise->h, noise->h, HASH_BYTES, bytes, nr);
}

static void mix_key(struct seep_noise *noise, const void *bytes, size_t nr) {
    derive(noise->ck, bytes, nr, noise->ck, noise->handshake.key, NULL);
    noise->handshake.nonce = 0;
}

struct seep_error *seep_noise_create(bool initiator, const unsigned char *prologue, size_t nr_prologue,
                                     const unsigned char key[SEEP_NOISE_KEY_BYTES],
                                     struct seep_noise **ret_noise) {
    struct seep_noise *noise = calloc(1, sizeof(*noise));
    if (!noise)
        return seep_error_no_memory();
    noise->initiator = initiator;
    memcpy(noise->psk, key, sizeof(noise->psk));
    hash(noise->h, NAME, strlen(NAME), NULL, 0);
    memcpy(noise->ck, noise->h, HASH_BYTES);
    mix_hash(noise, prologue, nr_prologue);
    *ret_noise = noise;
    return NULL;
}

void seep_noise_destroy(struct seep_noise *noise) {
    if (!noise)
        return;
    explicit_bzero(noise, sizeof(*noise));
    free(noise);
}

void seep_noise_set_ephemeral(struct seep_noise *noise, const unsigned char secret[32]) {
    memcpy(noise->e_secret, secret, 32);
    noise->has_ephemeral = true;
}

bool seep_noise_is_open(const struct seep_noise *noise) {
    return noise->open;
}

// The token psk of the first message.
static void mix_psk(struct seep_noise *noise) {
    unsigned char mixed[HASH_BYTES];
    derive(noise->ck, noise->psk, sizeof(noise->psk), noise->ck, mixed, noise->handshake.key);
    noise->handshake.nonce = 0;
    mix_hash(noise, mixed, sizeof(mixed));
}

static bool is_turn(const struct seep_noise *noise, bool to_write) {
    return !noise->open && noise->nr_messages < 2 &&
           (noise->initiator == (noise->nr_messages == 0)) == to_write;
}

// The tokens e and ee of a message whose public key is known. Both sides do the same.
static bool mix_message(struct seep_noise *noise, const unsigned char public[32]) {
    unsigned char shared[32];
    mix_hash(noise, public, 32);
    mix_key(noise, public, 32);
    if (noise->nr_messages == 0)
        return true;
    if (!multiply(shared, noise->e_secret, noise->re))
        return false;
    mix_key(noise, shared, sizeof(shared));
    return true;
}

static void end_message(struct seep_noise *noise) {
    if (++noise->nr_messages < 2)
        return;
    struct cipher *first = noise->initiator ? &noise->to : &noise->from;
    struct cipher *second = noise->initiator ? &noise->from : &noise->to;
    derive(noise->ck, NULL, 0, first->key, second->key, NULL);
    explicit_bzero(noise->e_secret, sizeof(noise->e_secret));
    explicit_bzero(noise->psk, sizeof(noise->psk));
    noise->open = true;
}

struct seep_error *seep_noise_hello_put(struct seep_noise *noise, const void *payload, size_t nr,
                                        struct seep_put *out) {
    unsigned char tag[SEEP_NOISE_TAG_BYTES];
    if (!is_turn(noise, true))
        return seep_error_create(SEEP_E_FORMAT, "a greeting out of turn");
    if (!noise->has_ephemeral &&
        getrandom(noise->e_secret, sizeof(noise->e_secret), 0) != (ssize_t)sizeof(noise->e_secret))
        return seep_error_create(SEEP_E_UNSUPPORTED, "the system gives no random bytes");
    public_of(noise->e, noise->e_secret);
    if (noise->nr_messages == 0)
        mix_psk(noise);
    if (!mix_message(noise, noise->e))
        return seep_error_create(SEEP_E_FORMAT, "a greeting that is none");
    seep_put_bytes(out, noise->e, sizeof(noise->e));
    size_t at = out->used;
    seep_put_bytes(out, payload, nr);
    if (out->failed)
        return seep_error_no_memory();
    encrypt(&noise->handshake, noise->h, HASH_BYTES, out->bytes + at, nr, tag);
    seep_put_bytes(out, tag, sizeof(tag));
    if (out->failed)
        return seep_error_no_memory();
    mix_hash(noise, out->bytes + at, nr + sizeof(tag));
    end_message(noise);
    return NULL;
}

bool seep_noise_hello_take(struct seep_noise *noise, const unsigned char *bytes, size_t nr,
                           struct seep_put *payload) {
    if (!is_turn(noise, false) || nr < SEEP_NOISE_HELLO_BYTES || nr > SEEP_NOISE_RECORD_MOST)
        return false;
    memcpy(noise->re, bytes, sizeof(noise->re));
    if (noise->nr_messages == 0)
        mix_psk(noise);
    if (!mix_message(noise, noise->re))
        return false;
    size_t nr_payload = nr - SEEP_NOISE_HELLO_BYTES, at = payload->used;
    seep_put_bytes(payload, bytes + 32, nr_payload);
    if (payload->failed ||
        !decrypt(&noise->handshake, noise->h, HASH_BYTES, nr_payload ? payload->bytes + at : NULL, nr_payload,
                 bytes + 32 + nr_payload))
        return false;
    mix_hash(noise, bytes + 32, nr_payload + SEEP_NOISE_TAG_BYTES);
    end_message(noise);
    return true;
}

// ---- messages ----

void seep_noise_seal(struct seep_noise *noise, const void *bytes, size_t nr, struct seep_put *out) {
    unsigned char tag[SEEP_NOISE_TAG_BYTES];
    size_t at = out->used;
    if (!seep_put_room(out, nr + sizeof(tag))) // also of a message without bytes
        return;
    seep_put_bytes(out, bytes, nr);
    encrypt(&noise->to, NULL, 0, out->bytes + at, nr, tag);
    seep_put_bytes(out, tag, sizeof(tag));
}

bool seep_noise_unseal(struct seep_noise *noise, unsigned char *bytes, size_t nr, size_t *ret_nr) {
    if (!noise->open || nr < SEEP_NOISE_TAG_BYTES)
        return false;
    *ret_nr = nr - SEEP_NOISE_TAG_BYTES;
    return decrypt(&noise->from, NULL, 0, bytes, *ret_nr, bytes + *ret_nr);
}
