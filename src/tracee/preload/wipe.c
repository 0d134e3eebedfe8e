// SPDX-License-Identifier: BSD-2-Clause
//
// Memory is wiped when it is handed out again: what a block held for those who had its memory before is no
// pointer of its owner's. The real functions are exchanged for ones that wipe behind them, so the hooks stay
// on their short way, and run no instruction for it where nothing is wiped.
#include "preload/wipe.h"

#include <stdatomic.h>

#include "preload/boot.h"
#include "preload/sys.h"

static struct {
    struct seep_real real;
    bool room_is_known; // seep_wipe_room_is_known
} wipe_g;

// So large a block is asked for page by page: what the kernel has not given yet is zero, and stays so.
#define ASKED_BYTES (UINT64_C(64) << 10)

// Of a smaller block the program writes most, so each word is written; of a larger one only what is not zero.
#define WRITTEN_BYTES 512u

#define LINE_WORDS 8u // of one page: 64 bytes that begin at a multiple

// gcc must not make a call of memset of it.
static SEEP_NOINLINE void write_words(uint64_t *at, const uint64_t *end) {
    for (; end - at >= 4; at += 4) {
        at[0] = at[1] = at[2] = at[3] = 0;
        __asm__("" : "+r"(at));
    }
    for (; at < end; at++) {
        *at = 0;
        __asm__("" : "+r"(at));
    }
}

// Only a line that is not zero is written: a page that was not touched stays the kernel's page of zeros. Used
// memory has zeros here and there, so a branch for each word would be mispredicted.
static SEEP_NOINLINE void wipe_lines(uint64_t *at, uint64_t *end) {
    uint64_t *line = (uint64_t *)(((uintptr_t)at + 63) & ~(uintptr_t)63);
    write_words(at, line);
    for (at = line; at + LINE_WORDS <= end; at += LINE_WORDS) {
        if (!(at[0] | at[1] | at[2] | at[3] | at[4] | at[5] | at[6] | at[7]))
            continue;
        at[0] = at[1] = at[2] = at[3] = 0;
        at[4] = at[5] = at[6] = at[7] = 0;
    }
    write_words(at, end);
}

static SEEP_NOINLINE void wipe_present(uint64_t from, uint64_t end) {
    unsigned char present[64];
    while (from < end && end - from >= ASKED_BYTES && !seep_confined.filtered) {
        uint64_t page = from & ~(sys_page_bytes() - 1);
        uint64_t nr_pages = SEEP_MIN((end - 1 - page) / sys_page_bytes() + 1, sizeof(present));
        if (sys3(SYS_mincore, page, nr_pages * sys_page_bytes(), present) != 0)
            return;
        for (uint64_t i = 0; i < nr_pages && from < end; i++) {
            uint64_t next = SEEP_MIN(page + (i + 1) * sys_page_bytes(), end);
            if (present[i] & 1)
                wipe_lines((uint64_t *)(uintptr_t)from, (uint64_t *)(uintptr_t)next);
            from = next;
        }
    }
    if (from < end)
        wipe_lines((uint64_t *)(uintptr_t)from, (uint64_t *)(uintptr_t)end);
}

// Whole words only: what is left is no pointer. An address that is odd has none that a scan looks at.
static SEEP_NOINLINE void *wipe(void *block, uint64_t from, uint64_t size) {
    uint64_t start = (uintptr_t)block + from, end = ((uintptr_t)block + size) & ~UINT64_C(7);
    if (SEEP_UNLIKELY(!block || start & 7 || start >= end))
        return block;
    if (SEEP_LIKELY(end - start <= WRITTEN_BYTES))
        write_words((uint64_t *)(uintptr_t)start, (uint64_t *)(uintptr_t)end);
    else if (end - start < ASKED_BYTES || seep_confined.filtered)
        wipe_lines((uint64_t *)(uintptr_t)start, (uint64_t *)(uintptr_t)end);
    else
        wipe_present(start, end);
    return block;
}

static void *wiping_malloc(size_t size) {
    return wipe(wipe_g.real.malloc(size), 0, size);
}

// How much of a block is the program's: what it asked for, and where it knows the room, that. 0: not known.
static uint64_t bytes_of(void *block) {
    const struct seep_image_thread *slot = seep_self()->slot;
    uint64_t bytes = 0;
    if (slot) {
        bytes = slot->moving_bytes;
        atomic_signal_fence(memory_order_seq_cst); // a handler's realloc leaves moving_rt 0
        if (slot->moving_rt != (uintptr_t)block)
            bytes = 0;
    }
    if (bytes && !wipe_g.room_is_known)
        return bytes;
    return wipe_g.real.usable_size ? SEEP_MAX(bytes, wipe_g.real.usable_size(block)) : 0;
}

// What the program wrote stays.
static void *wiping_realloc(void *block, size_t size) {
    uint64_t kept = block ? bytes_of(block) : 0;
    void *fresh = wipe_g.real.realloc(block, size);
    return block && !kept ? fresh : wipe(fresh, (kept + 7) & ~UINT64_C(7), size);
}

static int wiping_posix_memalign(void **ret_block, size_t alignment, size_t size) {
    int result = wipe_g.real.posix_memalign(ret_block, alignment, size);
    if (result == 0)
        wipe(*ret_block, 0, size);
    return result;
}

static void *wiping_aligned_alloc(size_t alignment, size_t size) {
    return wipe(wipe_g.real.aligned_alloc(alignment, size), 0, size);
}

static void *wiping_memalign(size_t alignment, size_t size) {
    return wipe(wipe_g.real.memalign(alignment, size), 0, size);
}

static void *wiping_valloc(size_t size) {
    return wipe(wipe_g.real.valloc(size), 0, size);
}

// Rounds up, past the end of all numbers to 0 in tcmalloc.
static void *wiping_pvalloc(size_t size) {
    return wipe(wipe_g.real.pvalloc(size), 0, size <= PTRDIFF_MAX ? size : 0);
}

void seep_wipe_start(void) {
    wipe_g.real = seep_g.real;
    // What the allocator does not have stays the boot allocator's, which knows itself by its address.
#define EXCHANGE(member)                                                                                     \
    seep_g.real.member = seep_g.real.member == seep_boot_##member ? seep_boot_##member : wiping_##member
    EXCHANGE(malloc);
    EXCHANGE(realloc);
    EXCHANGE(posix_memalign);
    EXCHANGE(aligned_alloc);
    EXCHANGE(memalign);
    EXCHANGE(valloc);
    EXCHANGE(pvalloc);
#undef EXCHANGE
}

void seep_wipe_room_is_known(void) {
    wipe_g.room_is_known = true;
}

void *(*seep_wipe_real_malloc(void))(size_t) {
    return wipe_g.real.malloc ? wipe_g.real.malloc : seep_g.real.malloc;
}
