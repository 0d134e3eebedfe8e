// SPDX-License-Identifier: BSD-2-Clause
// Messages of protobuf, see protobuf.h.
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "output/protobuf.h"

enum { // how a field is encoded
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
};

void seep_proto_deinit(struct seep_proto *message) {
    free(message->bytes);
    *message = (struct seep_proto){NULL};
}

void seep_proto_put_raw(struct seep_proto *message, const void *bytes, size_t nr) {
    message->failed |= !seep_grow(&message->bytes, &message->capacity, message->nr + nr, 1);
    if (message->failed || !nr)
        return;
    memcpy(message->bytes + message->nr, bytes, nr);
    message->nr += nr;
}

static size_t encode(unsigned char bytes[10], uint64_t value) {
    size_t nr = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[nr++] = (unsigned char)(value | 0x80);
    bytes[nr++] = (unsigned char)value;
    return nr;
}

void seep_proto_put_varint(struct seep_proto *message, uint64_t value) {
    unsigned char bytes[10];
    seep_proto_put_raw(message, bytes, encode(bytes, value));
}

void seep_proto_put_number(struct seep_proto *message, unsigned field, uint64_t value) {
    seep_proto_put_varint(message, field << 3 | WIRE_VARINT);
    seep_proto_put_varint(message, value);
}

void seep_proto_put_fixed64(struct seep_proto *message, unsigned field, uint64_t value) {
    unsigned char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    seep_proto_put_varint(message, field << 3 | WIRE_FIXED64);
    seep_proto_put_raw(message, bytes, sizeof(bytes));
}

void seep_proto_put_bytes(struct seep_proto *message, unsigned field, const void *bytes, size_t nr) {
    seep_proto_put_varint(message, field << 3 | WIRE_BYTES);
    seep_proto_put_varint(message, nr);
    seep_proto_put_raw(message, bytes, nr);
}

void seep_proto_put_text(struct seep_proto *message, unsigned field, const char *text) {
    size_t nr = strlen(text);
    seep_proto_put_bytes(message, field, text, nr);
    if (message->failed)
        return;
    for (const char *at = text; *at;) {
        uint32_t code;
        unsigned length = seep_utf8_next(at, &code);
        if (!length)
            message->bytes[message->nr - nr + (size_t)(at - text)] = '?';
        at += length ? length : 1;
    }
}

void seep_proto_put_message(struct seep_proto *message, unsigned field, struct seep_proto *inner) {
    message->failed |= inner->failed;
    seep_proto_put_bytes(message, field, inner->bytes, inner->nr);
    inner->nr = 0;
}

void seep_proto_flush(FILE *out, unsigned field, struct seep_proto *message) {
    unsigned char head[20];
    size_t nr = encode(head, field << 3 | WIRE_BYTES);
    nr += encode(head + nr, message->nr);
    fwrite(head, 1, nr, out);
    fwrite(message->bytes, 1, message->nr, out);
    message->nr = 0;
}

void seep_proto_strings_init(struct seep_proto_strings *strings, unsigned field) {
    *strings = (struct seep_proto_strings){.field = field, .ids = SEEP_MAP_INIT, .nr = 1};
    seep_proto_put_text(&strings->fields, field, "");
}

void seep_proto_strings_deinit(struct seep_proto_strings *strings) {
    seep_proto_deinit(&strings->fields);
    seep_map_deinit(&strings->ids);
}

uint64_t seep_proto_string(struct seep_proto_strings *strings, const char *text) {
    if (!text || !*text)
        return 0;
    uint64_t *slot = seep_map_at(&strings->ids, seep_hash_bytes(text, strlen(text)), NULL);
    if (!slot) {
        strings->fields.failed = true;
        return 0;
    }
    if (!*slot) {
        seep_proto_put_text(&strings->fields, strings->field, text);
        *slot = strings->nr++;
    }
    return *slot;
}
