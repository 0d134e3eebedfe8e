// SPDX-License-Identifier: BSD-2-Clause
//
// Which page is for what, see account.h. Areas of the kernel are told apart by their name; anonymous
// ones by what the image knows to lie in them: seep's own memory, the program's mappings, live blocks,
// stacks. Without a block, an anonymous area that follows a file's is that file's data.
//
// The allocator's share is what heap areas have in memory beyond blocks. Of it, rounding is estimated
// for glibc by the size of its chunks (Source: malloc.c, request2size: (n + 8 + 15) & ~15, at least 32).
#include <string.h>

#include "process/resident.h"
#include "analysis/account.h"

struct taking {
    struct seep_resident *resident;
    const struct seep_profile *profile;
    struct seep_account account;
    size_t next_block; // areas come by address, and so do blocks and mappings
    uint32_t next_mapping;
};

struct heap {
    uint64_t blocks; // bytes of live blocks that are in memory
    uint64_t rounding;
    size_t nr_blocks;
};

// With the word before the block, and in steps of two words, or of 16 bytes.
static uint64_t chunk_bytes(uint64_t size, uint64_t word_bytes) {
    return size > UINT64_MAX - 32 ? size : SEEP_MAX((size + word_bytes + 15) & ~UINT64_C(15), 4 * word_bytes);
}

// The blocks that begin in [start, end), a range above all that were asked for before.
static struct heap blocks_in(struct taking *taking, uint64_t start, uint64_t end) {
    const struct seep_profile *profile = taking->profile;
    struct heap heap = {0};
    while (taking->next_block < profile->nr_blocks && profile->blocks[taking->next_block].address < start)
        taking->next_block++;
    for (; taking->next_block < profile->nr_blocks; taking->next_block++) {
        const struct seep_block *block = &profile->blocks[taking->next_block];
        if (block->address >= end)
            break;
        uint64_t last = SEEP_MIN(end - block->address, block->size) + block->address;
        uint64_t there = seep_resident_bytes(taking->resident, block->address, last);
        heap.nr_blocks++;
        heap.blocks += there;
        taking->account.untouched_bytes += last - block->address - there;
        if (profile->hints.is_glibc) {
            uint64_t word = profile->process.platform.word_bytes == 4 ? 4 : 8;
            uint64_t chunk = SEEP_MIN(chunk_bytes(block->size, word), end - block->address + word);
            uint64_t whole =
                seep_resident_bytes(taking->resident, block->address - word, block->address - word + chunk);
            heap.rounding += whole > there ? whole - there : 0;
        }
    }
    return heap;
}

static uint64_t take_from(uint64_t *left, uint64_t bytes) {
    uint64_t taken = SEEP_MIN(*left, bytes);
    *left -= taken;
    return taken;
}

// `left` bytes of a range that blocks lie in.
static void add_heap(struct taking *taking, const struct heap *heap, uint64_t left) {
    uint64_t *bytes = taking->account.bytes;
    bytes[SEEP_ACCOUNT_BLOCKS] += take_from(&left, heap->blocks);
    bytes[SEEP_ACCOUNT_ROUNDING] += take_from(&left, heap->rounding);
    bytes[SEEP_ACCOUNT_FREE] += left;
}

static uint64_t own_in(struct taking *taking, const struct seep_memory_area *area) {
    const struct seep_hints *hints = &taking->profile->hints;
    uint64_t sum = 0;
    for (size_t i = 0; i < hints->nr_own; i++) {
        uint64_t start = SEEP_MAX(hints->own[i].start, area->start);
        uint64_t end = SEEP_MIN(hints->own[i].start + hints->own[i].bytes, area->end);
        sum += seep_resident_bytes(taking->resident, start, end);
    }
    return sum;
}

// Goes through the area's mappings by the program and the gaps between them. A mapping with blocks in
// it is an allocator's. Returns the bytes of `left` that lie in gaps, and the blocks there.
static uint64_t add_mappings(struct taking *taking, const struct seep_memory_area *area, uint64_t left,
                             struct heap *ret_gaps) {
    const struct seep_profile *profile = taking->profile;
    struct heap gaps = {0};
    uint64_t at = area->start;
    while (taking->next_mapping < profile->nr_mappings &&
           profile->mappings[taking->next_mapping].start + profile->mappings[taking->next_mapping].bytes <=
               at)
        taking->next_mapping++;
    for (uint32_t i = taking->next_mapping; i <= profile->nr_mappings; i++) {
        bool is_last = i == profile->nr_mappings;
        uint64_t start = is_last ? area->end : SEEP_MAX(profile->mappings[i].start, at);
        uint64_t end = is_last ? area->end
                               : SEEP_MIN(profile->mappings[i].start + profile->mappings[i].bytes, area->end);
        if (!is_last && start >= area->end) {
            i = profile->nr_mappings - 1; // the rest lies further on
            continue;
        }
        if (!is_last && end <= start)
            continue;
        struct heap before = blocks_in(taking, at, start);
        gaps.blocks += before.blocks;
        gaps.rounding += before.rounding;
        gaps.nr_blocks += before.nr_blocks;
        at = end;
        if (is_last)
            break;
        struct heap inside = blocks_in(taking, start, end);
        uint64_t there = take_from(&left, seep_resident_bytes(taking->resident, start, end));
        if (inside.nr_blocks)
            add_heap(taking, &inside, there);
        else
            taking->account.bytes[SEEP_ACCOUNT_MAPPINGS] += there;
    }
    *ret_gaps = gaps;
    return left;
}

static bool has_stack(const struct taking *taking, const struct seep_memory_area *area) {
    const struct seep_hints *hints = &taking->profile->hints;
    for (size_t i = 0; i < hints->nr_stacks; i++)
        if (hints->stacks[i] - area->start < area->end - area->start)
            return true;
    return strncmp(area->name, "[stack", 6) == 0;
}

static bool is_anonymous(const struct seep_memory_area *area) {
    return !*area->name || strcmp(area->name, "[heap]") == 0 || strncmp(area->name, "[anon", 5) == 0;
}

static void add_area(struct taking *taking, const struct seep_memory_area *area,
                     const struct seep_memory_area *before) {
    uint64_t *bytes = taking->account.bytes;
    taking->account.rss_bytes += area->rss_bytes;
    taking->account.pss_bytes += area->pss_bytes;
    taking->account.swap_bytes += area->swap_bytes;
    uint64_t left = area->rss_bytes;
    if (strncmp(area->name, "/memfd:seep-image", 17) == 0) {
        bytes[SEEP_ACCOUNT_IMAGE] += left;
        return;
    }
    if (is_anonymous(area))
        bytes[SEEP_ACCOUNT_OWN] += take_from(&left, own_in(taking, area));
    struct heap gaps;
    left = add_mappings(taking, area, left, &gaps);
    if (strcmp(area->name, "[heap]") == 0 || (gaps.nr_blocks && is_anonymous(area)))
        add_heap(taking, &gaps, left);
    else if (has_stack(taking, area))
        bytes[SEEP_ACCOUNT_STACKS] += left;
    else if (!is_anonymous(area) || (before && before->end == area->start && *before->name == '/' &&
                                     strncmp(before->name, "/memfd:", 7) != 0))
        bytes[SEEP_ACCOUNT_FILES] += left;
    else
        bytes[SEEP_ACCOUNT_UNEXPLAINED] += left;
}

struct seep_error *seep_account_take(struct seep_profile *profile, pid_t pid) {
    struct taking taking = {.profile = profile};
    struct seep_error *error = seep_resident_open(pid, &taking.resident);
    if (error)
        return error;
    for (size_t i = 0; i < taking.resident->nr_areas; i++)
        add_area(&taking, &taking.resident->areas[i], i ? &taking.resident->areas[i - 1] : NULL);
    if (profile->health.sample_bytes) { // the blocks that are known are not all: their sum is estimated
        uint64_t *bytes = taking.account.bytes;
        uint64_t heap = bytes[SEEP_ACCOUNT_BLOCKS] + bytes[SEEP_ACCOUNT_ROUNDING] + bytes[SEEP_ACCOUNT_FREE];
        bytes[SEEP_ACCOUNT_BLOCKS] = take_from(&heap, profile->totals.live_bytes);
        bytes[SEEP_ACCOUNT_ROUNDING] = 0;
        bytes[SEEP_ACCOUNT_FREE] = heap;
        taking.account.untouched_bytes = 0;
    }
    taking.account.known = true;
    taking.account.by_page = taking.resident->pagemap_fd >= 0;
    profile->account = taking.account;
    seep_resident_close(taking.resident);
    return NULL;
}

static const struct {
    const char *name;
    const char *words;
} rows[SEEP_ACCOUNT_NR] = {
    [SEEP_ACCOUNT_BLOCKS] = {"live_blocks", "live blocks, as they were asked for"},
    [SEEP_ACCOUNT_ROUNDING] = {"rounding", "  rounding and headers (estimate)"},
    [SEEP_ACCOUNT_FREE] = {"allocator_free", "  free, held by the allocator"},
    [SEEP_ACCOUNT_MAPPINGS] = {"mappings", "mapped by the program itself"},
    [SEEP_ACCOUNT_STACKS] = {"stacks", "stacks"},
    [SEEP_ACCOUNT_FILES] = {"files", "program, libraries, other files"},
    [SEEP_ACCOUNT_IMAGE] = {"seep_image", "seep's image"},
    [SEEP_ACCOUNT_OWN] = {"seep_private", "seep's private memory"},
    [SEEP_ACCOUNT_UNEXPLAINED] = {"unexplained", "not explained"},
};

const char *seep_account_name(uint32_t row) {
    return row < SEEP_ACCOUNT_NR ? rows[row].name : "unknown";
}

const char *seep_account_words(uint32_t row) {
    return row < SEEP_ACCOUNT_NR ? rows[row].words : "unknown";
}
