// SPDX-License-Identifier: BSD-2-Clause
// Places of threads, see thread_places.h.
#include <string.h>

#include "scan/thread_places.h"

#define TLS_MODULES_MAX 65536
#define CONTROL_BYTES   4096u // of a control block, at most
#define PAGE_BYTES      4096u

// The thread control block has the address of the vector, and that the storage of each module. Source: ELF
// Handling For Thread-Local Storage; dtv_t of glibc (address, and what to free; the number of elements one
// element before); struct pthread of musl (addresses only; the number of modules in place of the first).
bool seep_tls_vector_find(const struct seep_memory *memory, uint64_t tls,
                          struct seep_tls_vector *ret_vector) {
    const uint64_t word = memory->word_bytes;
    struct seep_tls_vector vector = {.step = 2 * word};
#if defined(__x86_64__)
    const uint64_t of_glibc = tls + word, of_musl = tls + word;
#else
    const uint64_t of_glibc = tls, of_musl = tls - word;
#endif
    uint64_t head[2];
    vector.where = of_musl;
    if (tls >= 2 * word && seep_memory_read_words(memory, vector.where, &vector.start, 1) && vector.start &&
        seep_memory_read_words(memory, vector.start, head, 2) && head[0] && head[0] <= TLS_MODULES_MAX &&
        head[1] > TLS_MODULES_MAX && head[1] % 4 == 0) {
        vector.step = word;
        vector.nr = head[0];
        *ret_vector = vector;
        return true;
    }
    vector.where = of_glibc;
    if (!tls || !seep_memory_read_words(memory, vector.where, &vector.start, 1) || vector.start < 2 * word ||
        !seep_memory_read_words(memory, vector.start - 2 * word, &vector.nr, 1) ||
        vector.nr > TLS_MODULES_MAX)
        return false;
    *ret_vector = vector;
    return true;
}

// libc puts the storage of the modules that were there first and the control block, with the values of
// pthread_setspecific, at one place. Where in [low, tls] that begins; what it cannot read, ends.
static uint64_t static_tls_start(const struct seep_memory *memory, uint64_t tls, uint64_t low) {
    struct seep_tls_vector vector;
    uint64_t start = tls & ~UINT64_C(7);
    if (!seep_tls_vector_find(memory, tls, &vector))
        return start;
    for (uint64_t i = 1; i <= vector.nr; i++) {
        uint64_t storage;
        if (!seep_memory_read_words(memory, vector.start + vector.step * i, &storage, 1))
            break;
        if (storage > low && storage < start)
            start = storage & ~UINT64_C(7);
    }
    return start;
}

// A control block knows the mapping that it lies in: start and size, one after the other (glibc: with the
// guard, whose size follows; musl: the stack follows). It ends in the kernel's mapping at the latest. On the
// other side of the thread pointer lies a stack, with size and start of it in any order.
static bool read_map(const struct seep_memory *memory, const struct seep_stopped_thread *thread,
                     uint64_t end_max, uint64_t *ret_start, uint64_t *ret_end) {
    uint64_t words[PAGE_BYTES / 4 + 1];
    const unsigned step = memory->word_bytes;
#if defined(__x86_64__)
    uint64_t from = thread->tls & ~UINT64_C(7), end = thread->tls + CONTROL_BYTES;
#else
    uint64_t from = (thread->tls - CONTROL_BYTES) & ~UINT64_C(7), end = thread->tls;
#endif
    for (uint64_t at = from; at < end; at = (at | (PAGE_BYTES - 1)) + 1) {
        size_t nr = (size_t)(PAGE_BYTES - at % PAGE_BYTES) / step; // and the first word of the next page
        if (seep_memory_read_words(memory, at, words, nr + 1))
            nr++;
        else if (!seep_memory_read_words(memory, at, words, nr))
            continue;
        for (size_t i = 0; i + 1 < nr; i++) {
            uint64_t start = words[i], map_end;
            if (!start || (start | words[i + 1]) % PAGE_BYTES || start > thread->tls ||
                words[i + 1] > start || __builtin_add_overflow(start, words[i + 1], &map_end) ||
                map_end <= thread->tls || map_end > end_max)
                continue;
            *ret_start = start;
            *ret_end = map_end;
            return true;
        }
    }
    return false;
}

// Where nothing tells: from the first of the storage on, and as much as a control block may have.
static void guess_storage(const struct seep_memory *memory, const struct seep_memory_area *storage,
                          uint64_t tls, struct seep_thread_place *place) {
    uint64_t first = SEEP_MIN(static_tls_start(memory, tls, storage->start), tls - CONTROL_BYTES);
    place->tls_low = SEEP_MAX(first & ~(uint64_t)(PAGE_BYTES - 1), storage->start);
    place->tls_high = SEEP_MIN((tls + CONTROL_BYTES) | (PAGE_BYTES - 1), storage->end - 1) + 1;
}

struct seep_thread_place seep_thread_place_find(const struct seep_memory *memory,
                                                const struct seep_stopped_thread *thread) {
    struct seep_thread_place place = {0};
    const struct seep_memory_area *mapping = seep_memory_find(memory, thread->sp);
    const struct seep_memory_area *storage = seep_memory_find(memory, thread->tls);
    uint64_t start = 0, end = 0;
    if (mapping) {
        place.stack_start = mapping->start;
        place.tls_start = place.end = mapping->end;
    }
    if (mapping && mapping == storage && thread->tls > thread->sp)
        place.tls_start = static_tls_start(memory, thread->tls, thread->sp);
    if (!storage || thread->tls < CONTROL_BYTES || thread->tls > UINT64_MAX - 4 * CONTROL_BYTES)
        return place;
    if (!read_map(memory, thread, storage->end, &start, &end)) {
        guess_storage(memory, storage, thread->tls, &place);
    } else if (mapping && start <= thread->sp && thread->sp < thread->tls) {
        place.told = true;
        place.stack_start = SEEP_MAX(mapping->start, start);
        place.end = end;
    } else { // it is on another stack for a while, or nowhere
        place.tls_low = SEEP_MAX(storage->start, start);
        place.tls_high = end;
    }
    return place;
}
