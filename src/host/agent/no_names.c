// SPDX-License-Identifier: BSD-2-Clause
// names/symbols.h for the agent: nothing has a name. The agent sends modules with build-ids, and offsets; the
// client finds the names.
#include "names/symbols.h"

struct seep_error *seep_symbols_create(const struct seep_symbols_options *options,
                                       struct seep_symbols **ret_symbols) {
    (void)options;
    *ret_symbols = NULL;
    return NULL;
}

void seep_symbols_destroy(struct seep_symbols *symbols) {
    (void)symbols;
}

struct seep_error *seep_symbols_module(struct seep_symbols *symbols, const char *path,
                                       const uint8_t *build_id, size_t build_id_bytes, unsigned *ret_module) {
    (void)symbols, (void)path, (void)build_id, (void)build_id_bytes;
    *ret_module = 0;
    return NULL;
}

struct seep_error *seep_symbols_variable(struct seep_symbols *symbols, unsigned module, uint64_t offset,
                                         const char **ret_name, uint64_t *ret_variable_offset) {
    (void)symbols, (void)module, (void)offset;
    *ret_name = NULL;
    *ret_variable_offset = 0;
    return NULL;
}

void seep_symbols_close_files(struct seep_symbols *symbols) {
    (void)symbols;
}

struct seep_error *seep_symbols_caller(struct seep_symbols *symbols, unsigned module,
                                       const struct seep_thread_stack *stack, struct seep_call_frame *frame,
                                       bool *ret_there, struct seep_call_frame *ret_caller) {
    (void)symbols, (void)module, (void)stack, (void)frame;
    *ret_there = false;
    *ret_caller = (struct seep_call_frame){0};
    return NULL;
}

struct seep_registers seep_registers_of(uint16_t machine) {
    (void)machine;
    return (struct seep_registers){0};
}
