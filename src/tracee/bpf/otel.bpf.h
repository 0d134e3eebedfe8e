// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// The arguments of a probe that the program offers (USDT): user space has read in the file where they are.
#ifndef SEEP_BPF_OTEL_BPF_H
#define SEEP_BPF_OTEL_BPF_H

#include "bpf/tables.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, SEEP_BPF_USDT_MAX);
    __type(key, uint32_t);
    __type(value, struct seep_bpf_usdt);
} seep_usdt SEC(".maps");

static inline uint64_t seep_register(const struct pt_regs *regs, uint8_t place) {
    uint64_t value = 0;
    if (place < sizeof(struct pt_regs) / sizeof(uint64_t))
        bpf_probe_read_kernel(&value, sizeof(value), (const void *)regs + place * sizeof(uint64_t));
    return value;
}

// false: it is in memory that is not there.
static __noinline bool seep_operand(const struct seep_bpf_operand *operand, const struct pt_regs *regs,
                                    uint64_t *ret_value) {
    uint32_t nr_bytes = operand->nr_bytes;
    uint64_t value = operand->offset;
    if (!nr_bytes)
        return false;
    barrier_var(nr_bytes); // the verifier must see each bound
    if (nr_bytes > sizeof(value))
        return false;
    if (operand->kind != SEEP_BPF_CONSTANT)
        value += seep_register(regs, operand->base) +
                 (seep_register(regs, operand->index) << (operand->shift & 3));
    if (operand->kind == SEEP_BPF_MEMORY) {
        const void *address = (const void *)value;
        value = 0;
        if (bpf_probe_read_user(&value, nr_bytes, address))
            return false;
    }
    uint32_t unused = 64 - nr_bytes * 8;
    *ret_value =
        operand->is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value << unused >> unused;
    return true;
}

#endif
