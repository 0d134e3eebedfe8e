// SPDX-License-Identifier: BSD-2-Clause
//
// Messages of protobuf, as bytes. (Source: protobuf.dev/programming-guides/encoding.)
#ifndef SEEP_OUTPUT_PROTOBUF_H
#define SEEP_OUTPUT_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/map.h"

struct seep_proto {
    unsigned char *bytes;
    size_t nr;
    size_t capacity;
    bool failed; // out of memory
};

void seep_proto_deinit(struct seep_proto *message);
void seep_proto_put_varint(struct seep_proto *message, uint64_t value); // an item of a packed list
void seep_proto_put_number(struct seep_proto *message, unsigned field, uint64_t value);
void seep_proto_put_fixed64(struct seep_proto *message, unsigned field, uint64_t value);
void seep_proto_put_bytes(struct seep_proto *message, unsigned field, const void *bytes, size_t nr);
// Fields that are encoded already.
void seep_proto_put_raw(struct seep_proto *message, const void *bytes, size_t nr);
// UTF-8 is the law of strings: what is not becomes '?'.
void seep_proto_put_text(struct seep_proto *message, unsigned field, const char *text);
// Another message as a field of this one; empties it.
void seep_proto_put_message(struct seep_proto *message, unsigned field, struct seep_proto *inner);
// The message as a field of what is written; empties it.
void seep_proto_flush(FILE *out, unsigned field, struct seep_proto *message);

// A table of texts, each once, as fields of one number; 0 is "".
struct seep_proto_strings {
    unsigned field;
    struct seep_proto fields; // to be written as they are
    struct seep_map ids;      // hash of a text to its number; two of one hash are no more than chance
    uint64_t nr;
};
void seep_proto_strings_init(struct seep_proto_strings *strings, unsigned field);
void seep_proto_strings_deinit(struct seep_proto_strings *strings);
// The number of a text, NULL is "".
uint64_t seep_proto_string(struct seep_proto_strings *strings, const char *text);

#endif
