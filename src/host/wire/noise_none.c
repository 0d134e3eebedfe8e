// SPDX-License-Identifier: BSD-2-Clause
// In the place of noise.c, where seep is built without BearSSL.
#include "wire/noise.h"

bool seep_noise_is_there(void) {
    return false;
}

struct seep_error *seep_noise_create(bool initiator, const unsigned char *prologue, size_t nr_prologue,
                                     const unsigned char key[SEEP_NOISE_KEY_BYTES],
                                     struct seep_noise **ret_noise) {
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED, "this seep is built without BearSSL, which tcp: needs"),
        "build it with libbearssl-dev, or use ssh://HOST/PID");
}

void seep_noise_destroy(struct seep_noise *noise) {
}

struct seep_error *seep_noise_hello_put(struct seep_noise *noise, const void *payload, size_t nr,
                                        struct seep_put *out) {
    return seep_error_create(SEEP_E_UNSUPPORTED, "no encryption");
}

bool seep_noise_hello_take(struct seep_noise *noise, const unsigned char *bytes, size_t nr,
                           struct seep_put *payload) {
    return false;
}

bool seep_noise_is_open(const struct seep_noise *noise) {
    return false;
}

void seep_noise_seal(struct seep_noise *noise, const void *bytes, size_t nr, struct seep_put *out) {
}

bool seep_noise_unseal(struct seep_noise *noise, unsigned char *bytes, size_t nr, size_t *ret_nr) {
    return false;
}

void seep_noise_set_ephemeral(struct seep_noise *noise, const unsigned char secret[32]) {
}
