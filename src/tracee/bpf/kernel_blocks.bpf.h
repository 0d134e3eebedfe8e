// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// The live blocks of `seep kernel`: a hash table of fixed size in two arrays that the host has mapped, made
// for events that come by the million. A block is in the first free place of its first bucket, or of one
// of three others; looking one up costs one cache line nearly always. Nothing is locked: a place is taken and
// left by compare-and-swap.
#ifndef SEEP_BPF_KERNEL_BLOCKS_BPF_H
#define SEEP_BPF_KERNEL_BLOCKS_BPF_H

#include "bpf/kernel.h"
#include "image/bpf_kernel.h"

const volatile uint32_t seep_nr_buckets = 1; // set before loading, then constant

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); // set by the host, as for the next one
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, uint32_t);
    __type(value, struct seep_kernel_bucket);
} seep_buckets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, uint32_t);
    __type(value, struct seep_kernel_block);
} seep_blocks SEC(".maps");

static inline struct seep_kernel_bucket *bucket_at(uint32_t number) {
    return bpf_map_lookup_elem(&seep_buckets, &number);
}

static inline struct seep_kernel_block *block_at(uint32_t bucket, uint32_t i) {
    uint32_t number = bucket * SEEP_KERNEL_BUCKET_BLOCKS + i;
    return bpf_map_lookup_elem(&seep_blocks, &number);
}

// Takes the key out. false: it is not in this bucket.
static inline bool bucket_remove(uint32_t number, struct seep_kernel_bucket *bucket, uint64_t key,
                                 struct seep_kernel_block *ret_block) {
#pragma unroll
    for (uint32_t i = 0; i < SEEP_KERNEL_BUCKET_BLOCKS; i++) {
        if (bucket->keys[i] != key)
            continue;
        const struct seep_kernel_block *block = ret_block ? block_at(number, i) : NULL;
        if (block)
            *ret_block = *block;
        return __sync_val_compare_and_swap(&bucket->keys[i], key, 0) == key;
    }
    return false;
}

static __noinline bool remove_elsewhere(uint64_t key, struct seep_kernel_block *ret_block) {
    for (uint32_t choice = 1; choice < SEEP_KERNEL_CHOICES; choice++) {
        uint32_t number = seep_kernel_bucket_of(key, choice, seep_nr_buckets);
        struct seep_kernel_bucket *bucket = bucket_at(number);
        if (bucket && bucket_remove(number, bucket, key, ret_block))
            return true;
    }
    return false;
}

// *ret_block: what was there. false: there was none.
static inline bool blocks_remove(uint64_t key, struct seep_kernel_block *ret_block) {
    uint32_t number = seep_kernel_bucket_of(key, 0, seep_nr_buckets);
    struct seep_kernel_bucket *first = bucket_at(number);
    if (!first)
        return false;
    if (bucket_remove(number, first, key, ret_block))
        return true;
    if (!first->nr_elsewhere || !remove_elsewhere(key, ret_block))
        return false;
    __sync_fetch_and_add(&first->nr_elsewhere, -UINT64_C(1));
    return true;
}

static inline bool bucket_add(uint32_t number, struct seep_kernel_bucket *bucket, uint64_t key,
                              const struct seep_kernel_block *block) {
#pragma unroll
    for (uint32_t i = 0; i < SEEP_KERNEL_BUCKET_BLOCKS; i++) {
        if (bucket->keys[i] ||
            __sync_val_compare_and_swap(&bucket->keys[i], UINT64_C(0), (uint64_t)SEEP_KERNEL_KEY_TAKEN) != 0)
            continue;
        struct seep_kernel_block *at = block_at(number, i);
        if (at)
            *at = *block;
        barrier(); // stores are seen in order (x86-64)
        *(volatile uint64_t *)&bucket->keys[i] = key;
        return true;
    }
    return false;
}

static __noinline bool add_elsewhere(uint64_t key, const struct seep_kernel_block *block) {
    if (!block)
        return false;
    for (uint32_t choice = 1; choice < SEEP_KERNEL_CHOICES; choice++) {
        uint32_t number = seep_kernel_bucket_of(key, choice, seep_nr_buckets);
        struct seep_kernel_bucket *bucket = bucket_at(number);
        if (bucket && bucket_add(number, bucket, key, block))
            return true;
    }
    return false;
}

// The key is not in the table. false: no room.
static inline bool blocks_add(uint64_t key, const struct seep_kernel_block *block) {
    uint32_t number = seep_kernel_bucket_of(key, 0, seep_nr_buckets);
    struct seep_kernel_bucket *first = bucket_at(number);
    if (!first)
        return false;
    if (bucket_add(number, first, key, block))
        return true;
    // Counted before it is there: a look-up of the key goes through all its buckets.
    __sync_fetch_and_add(&first->nr_elsewhere, UINT64_C(1));
    if (add_elsewhere(key, block))
        return true;
    __sync_fetch_and_add(&first->nr_elsewhere, -UINT64_C(1));
    return false;
}

#endif
