// SPDX-License-Identifier: BSD-2-Clause
//
// Memory is wiped when it is handed out, so that a scan takes no word of a former block for a pointer of the
// new one. The real functions are exchanged for ones that call them and wipe, so the hooks run no instruction
// for it where nothing is wiped.
//
// A fresh block is wiped up to its usable size. So realloc need wipe only what the block gains, and what the
// program wrote stays. The size that was asked for does not suffice: no hook knows it where the memory came
// by a call that is not seen.
#include "preload/wipe.h"

#include <stdatomic.h>
#include <string.h>

#include "preload/boot_allocator.h"
#include "preload/proc_maps.h"
#include "preload/settings.h"
#include "preload/sys.h"

static struct seep_real inner;

// So large a block is asked for page by page: what the kernel has not given yet is zero, and stays so. Such a
// question is a call that the program need not make: before it the library looks for filters.
#define ASKED_BYTES (UINT64_C(256) << 10)

// A larger block that cannot be asked for keeps its words: reading it would take a page fault for each page.
#define UNASKED_BYTES (UINT64_C(32) << 20)

// Of a smaller block the program writes most, so each word is written; of a larger one only what is not zero.
#define WRITTEN_BYTES 512u

#define LINE_WORDS 8u // of one page: 64 bytes that begin at a multiple

// gcc must not make a call of memset of it.
SEEP_INLINE void write_words(uint64_t *at, const uint64_t *end) {
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

static SEEP_COLD void wipe_present(uint64_t from, uint64_t end) {
    unsigned char present[512];
    while (from < end) {
        uint64_t page = from & ~(sys_page_bytes() - 1);
        uint64_t nr_pages = SEEP_MIN((end - 1 - page) / sys_page_bytes() + 1, sizeof(present));
        if (sys3(SYS_mincore, page, nr_pages * sys_page_bytes(), present) != 0)
            break;
        for (uint64_t i = 0; i < nr_pages && from < end; i++) {
            uint64_t next = SEEP_MIN(page + (i + 1) * sys_page_bytes(), end);
            if (present[i] & 1)
                wipe_lines((uint64_t *)(uintptr_t)from, (uint64_t *)(uintptr_t)next);
            from = next;
        }
    }
    if (from < end && end - from <= UNASKED_BYTES)
        wipe_lines((uint64_t *)(uintptr_t)from, (uint64_t *)(uintptr_t)end);
}

// Whole words only: what is left is no pointer. An address that is odd has none that a scan looks at.
static SEEP_NOINLINE void wipe(void *block, uint64_t from, uint64_t size) {
    uint64_t start = (uintptr_t)block + from, end = ((uintptr_t)block + size) & ~UINT64_C(7);
    if (SEEP_UNLIKELY(start & 7 || start >= end))
        return;
    if (SEEP_LIKELY(end - start <= WRITTEN_BYTES))
        write_words((uint64_t *)(uintptr_t)start, (uint64_t *)(uintptr_t)end);
    else if (end - start >= ASKED_BYTES && seep_calls_are_free())
        wipe_present(start, end);
    else if (end - start <= UNASKED_BYTES)
        wipe_lines((uint64_t *)(uintptr_t)start, (uint64_t *)(uintptr_t)end);
}

// Where the allocator does not tell how far its blocks go, the program has what it asked for.
static uint64_t usable_bytes(void *block, uint64_t size) {
    return inner.usable_size ? inner.usable_size(block) : size;
}

static bool is_glibc; // the heads of its blocks may be read

// The word before a block has the block's size, including that word. The word's lower three bits are flags.
// Flag 2: the block has a mapping of its own, and one more word. On other CPUs memory may be tagged. Source:
// glibc, malloc/malloc.c (musable, memsize).
SEEP_INLINE uint64_t head_of(const void *block) {
    return ((const uint64_t *)block)[-1];
}

// Such a block holds no old data: the kernel has zeroed it, and also the pages that realloc adds. Source:
// glibc, malloc/malloc.c, where calloc does not clear such blocks.
static bool has_own_mapping(const void *block) {
    return is_glibc && head_of(block) & 2;
}

static SEEP_NOINLINE void *wipe_fresh(void *block, uint64_t size) {
    if (SEEP_LIKELY(block != NULL) && !has_own_mapping(block))
        wipe(block, 0, usable_bytes(block, size));
    return block;
}

#ifdef __x86_64__
// The result of glibc's malloc_usable_size, without the call.
SEEP_INLINE uint64_t usable_in_glibc(const void *block) {
    uint64_t head = head_of(block);
    return (head & ~UINT64_C(7)) - (head & 2 ? 16 : 8);
}

static void *wiping_malloc_of_glibc(size_t size) {
    uint64_t *block = inner.malloc(size);
    if (SEEP_UNLIKELY(!block))
        return NULL;
    uint64_t usable = usable_in_glibc(block);
    if (SEEP_LIKELY(usable <= WRITTEN_BYTES))
        write_words(block, block + usable / 8);
    else if (!has_own_mapping(block))
        wipe(block, 0, usable);
    return block;
}
#endif

static void *wiping_malloc(size_t size) {
    return wipe_fresh(inner.malloc(size), size);
}

static void *wiping_realloc(void *block, size_t size) {
    uint64_t before = block && inner.usable_size ? inner.usable_size(block) : UINT64_MAX;
    void *fresh = inner.realloc(block, size);
    if (!block)
        return wipe_fresh(fresh, size);
    if (fresh && before < size && !has_own_mapping(fresh))
        wipe(fresh, (before + 7) & ~UINT64_C(7), usable_bytes(fresh, size));
    return fresh;
}

static int wiping_posix_memalign(void **ret_block, size_t alignment, size_t size) {
    int result = inner.posix_memalign(ret_block, alignment, size);
    if (result == 0)
        wipe_fresh(*ret_block, size);
    return result;
}

static void *wiping_aligned_alloc(size_t alignment, size_t size) {
    return wipe_fresh(inner.aligned_alloc(alignment, size), size);
}

static void *wiping_memalign(size_t alignment, size_t size) {
    return wipe_fresh(inner.memalign(alignment, size), size);
}

static void *wiping_valloc(size_t size) {
    return wipe_fresh(inner.valloc(size), size);
}

// Rounds up, past the end of all numbers to 0 in tcmalloc: only the allocator knows what the program has.
static void *wiping_pvalloc(size_t size) {
    return wipe_fresh(inner.pvalloc(size), 0);
}

// Another allocator's function knows nothing of these blocks.
static bool is_same_module(const void *function, const void *other) {
    const struct seep_maps_module *module = seep_maps_module((uintptr_t)function);
    return module && (uintptr_t)other - module->start < module->end - module->start;
}

#ifdef __x86_64__
// Whether glibc fills memory when it is freed, because the user looks for uses of it. Source: mallopt(3), and
// the tunables of glibc.
static bool is_filled_by_glibc(void) {
    static const char tunable[] = "glibc.malloc.perturb=";
    const size_t length = sizeof(tunable) - 1;
    const char *fill = seep_setting("MALLOC_PERTURB_"), *at = seep_setting("GLIBC_TUNABLES");
    while (at && *at && strncmp(at, tunable, length) != 0)
        at++;
    return (fill && *fill && *fill != '0') || (at && *at && at[length] != '0');
}
#endif

SEEP_COLD void seep_wipe_start(void) {
    inner = seep_g.real;
    if (!is_same_module(seep_g.found_malloc, (const void *)inner.usable_size))
        inner.usable_size = NULL;
#ifdef __x86_64__
    // glibc, of 2.35 or later: before 2.34, MALLOC_CHECK_ lets it keep a byte of its own behind each block.
    is_glibc = inner.usable_size && seep_g.sub_mask && seep_g.find_object;
    if (is_glibc && is_filled_by_glibc())
        return;
    if (is_glibc)
        SEEP_EXCHANGE_REAL(malloc, wiping_malloc_of_glibc);
    else
#endif
        SEEP_EXCHANGE_REAL(malloc, wiping_malloc);
    SEEP_EXCHANGE_REAL(realloc, wiping_realloc);
    SEEP_EXCHANGE_REAL(posix_memalign, wiping_posix_memalign);
    SEEP_EXCHANGE_REAL(aligned_alloc, wiping_aligned_alloc);
    SEEP_EXCHANGE_REAL(memalign, wiping_memalign);
    SEEP_EXCHANGE_REAL(valloc, wiping_valloc);
    SEEP_EXCHANGE_REAL(pvalloc, wiping_pvalloc);
}
