// SPDX-License-Identifier: BSD-2-Clause
//
// Both sides of the protocol against any bytes: a client that takes frames of any kind, in any order, and what a
// server takes of a question. Besides not crashing: an answer that is whole gives a session whose ids lead to what
// is there, and one that broke off is asked anew.
#include <stdlib.h>

#include "wire/wire.h"
#include "fuzz.h"

static void check(const struct seep_profile *profile) {
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        MUST(profile->sites[i].node < profile->nr_nodes);
    for (uint32_t i = 1; i < profile->nr_nodes; i++)
        MUST(profile->nodes[i].parent < i && profile->nodes[i].module < profile->nr_modules);
}

static void check_session(const struct seep_replica *replica) {
    struct seep_session *session = NULL;
    struct seep_error *error = seep_replica_session(replica, &session);
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        check(session->profiles[i]);
    seep_error_destroy(error);
    seep_session_destroy(session);
}

// What a client does with a stream of frames.
static void receive(struct seep_replica *replica, const uint8_t *data, size_t size) {
    while (size >= SEEP_WIRE_HEAD_BYTES) {
        struct seep_wire_head head = seep_wire_head_of(data);
        head.nr_bytes &= 0xfff; // inputs are small
        data += SEEP_WIRE_HEAD_BYTES;
        size -= SEEP_WIRE_HEAD_BYTES;
        if (head.nr_bytes > size)
            head.nr_bytes = (uint32_t)size;
        unsigned char *owned = NULL;
        const unsigned char *bytes;
        size_t nr;
        bool ended = false;
        struct seep_error *error = seep_wire_unpack(&head, data, &bytes, &nr, &owned);
        if (!error)
            error = seep_replica_take(replica, head.type, bytes, nr, &ended);
        free(owned);
        if (!error && ended)
            check_session(replica);
        if (error) {
            seep_error_destroy(error);
            return;
        }
        data += head.nr_bytes;
        size -= head.nr_bytes;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seep_wire_pull *pull = NULL;
    struct seep_wire_hello hello;
    struct seep_replica *replica = NULL;
    if (seep_replica_create(&replica))
        return 0;
    receive(replica, data, size);
    MUST(!seep_replica_ask(replica, SEEP_WIRE_IMAGES_OLD, &pull) && pull->nr_have <= SEEP_WIRE_IMAGES_OLD);
    free(pull);
    pull = NULL;
    seep_replica_destroy(replica);
    seep_error_destroy(seep_wire_pull_take(data, size, &pull));
    free(pull);
    seep_error_destroy(seep_wire_hello_take(data, size, &hello));
    return 0;
}
