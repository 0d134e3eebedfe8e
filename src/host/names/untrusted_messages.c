// SPDX-License-Identifier: BSD-2-Clause
// Words between the tool and the reader of untrusted files, see untrusted_messages.h.
#include "names/untrusted_messages.h"

void seep_untrusted_put_bytes(struct seep_put *put, const uint8_t *bytes, size_t nr_bytes) {
    seep_put_leb(put, nr_bytes);
    seep_put_bytes(put, bytes, nr_bytes);
}

const uint8_t *seep_untrusted_take_bytes(struct seep_take *take, size_t *ret_bytes) {
    uint64_t nr_bytes = seep_take_leb(take);
    const uint8_t *bytes = seep_take_bytes(take, nr_bytes);
    *ret_bytes = bytes ? (size_t)nr_bytes : 0;
    return bytes;
}

struct seep_error *seep_untrusted_take_text(struct seep_take *take, struct seep_names *names,
                                            const char **ret_text) {
    size_t length;
    const char *text = seep_take_text(take, &length);
    *ret_text = NULL;
    return text ? seep_names_keep_part(names, text, length, ret_text) : NULL;
}

void seep_untrusted_put_variable(struct seep_put *put, const struct seep_variable *variable, uint64_t type) {
    seep_put_text(put, variable->name);
    seep_put_text(put, variable->function);
    seep_put_text(put, variable->file);
    seep_put_leb(put, variable->line);
    seep_put_leb(put, variable->off);
    seep_put_leb(put, type);
}

struct seep_error *seep_untrusted_take_variable(struct seep_take *take, struct seep_names *names,
                                                struct seep_variable *ret_variable, uint64_t *ret_type) {
    struct seep_variable variable = {NULL};
    struct seep_error *error = seep_untrusted_take_text(take, names, &variable.name);
    if (!error)
        error = seep_untrusted_take_text(take, names, &variable.function);
    if (!error)
        error = seep_untrusted_take_text(take, names, &variable.file);
    variable.line = seep_take_u32(take);
    variable.off = seep_take_leb(take);
    *ret_type = seep_take_leb(take);
    if (!error && !take->failed)
        *ret_variable = variable;
    return error;
}

void seep_untrusted_put_frame(struct seep_put *put, const struct seep_call_frame *frame) {
    seep_put_leb(put, frame->pc);
    seep_put_leb(put, frame->exact);
    seep_put_leb(put, frame->address);
    seep_put_leb(put, frame->cfa);
    seep_put_leb(put, frame->known);
    for (size_t i = 0; i < SEEP_FRAME_REGISTERS; i++) {
        seep_put_leb(put, frame->registers[i]);
        seep_put_leb(put, frame->saved_at[i]);
    }
}

void seep_untrusted_take_frame(struct seep_take *take, struct seep_call_frame *ret_frame) {
    ret_frame->pc = seep_take_leb(take);
    ret_frame->exact = seep_take_bool(take);
    ret_frame->address = seep_take_leb(take);
    ret_frame->cfa = seep_take_leb(take);
    ret_frame->known = seep_take_leb(take);
    for (size_t i = 0; i < SEEP_FRAME_REGISTERS; i++) {
        ret_frame->registers[i] = seep_take_leb(take);
        ret_frame->saved_at[i] = seep_take_leb(take);
    }
}
