// SPDX-License-Identifier: BSD-2-Clause
// Frames and the small messages, see wire.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pack.h"
#include "base/version.h"
#include "wire/wire.h"

#define PACK_LEAST 256u // payloads below it are sent as they are

void seep_wire_head_put(unsigned char *at, const struct seep_wire_head *head) {
    seep_store32(at, head->nr_bytes);
    at[4] = head->type;
    at[5] = head->flags;
    seep_store16(at + 6, head->stream);
}

struct seep_wire_head seep_wire_head_of(const unsigned char *at) {
    return (struct seep_wire_head){seep_fetch32(at), at[4], at[5], seep_fetch16(at + 6)};
}

static bool pack(struct seep_put *packed, const struct seep_put *payload) {
    seep_put_leb(packed, payload->used);
    size_t room = seep_pack_bound(payload->used);
    struct seep_packer *packer = seep_packer_create();
    size_t nr = packer && seep_put_room(packed, room)
                    ? seep_pack(packer, packed->bytes + packed->used, room, payload->bytes, payload->used,
                                SEEP_PACK_FAST)
                    : 0;
    seep_packer_destroy(packer);
    packed->used += nr;
    return nr && packed->used < payload->used;
}

struct seep_error *seep_wire_put(struct seep_put *out, enum seep_wire_type type, uint16_t stream,
                                 const struct seep_put *payload, bool packed) {
    unsigned char bytes[SEEP_WIRE_HEAD_BYTES];
    struct seep_put smaller = {NULL};
    bool smaller_is = packed && payload->used >= PACK_LEAST && !payload->failed && pack(&smaller, payload);
    const struct seep_put *sent = smaller_is ? &smaller : payload;
    struct seep_wire_head head = {.nr_bytes = (uint32_t)sent->used,
                                  .type = (uint8_t)type,
                                  .flags = smaller_is ? SEEP_WIRE_PACKED : 0,
                                  .stream = stream};
    bool fits = !payload->failed && sent->used <= SEEP_WIRE_FRAME_MAX;
    if (fits) {
        seep_wire_head_put(bytes, &head);
        seep_put_bytes(out, bytes, sizeof(bytes));
        if (sent->used)
            seep_put_bytes(out, sent->bytes, sent->used);
    }
    seep_put_deinit(&smaller);
    return fits && !out->failed ? NULL : seep_error_no_memory();
}

struct seep_error *seep_wire_unpack(const struct seep_wire_head *head, const unsigned char *bytes,
                                    const unsigned char **ret_bytes, size_t *ret_nr,
                                    unsigned char **ret_owned) {
    *ret_owned = NULL;
    *ret_bytes = bytes;
    *ret_nr = head->nr_bytes;
    if (!(head->flags & SEEP_WIRE_PACKED))
        return NULL;
    struct seep_take take = {bytes, bytes + head->nr_bytes, false};
    uint64_t raw = seep_take_leb(&take);
    if (take.failed || !raw || raw > SEEP_WIRE_FRAME_MAX)
        return seep_error_create(SEEP_E_FORMAT, "a frame that is packed has no size that may be");
    unsigned char *owned = malloc(raw);
    if (!owned)
        return seep_error_no_memory();
    if (!seep_unpack(owned, raw, take.at, seep_take_left(&take))) {
        free(owned);
        return seep_error_create(SEEP_E_FORMAT, "a frame cannot be unpacked");
    }
    *ret_bytes = *ret_owned = owned;
    *ret_nr = raw;
    return NULL;
}

// ---- Hello ----

void seep_wire_hello_put(struct seep_put *payload) {
    seep_put_bytes(payload, SEEP_WIRE_MAGIC, SEEP_WIRE_MAGIC_BYTES);
    seep_put_leb(payload, SEEP_WIRE_VERSION);
    seep_put_leb(payload, SEEP_WIRE_VERSION);
    seep_put_leb(payload, SEEP_WIRE_TAKES_ZSTD | SEEP_WIRE_TAKES_CHANGES | SEEP_WIRE_TAKES_MANY);
    seep_put_text(payload, "seep " SEEP_VERSION);
}

struct seep_error *seep_wire_hello_take(const unsigned char *bytes, size_t nr,
                                        struct seep_wire_hello *ret_hello) {
    struct seep_take take = {bytes, bytes + nr, false};
    const unsigned char *magic = seep_take_bytes(&take, SEEP_WIRE_MAGIC_BYTES);
    if (!magic || memcmp(magic, SEEP_WIRE_MAGIC, SEEP_WIRE_MAGIC_BYTES) != 0)
        return seep_error_create(SEEP_E_FORMAT, "this is not the protocol of seep");
    ret_hello->version_least = seep_take_leb(&take);
    ret_hello->version_most = seep_take_leb(&take);
    ret_hello->takes = seep_take_leb(&take);
    size_t length = 0;
    const char *build = seep_take_text(&take, &length);
    if (take.failed)
        return seep_error_create(SEEP_E_FORMAT, "its greeting is not whole");
    snprintf(ret_hello->build, sizeof(ret_hello->build), "%.*s", (int)SEEP_MIN(length, (size_t)60), build);
    if (ret_hello->version_least > SEEP_WIRE_VERSION || ret_hello->version_most < SEEP_WIRE_VERSION)
        return seep_error_hint(
            seep_error_create(SEEP_E_VERSION, "it speaks versions %llu to %llu of the protocol, not %u",
                              (unsigned long long)ret_hello->version_least,
                              (unsigned long long)ret_hello->version_most, SEEP_WIRE_VERSION),
            "take the same seep on both sides");
    return NULL;
}

// ---- Pull ----

void seep_wire_pull_put(struct seep_put *payload, const struct seep_wire_pull *pull) {
    seep_put_leb(payload, pull->server);
    seep_put_leb(payload, pull->epoch);
    seep_put_leb(payload, pull->nr_have);
    for (uint32_t i = 0; i < pull->nr_have; i++) {
        seep_put_leb(payload, pull->have[i].pid);
        seep_put_leb(payload, pull->have[i].start);
        seep_put_leb(payload, pull->have[i].nr_modules);
        seep_put_leb(payload, pull->have[i].nr_nodes);
        seep_put_leb(payload, pull->have[i].nr_sites);
    }
}

struct seep_error *seep_wire_pull_take(const unsigned char *bytes, size_t nr,
                                       struct seep_wire_pull **ret_pull) {
    struct seep_take take = {bytes, bytes + nr, false};
    struct seep_wire_pull head;
    head.server = seep_take_leb(&take);
    head.epoch = seep_take_leb(&take);
    uint64_t nr_have = seep_take_leb(&take);
    if (take.failed || nr_have > SEEP_WIRE_IMAGES_MAX)
        return seep_error_create(SEEP_E_FORMAT, "a question that is not whole");
    head.nr_have = (uint32_t)nr_have;
    struct seep_wire_pull *pull = malloc(sizeof(*pull) + head.nr_have * sizeof(pull->have[0]));
    if (!pull)
        return seep_error_no_memory();
    *pull = head;
    for (uint32_t i = 0; i < head.nr_have; i++) {
        struct seep_wire_have *have = &pull->have[i];
        have->pid = seep_take_leb(&take);
        have->start = seep_take_leb(&take);
        have->nr_modules = seep_take_leb(&take);
        have->nr_nodes = seep_take_leb(&take);
        have->nr_sites = seep_take_leb(&take);
    }
    if (take.failed) {
        free(pull);
        return seep_error_create(SEEP_E_FORMAT, "a question that is not whole");
    }
    *ret_pull = pull;
    return NULL;
}
