// SPDX-License-Identifier: BSD-2-Clause
//
// The lock of a link against any bytes: as a client's greeting, a server's, a record of an open link, and a key's
// file. Besides not crashing: nothing that was not made with the key is believed, and what was made goes through.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/noise.h"
#include "fuzz.h"

static const unsigned char key[SEEP_NOISE_KEY_BYTES] = "a key that the bytes do not have";

static struct seep_noise *side(bool initiator) {
    struct seep_noise *noise = NULL;
    MUST(!seep_noise_create(initiator, (const unsigned char *)"p", 1, key, &noise));
    return noise;
}

static void greet(struct seep_noise *from, struct seep_noise *to) {
    struct seep_put hello = {NULL}, none = {NULL};
    MUST(!seep_noise_hello_put(from, NULL, 0, &hello) &&
         seep_noise_hello_take(to, hello.bytes, hello.used, &none));
    seep_put_deinit(&hello);
    seep_put_deinit(&none);
}

static void check_greetings(const uint8_t *data, size_t size) {
    struct seep_noise *client = side(true), *server = side(false);
    struct seep_put hello = {NULL}, payload = {NULL};
    MUST(!seep_noise_hello_take(server, data, size, &payload) && !seep_noise_is_open(server));
    MUST(!seep_noise_hello_put(client, data, size, &hello)); // a payload that is sent along
    MUST(!seep_noise_hello_take(client, data, size, &payload) && !seep_noise_is_open(client));
    seep_noise_destroy(client);
    seep_noise_destroy(server);
    seep_put_deinit(&hello);
    seep_put_deinit(&payload);
}

static void check_records(const uint8_t *data, size_t size) {
    struct seep_noise *client = side(true), *server = side(false);
    greet(client, server);
    greet(server, client);
    unsigned char *copy = malloc(size + 1);
    size_t nr = 0;
    struct seep_put record = {NULL};
    MUST(copy);
    if (size)
        memcpy(copy, data, size);
    seep_noise_seal(client, data, size, &record);
    MUST(seep_noise_unseal(server, record.bytes, record.used, &nr) && nr == size &&
         (!size || memcmp(record.bytes, data, size) == 0));
    MUST(!seep_noise_unseal(server, copy, size, &nr) && !seep_noise_unseal(client, copy, size, &nr));
    free(copy);
    seep_put_deinit(&record);
    seep_noise_destroy(client);
    seep_noise_destroy(server);
}

static void check_key_file(const uint8_t *data, size_t size) {
    unsigned char read[SEEP_NOISE_KEY_BYTES];
    char path[64];
    bool made = true;
    int fd = memfd_create("key", MFD_CLOEXEC);
    MUST(fd >= 0 && fchmod(fd, 0600) == 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct seep_error *error = seep_noise_key_read(path, false, read, &made);
    MUST(!made && (error || size == 64 || size == 65));
    seep_error_destroy(error);
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > SEEP_NOISE_RECORD_MOST - SEEP_NOISE_HELLO_BYTES)
        return 0;
    check_key_file(data, size);
    if (!seep_noise_is_there())
        return 0;
    check_greetings(data, size);
    check_records(data, size);
    return 0;
}
