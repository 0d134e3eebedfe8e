// SPDX-License-Identifier: BSD-2-Clause
//
// The lock of a link over a network: Noise_NNpsk0_25519_ChaChaPoly_SHA256 (noiseprotocol.org, revision 34).
// Both sides have the same key of 32 bytes; who has not cannot ask, read or change anything, and a key that
// is known later opens nothing of what was sent before. Owns BearSSL, of which it takes the primitives.
#ifndef SEEP_WIRE_NOISE_H
#define SEEP_WIRE_NOISE_H

#include "base/error.h"
#include "base/records.h"

#define SEEP_NOISE_KEY_BYTES    32u
#define SEEP_NOISE_HELLO_BYTES  48u // of each side's message of the handshake, without payload
#define SEEP_NOISE_TAG_BYTES    16u
#define SEEP_NOISE_RECORD_MOST  65535u // as it is sent
#define SEEP_NOISE_LENGTH_BYTES 2u     // u16, little-endian, before each message

bool seep_noise_is_there(void); // false: seep was built without it

// Of a file that only its owner may read: 64 hexadecimal digits. `may_make`: a file that is not there is
// made, and *ret_made says so.
SEEP_MUST_CHECK struct seep_error *seep_noise_key_read(const char *path, bool may_make,
                                                       unsigned char ret_key[SEEP_NOISE_KEY_BYTES],
                                                       bool *ret_made);

struct seep_noise;
// `prologue` must be the same on both sides, or the handshake fails. `key` is shared by both sides, and
// copied.
SEEP_MUST_CHECK struct seep_error *seep_noise_create(bool initiator, const unsigned char *prologue,
                                                     size_t nr_prologue,
                                                     const unsigned char key[SEEP_NOISE_KEY_BYTES],
                                                     struct seep_noise **ret_noise);
void seep_noise_destroy(struct seep_noise *noise); // takes NULL
// The initiator's message, then the other's. Both with a payload, which may be empty. After the second is
// written, or read, it is open. false: it is not of who has the key.
SEEP_MUST_CHECK struct seep_error *seep_noise_hello_put(struct seep_noise *noise, const void *payload,
                                                        size_t nr, struct seep_put *out);
bool seep_noise_hello_take(struct seep_noise *noise, const unsigned char *bytes, size_t nr,
                           struct seep_put *payload);
// Whether both messages of the handshake have passed, so that messages can be sealed.
bool seep_noise_is_open(const struct seep_noise *noise);
// One message: appended to `out`, without its length. At most SEEP_NOISE_RECORD_MOST less the tag.
void seep_noise_seal(struct seep_noise *noise, const void *bytes, size_t nr, struct seep_put *out);
// In place; false: it was changed, comes again, or is not of the other side. *ret_nr bytes at `bytes`.
bool seep_noise_unseal(struct seep_noise *noise, unsigned char *bytes, size_t nr, size_t *ret_nr);

// For a test: the key that a side makes by itself.
void seep_noise_set_ephemeral(struct seep_noise *noise, const unsigned char secret[32]);

#endif
