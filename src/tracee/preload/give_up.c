// SPDX-License-Identifier: BSD-2-Clause
//
// The program may unmap, protect or map over the image: at an address of its own choice, or because it does
// so to all mappings that it does not know. The library skips an munmap, mprotect or madvise of the image:
// the program has nothing there. Before an mmap over the image, recording ends for good, and the image says
// so. System calls by an instruction of the program's own are not seen. Recording ends, too, where the
// program sets a limit of address space that leaves it no room beside the image; then the image is unmapped.
#include "preload/fork_undo.h"
#include "preload/image_window.h"

static bool overlap(uint64_t start, uint64_t bytes, uint64_t other, uint64_t other_bytes) {
    return other_bytes && bytes && (start - other < other_bytes || other - start < bytes);
}

// The parts of the image: what is opened at the moment, the header, the areas, and the seeds of children's
// views. Also those of the view that a forked child has of its parent's image. And the memory that processes
// of a fork share: the first logs, for no more than three are written at a time, and the news of children.
enum { NR_LOGS = 6, NR_IMAGE_PARTS = 2 + SEEP_AREA_PAGED_NR + SEEP_WINDOW_SEEDS };
enum { NR_PARTS = NR_IMAGE_PARTS + NR_LOGS + 1 };

static uint64_t part_of_image(int number, uint64_t *ret_bytes) {
    uint64_t base = (uintptr_t)seep_g.base;
    int area = number - 2, seed = number - 2 - SEEP_AREA_PAGED_NR;
    if (number == 0) { // the first to be asked: it is a part of its area when it is no longer here
        // One word, because between two reads one opening may end and another begin.
        uintptr_t opening = __atomic_load_n(&seep_g.opening, __ATOMIC_SEQ_CST), page = SEEP_IMAGE_PAGE;
        *ret_bytes = opening & -page;
        return base + (opening ? seep_g.area_off[opening % page - 1] : 0);
    }
    if (number >= NR_IMAGE_PARTS)
        return number == NR_IMAGE_PARTS ? seep_news_part(ret_bytes)
                                        : seep_undo_part(number - NR_IMAGE_PARTS - 1, ret_bytes);
    if (seed >= 0) {
        *ret_bytes = seep_window_seed(seed) ? SEEP_LARGEST_PAGE : 0;
        return seep_window_seed(seed);
    }
    if (area < 0) {
        *ret_bytes = seep_g.reserved ? seep_g.window_bytes : SEEP_LARGEST_PAGE;
        return base;
    }
    *ret_bytes = seep_g.opened[area];
    return base + seep_g.area_off[area];
}

// At least the user's address space. Ranges that leave it are passed to the kernel, which refuses them.
#define SPACE_BYTES (UINT64_C(1) << (SEEP_ARCH_WORD == 8 ? 56 : 32))

bool seep_memory_is_ours(uint64_t start, uint64_t bytes) {
    if (bytes >= SPACE_BYTES || start >= SPACE_BYTES - bytes)
        return false;
    if (atomic_load_explicit(&seep_g.entry, memory_order_acquire) != SEEP_ENTRY_READY)
        return false;
    uint64_t part_bytes;
    for (int i = 0; i < NR_PARTS; i++) {
        uint64_t part = part_of_image(i, &part_bytes);
        if (overlap(start, bytes, part, part_bytes))
            return true;
    }
    return false;
}

bool seep_memory_rest(uint64_t *at, uint64_t end, uint64_t *ret_start, uint64_t *ret_bytes) {
    uint64_t stop = end, bytes;
    // Each part that is passed over may lead into another.
    for (int turn = 0; turn < NR_PARTS; turn++)
        for (int i = 0; i < NR_PARTS; i++) {
            uint64_t part = part_of_image(i, &bytes);
            if (*at - part < bytes)
                *at = SEEP_MIN(part + bytes, end);
        }
    for (int i = 0; i < NR_PARTS; i++) {
        uint64_t part = part_of_image(i, &bytes);
        if (bytes && part > *at && part < stop)
            stop = part;
    }
    *ret_start = *at;
    *ret_bytes = stop - *at;
    *at = stop;
    return *ret_bytes != 0;
}

static void nap(void) {
    enum { PAUSES = 20000 };
    for (int i = 0; seep_confined.filtered && i < PAUSES; i++)
        cpu_pause();
    if (!seep_confined.filtered)
        sys_nap_us(1000);
}

// Each thread takes the slow path from now on, where it is turned away. One that is in a hook is waited for:
// it marks itself idle when it leaves.
static void turn_away(uint32_t nr_slots) {
    enum { NR_ROUNDS = 50, NR_MOST = 1 << 16 };
    bool again = true;
    for (int round = 0; round < NR_ROUNDS && again; round++) {
        again = round == 0; // a thread may just have seen that it is idle
        for (uint32_t i = 0; i < SEEP_MIN(nr_slots, (uint32_t)NR_MOST); i++) {
            struct seep_thread *thread = seep_g.thread_of_slot[i];
            if (!thread)
                continue;
            // Of sampled blocks and of calls that are only counted, where the guard is not asked.
            __atomic_store_n(&thread->filter, NULL, __ATOMIC_RELEASE);
            __atomic_store_n(&thread->sample_at, 0, __ATOMIC_RELEASE);
            __atomic_store_n(&thread->called, NULL, __ATOMIC_RELEASE);
            uint64_t guard = __atomic_load_n(&thread->guard, __ATOMIC_ACQUIRE);
            if (guard == SEEP_GUARD_WIPED)
                continue;
            bool done = SEEP_GUARD_IS_IDLE(guard) &&
                        __atomic_compare_exchange_n(&thread->guard, &guard, SEEP_GUARD_WIPED, false,
                                                    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
            again |= !done && thread != seep_self();
        }
        if (again && nr_slots > 1)
            nap();
    }
}

static void give_up(enum seep_passive_reason reason) {
    struct seep_image_header *header = seep_g.header;
    uint32_t nr_slots = 0;
    if (seep_image_is_ours()) {
        nr_slots = (uint32_t)header->areas[SEEP_AREA_THREADS].used;
        header->passive_reason = reason;
        header->state = SEEP_STATE_PASSIVE;
        seep_lost(SEEP_LOST_PASSIVE);
    } else { // a child of fork, which sees its parent's
        seep_news_tell(SEEP_LOST_FORK, 1);
        seep_undo_drop();
    }
    seep_fork_none_is_ours();
    turn_away(nr_slots);
    seep_g.header = NULL;
}

void seep_memory_goes(uint64_t start, uint64_t bytes) {
    if (seep_memory_is_ours(start, bytes))
        give_up(SEEP_PASSIVE_UNMAPPED);
}

void seep_memory_gives_way(void) {
    seep_g.budget_bytes = UINT64_MAX;
    seep_window_tell_space(); // the image takes no address space from now on
    give_up(SEEP_PASSIVE_NO_MAP);
    uint64_t bytes;
    for (int i = 1; i < NR_PARTS; i++) {
        uint64_t part = part_of_image(i, &bytes);
        if (i != NR_IMAGE_PARTS && bytes) // the memory of the news of children stays
            sys3(SYS_munmap, part, bytes, 0);
    }
}
