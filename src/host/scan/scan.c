// SPDX-License-Identifier: BSD-2-Clause
// Stop, read, resume, mark, describe: see scan.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/clock.h"
#include "base/large.h"
#include "base/map.h"
#include "base/map_line.h"
#include "base/numbers.h"
#include "process/process_map.h"
#include "profile/verdict.h"
#include "source/image/image_copy.h"
#include "source/image/profile_image.h"
#include "source/image/unseen_allocators.h"
#include "scan/core_file.h"
#include "scan/holders.h"
#include "scan/scan.h"
#include "scan/process_copy.h"
#include "scan/vtable.h"

struct seep_scan {
    struct seep_scan_target target;
    struct seep_scan_options options;
    struct seep_stopped *stopped;
    struct seep_memory *memory;
    struct seep_profile *profile;
    struct seep_graph *graph;
    struct seep_block
        *longer_blocks; // those of the profile for the graph, empty arrays with what is behind; or NULL
    struct seep_root_ranges ranges;
    struct seep_kept_stacks kept;
    struct seep_kernel_kept kernel;
    struct seep_map vtables; // words that were asked about: 1 no, 2 yes
    struct seep_freed freed; // see seep_scan_state
    uint32_t block;          // that is being fed
    int64_t pause_ns;
    uint32_t nr_threads;
    bool one_woke; // a thread left asleep that ran while memory was read
};

static bool is_vtable(void *data, uint64_t word) {
    struct seep_scan *scan = data;
    if (!seep_vtable_may_be(scan->memory, word))
        return false;
    uint64_t *known = seep_map_at(&scan->vtables, word, NULL);
    if (known && *known)
        return *known == 2;
    bool is = seep_vtable_is(scan->memory, word);
    if (known)
        *known = is ? 2 : 1;
    return is;
}

// Words [from, to) of block scan->block, but those of idle signal stacks.
static bool feed_words(struct seep_scan *scan, uint64_t from, uint64_t to, const char *bytes) {
    const struct seep_spans *idle = &scan->ranges.idle;
    const uint64_t start = from, block = scan->graph->blocks[scan->block].address;
    for (size_t i = seep_spans_from(idle, from); from < to; i++) {
        const bool is_more = i < idle->nr_items;
        const uint64_t end = is_more ? SEEP_MIN(idle->items[i].start, to) : to;
        if (from < end && !seep_graph_feed_block(scan->graph, scan->block, from - block,
                                                 bytes + (from - start), (size_t)(end - from)))
            return false;
        from = is_more ? SEEP_MAX(from, seep_word_up(scan->memory, idle->items[i].end)) : to;
    }
    return true;
}

// A piece of the memory from block scan->block on: what lies in blocks is fed.
static bool take_piece(void *data, uint64_t address, const void *bytes, size_t nr_bytes) {
    struct seep_scan *scan = data;
    const struct seep_graph *graph = scan->graph;
    uint64_t end = address + nr_bytes;
    while (scan->block < graph->nr_blocks && graph->blocks[scan->block].address < end) {
        const struct seep_block *block = &graph->blocks[scan->block];
        uint64_t block_end = block->address + block->size;
        uint64_t from = SEEP_MAX(block->address, address), to = SEEP_MIN(block_end, end);
        // Blocks at odd addresses (boundaries of 8 are the rule): from the first whole word on.
        from = seep_word_up(scan->memory, from);
        if (from < to && !feed_words(scan, from, to, (const char *)bytes + (from - address)))
            return false;
        if (block_end > end)
            return true;
        scan->block++;
    }
    return true;
}

// Blocks are read together with the small gaps between them.
static bool feed_blocks(struct seep_scan *scan) {
    const struct seep_graph *graph = scan->graph;
    for (uint32_t first = 0; first < graph->nr_blocks;) {
        uint64_t start = graph->blocks[first].address & ~UINT64_C(7);
        uint64_t end = start;
        uint32_t next = first;
        for (; next < graph->nr_blocks; next++) {
            const struct seep_block *block = &graph->blocks[next];
            if (next > first && (block->address > end + 512 || end - start > (64u << 20)))
                break;
            uint64_t block_end;
            if (__builtin_add_overflow(block->address, block->size, &block_end))
                block_end = block->address; // absurd: nothing of it is read
            end = SEEP_MAX(end, block_end);
        }
        scan->block = first;
        if (!seep_memory_walk(scan->memory, start, end, take_piece, scan))
            return false;
        first = next;
    }
    return true;
}

static struct seep_error *copy_image(const struct seep_scan *scan, struct seep_image_copy **ret_copy) {
    char name[64];
    snprintf(name, sizeof(name), "image of process %d", (int)scan->target.pid);
    return scan->target.image_fd < 0 ? seep_image_copy_from_pid(scan->target.pid, 0, ret_copy)
                                     : seep_image_copy_from_fd(scan->target.image_fd, name, ret_copy);
}

static struct seep_error *make_profile(struct seep_scan *scan, struct seep_image_copy *copy) {
    struct seep_error *err = seep_profile_from_image(copy, &scan->profile);
    if (!err) {
        scan->profile->process.pid = (uint32_t)scan->target.pid;
        scan->profile->process.is_main = true;
        seep_image_find_freed(copy, scan->profile, scan->options.asked_rt, &scan->freed);
    }
    return err;
}

// new T[0] of a class with a destructor is the number of its elements, and the program has the address just
// behind.
static bool is_empty_array(const struct seep_profile *profile, size_t i) {
    const struct seep_block *block = &profile->blocks[i];
    bool free_behind = i + 1 == profile->nr_blocks ||
                       profile->blocks[i + 1].address > block->address + profile->process.platform.word_bytes;
    return block->size == profile->process.platform.word_bytes &&
           profile->sites[block->site].via == SEEP_VIA_NEW_ARRAY && free_behind;
}

// An allocator of slices aligns a slab to its size, and clears the low bits of an address in the slab to find
// the start. A slab fills its unit except for what malloc itself needs. A smaller block is aligned for
// another reason, or by chance.
static bool is_slab(const struct seep_profile *profile, size_t i) {
    enum { LEAST = 65 }; // smaller ones are objects on lines of a cache
    const struct seep_block *block = &profile->blocks[i];
    uint8_t via = profile->sites[block->site].via;
    bool aligned = via == SEEP_VIA_POSIX_MEMALIGN || via == SEEP_VIA_ALIGNED_ALLOC ||
                   via == SEEP_VIA_MEMALIGN || via == SEEP_VIA_VALLOC || via == SEEP_VIA_PVALLOC;
    if (!aligned || block->size < LEAST || block->size > UINT32_MAX)
        return false;
    uint64_t unit = UINT64_C(1) << (64 - __builtin_clzll(block->size - 1));
    return block->address % unit == 0 && unit - block->size <= unit / 8;
}

static struct seep_error *make_graph(struct seep_scan *scan) {
    const struct seep_profile *profile = scan->profile;
    const struct seep_block *blocks = profile->blocks;
    size_t first = 0;
    while (first < profile->nr_blocks && !is_empty_array(profile, first))
        first++;
    if (first < profile->nr_blocks) {
        scan->longer_blocks = seep_large_alloc(profile->nr_blocks, sizeof(*blocks));
        if (!scan->longer_blocks)
            return seep_error_no_memory();
        memcpy(scan->longer_blocks, blocks, profile->nr_blocks * sizeof(*blocks));
        for (size_t i = first; i < profile->nr_blocks; i++)
            scan->longer_blocks[i].size += is_empty_array(profile, i);
        blocks = scan->longer_blocks;
    }
    struct seep_error *err = seep_graph_create(blocks, profile->nr_blocks, &scan->graph);
    for (size_t i = first; !err && i < profile->nr_blocks; i++)
        if (is_empty_array(profile, i))
            seep_graph_may_be_empty_array(scan->graph, (uint32_t)i);
    for (size_t i = 0; !err && i < profile->nr_blocks; i++)
        if (is_slab(profile, i))
            seep_graph_is_slab(scan->graph, (uint32_t)i);
    return err;
}

// Under an emulator registers, stacks and globals of the program are not where the kernel says.
static struct seep_error *check_platform(const struct seep_scan *scan) {
    const struct seep_platform *platform = &scan->profile->process.platform, here = seep_platform_here();
    bool runs_here = platform->machine == here.machine || platform->machine == EM_NONE ||
                     (platform->machine == EM_386 && here.machine == EM_X86_64);
    if (runs_here && platform->big_endian == here.big_endian)
        return NULL;
    return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                             "process %d runs under an emulator: its registers and pointers "
                                             "are not those of the machine",
                                             (int)scan->target.pid),
                           "scan it on a machine of its CPU; growth, diff and marks work here too");
}

// Blocks that were allocated while recording was stopped are in no list, and may hold others. An older
// library says so only if it counted one.
static bool was_stopped(const struct seep_profile *profile) {
    return (profile->health.flags & SEEP_FLAG_WAS_STOPPED) || profile->health.lost[SEEP_LOST_STOPPED];
}

// The profile and the threads are there; the memory is opened by then, too.
static struct seep_error *read_memory(struct seep_scan *scan) {
    struct seep_error *unfit = check_platform(scan);
    if (unfit)
        return unfit;
    if (scan->profile->health.sample_bytes)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                 "process %d is traced with --sample: blocks that were not "
                                                 "recorded may hold others",
                                                 (int)scan->target.pid),
                               "trace it without --sample");
    struct seep_error *err = scan->memory ? NULL : seep_memory_open(scan->target.pid, &scan->memory);
    if (!err)
        err = make_graph(scan);
    if (err)
        return err;
    seep_memory_is_still(scan->memory);
    scan->memory->word_bytes = scan->profile->process.platform.word_bytes;
    scan->graph->narrow = scan->memory->word_bytes == 4;
    scan->graph->unaligned = scan->options.unaligned;
    scan->graph->with_own = scan->options.inspect != NULL; // somebody asks for each pointer
    scan->graph->is_vtable = is_vtable;
    scan->graph->is_vtable_data = scan;
    enum seep_roots roots = was_stopped(scan->profile) ? SEEP_ROOTS_HEAP : scan->options.roots;
    err = seep_roots_feed(scan->memory, scan->stopped, scan->profile, &scan->kernel, roots, scan->graph,
                          &scan->ranges);
    if (!err && (!feed_blocks(scan) ||
                 !seep_kept_stacks_take(scan->memory, scan->stopped, scan->options.variables, &scan->kept)))
        err = seep_error_no_memory();
    return err;
}

static struct seep_error *read_profile(struct seep_scan *scan) {
    if (scan->target.profile)
        return scan->target.profile(scan->target.profile_data, &scan->profile);
    struct seep_image_copy *copy = NULL;
    struct seep_error *err = copy_image(scan, &copy);
    if (!err)
        err = make_profile(scan, copy);
    seep_image_copy_destroy(copy);
    return err;
}

static struct seep_error *read_kernel_kept(struct seep_scan *scan) {
    return seep_kernel_kept_read(scan->target.pid, scan->stopped, &scan->kernel) ? NULL
                                                                                 : seep_error_no_memory();
}

static struct seep_error *read_stopped(struct seep_scan *scan) {
    struct seep_error *err = read_profile(scan);
    if (!err)
        err = read_kernel_kept(scan);
    return err ? err : read_memory(scan);
}

// The process waits while its image is copied, which it shares with the copy of itself, and for the fork. The
// copy has no timers.
static struct seep_error *read_copied(struct seep_scan *scan, struct seep_process_copy *copied) {
    struct seep_image_copy *copy = NULL;
    struct seep_error *err = seep_process_copy_stop(copied, &scan->stopped);
    if (!err)
        err = copy_image(scan, &copy);
    if (!err)
        err = read_kernel_kept(scan);
    if (!err)
        err = seep_process_copy_take(copied, &scan->pause_ns);
    if (!err)
        err = make_profile(scan, copy);
    seep_image_copy_destroy(copy);
    if (!err)
        err = seep_memory_open(copied->pid, &scan->memory);
    if (!err)
        err = read_memory(scan);
    int64_t pause_ns;
    seep_process_copy_drop(copied, &pause_ns);
    scan->pause_ns += pause_ns;
    return err;
}

static struct seep_error *look_at_copy(struct seep_scan *scan) {
    struct seep_process_copy copied;
    struct seep_error *err = seep_process_copy_prepare(scan->target.pid, &copied);
    return err ? err : read_copied(scan, &copied);
}

static struct seep_error *look_at_stopped(struct seep_scan *scan) {
    int64_t start = seep_monotonic_ns();
    bool leaving = scan->target.parked_sp_rt != 0;
    struct seep_error *err = leaving ? seep_stop_leaving(scan->target.pid, &scan->stopped)
                                     : seep_stop_process(scan->target.pid, &scan->stopped);
    if (err)
        return err;
    if (leaving)
        seep_stopped_parked(scan->stopped, scan->target.parked_sp_rt);
    err = read_stopped(scan);
    seep_stopped_release(scan->stopped);
    scan->pause_ns = seep_monotonic_ns() - start - scan->stopped->waited_ns;
    if (err || !scan->stopped->was_killed)
        return err;
    return seep_error_hint(
        seep_error_create(SEEP_E_NOT_FOUND, "process %d ended while it was looked at", (int)scan->target.pid),
        "what it held is not known");
}

static struct seep_error *add_notes(struct seep_scan *scan) {
    const struct seep_leaks *leaks = &scan->profile->leaks;
    struct seep_error *err = NULL;
    if (leaks->unread_bytes)
        err = seep_profile_note(
            scan->profile, SEEP_NOTE_SCAN_UNREAD,
            "%s bytes of memory could not be read: what only they point to is shown as lost",
            seep_format_count(leaks->unread_bytes).text);
    if (!err && scan->one_woke)
        err = seep_profile_note(scan->profile, SEEP_NOTE_SCAN_WOKEN,
                                "a thread in a call that a stop would end early ran while memory was read: "
                                "what it moved meanwhile "
                                "may be shown as lost");
    uint64_t nr_cycles = 0;
    if (!err && leaks->blocks[SEEP_KIND_INDIRECT] && !seep_graph_count_cycles(scan->graph, &nr_cycles))
        err = seep_error_no_memory();
    if (!err && nr_cycles)
        err = seep_profile_note(
            scan->profile, SEEP_NOTE_LOST_CYCLES, "%s lost block%s, where counted references never come to 0",
            seep_format_count(nr_cycles).text, nr_cycles == 1 ? " is in a cycle" : "s are in cycles");
    uint64_t nr_headed = 0;
    for (uint32_t i = 0; i < scan->graph->nr_blocks; i++)
        nr_headed += scan->graph->kinds[i] == SEEP_KIND_REACHABLE && seep_header_of(scan->graph, i);
    if (!err && nr_headed)
        err = seep_profile_note(scan->profile, SEEP_NOTE_HEADERS,
                                "%s block%s held by pointers behind a header of their allocator",
                                seep_format_count(nr_headed).text, nr_headed == 1 ? " is" : "s are");
    if (!err && scan->ranges.beside_malloc)
        err = seep_profile_note_beside(scan->profile);
    if (!err && was_stopped(scan->profile))
        err = seep_profile_note(
            scan->profile, SEEP_NOTE_SCAN_STOPPED,
            "recording was stopped for some time: blocks of that time are not listed, so all "
            "pointers in memory of the allocator hold, those in free memory too; some lost "
            "blocks may count as reachable");
    // The counters may be off by the operation that a thread was stopped in: they do not tell.
    const uint64_t *lost = scan->profile->health.lost;
    uint64_t nr_not_kept = lost[SEEP_LOST_NO_LEAF] + lost[SEEP_LOST_ODD_FULL] + lost[SEEP_LOST_REENTERED];
    if (!err && nr_not_kept)
        err =
            seep_profile_note(scan->profile, SEEP_NOTE_SCAN_NOT_KEPT,
                              "up to %s blocks were not kept one by one: what only they point to is shown as "
                              "lost",
                              seep_format_count(nr_not_kept).text);
    return err;
}

// Up the chain of holders to the lost block that it begins with; what was found on the way is kept.
static uint32_t leader_of(const struct seep_graph *graph, uint32_t *leaders, uint32_t block) {
    uint32_t top = block;
    while (graph->kinds[top] == SEEP_KIND_INDIRECT && leaders[top] == SEEP_NO_LEADER) {
        if (graph->held_by_root[top] || graph->holder[top] >= graph->nr_blocks)
            return SEEP_NO_LEADER;
        top = graph->holder[top];
    }
    uint32_t leader = graph->kinds[top] == SEEP_KIND_LOST ? top : leaders[top];
    for (uint32_t at = block; at != top; at = graph->holder[at])
        leaders[at] = leader;
    return leader;
}

// The blocks of the profile are those of the graph.
static struct seep_error *fill_leaders(struct seep_profile *profile, const struct seep_graph *graph) {
    if (!profile->leaks.blocks[SEEP_KIND_INDIRECT])
        return NULL;
    profile->leaders = seep_arena_alloc(&profile->arena, profile->nr_blocks, sizeof(*profile->leaders));
    if (!profile->leaders)
        return seep_error_no_memory();
    memset(profile->leaders, 0xff, profile->nr_blocks * sizeof(*profile->leaders));
    for (uint32_t i = 0; i < graph->nr_blocks; i++)
        if (graph->kinds[i] == SEEP_KIND_INDIRECT)
            leader_of(graph, profile->leaders, i);
    return NULL;
}

static struct seep_error *fill_profile(struct seep_scan *scan) {
    struct seep_profile *profile = scan->profile;
    profile->block_kinds = seep_arena_alloc(&profile->arena, SEEP_MAX(profile->nr_blocks, (size_t)1), 1);
    if (!profile->block_kinds)
        return seep_error_no_memory();
    for (size_t i = 0; i < profile->nr_blocks; i++)
        profile->block_kinds[i] = scan->graph->kinds[i];
    profile->leaks.read_bytes = scan->memory->read_bytes;
    profile->leaks.unread_bytes = scan->memory->unread_bytes;
    seep_profile_derive_leaks(profile);
    struct seep_error *err = fill_leaders(profile, scan->graph);
    return err ? err : add_notes(scan);
}

void seep_scan_destroy(struct seep_scan *scan) {
    if (!scan)
        return;
    seep_root_ranges_deinit(&scan->ranges);
    seep_kept_stacks_deinit(&scan->kept);
    seep_kernel_kept_deinit(&scan->kernel);
    seep_graph_destroy(scan->graph);
    free(scan->longer_blocks);
    seep_memory_close(scan->memory);
    seep_map_deinit(&scan->vtables);
    seep_profile_destroy(scan->profile);
    free(scan);
}

struct seep_error *seep_scan_look(const struct seep_scan_target *target,
                                  const struct seep_scan_options *options, struct seep_scan **ret_scan) {
    struct seep_scan *scan = calloc(1, sizeof(*scan));
    if (!scan)
        return seep_error_no_memory();
    scan->target = *target;
    scan->options = *options;
    struct seep_error *err =
        seep_kernel_kept_find(target->pid, &scan->kernel) ? NULL : seep_error_no_memory();
    if (!err)
        err = options->cow ? look_at_copy(scan) : look_at_stopped(scan);
    scan->nr_threads = scan->stopped ? (uint32_t)scan->stopped->nr_threads : 0;
    scan->one_woke = scan->stopped && scan->stopped->one_woke;
    seep_resume_process(scan->stopped);
    scan->stopped = NULL;
    if (err) {
        seep_scan_destroy(scan);
        return err;
    }
    *ret_scan = scan;
    return NULL;
}

struct seep_error *seep_scan_finish(struct seep_scan *scan, struct seep_profile **ret_profile) {
    scan->profile->leaks.pause_ns = scan->pause_ns;
    scan->profile->leaks.nr_threads = scan->nr_threads;
    scan->graph->profile = scan->profile;
    struct seep_error *err = seep_graph_classify(scan->graph);
    if (!err)
        err = fill_profile(scan);
    if (!err)
        err = seep_chains_add_modules(scan->profile, &scan->ranges);
    struct seep_chains chains = {scan->profile, scan->graph,           &scan->ranges,
                                 &scan->kept,   &scan->profile->arena, scan->options.variables};
    struct seep_scan_state state = {scan->profile, &chains, scan->memory, &scan->freed};
    if (!err && scan->options.inspect)
        err = scan->options.inspect(scan->options.inspect_data, &state);
    else if (!err)
        err = seep_holders_describe(scan->profile, &chains, scan->options.keep_pointers);
    if (err)
        return err;
    *ret_profile = scan->profile;
    scan->profile = NULL;
    return NULL;
}

struct seep_error *seep_scan_code(const struct seep_scan *scan, struct seep_process_map *ret_map) {
    struct seep_process_map map = {NULL};
    struct seep_error *err = NULL;
    for (size_t i = 0; !err && scan->memory && i < scan->memory->nr_mappings; i++) {
        const struct seep_memory_area *area = &scan->memory->mappings[i];
        const struct seep_map_line line = {.start = area->start,
                                           .end = area->end,
                                           .file_off = area->file_off,
                                           .inode = area->inode,
                                           .device_major = major(area->device),
                                           .device_minor = minor(area->device),
                                           .rights = {'r', '-', area->executable ? 'x' : '-', 'p'},
                                           .path = area->path};
        err = seep_process_map_add(&map, &line);
    }
    if (err)
        seep_process_map_deinit(&map);
    else
        *ret_map = map;
    return err;
}

static void forget_leaks(struct seep_profile *profile) {
    profile->leaks = (struct seep_leaks){.known = false};
    profile->block_kinds = NULL;
    profile->leaders = NULL;
    profile->pointers = NULL;
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        profile->sites[i].kind = SEEP_KIND_UNKNOWN;
        profile->sites[i].held = NULL;
        profile->sites[i].retained_bytes = 0;
    }
}

struct seep_error *seep_scan_core(const struct seep_core *core, const struct seep_scan_options *options,
                                  struct seep_profile *profile) {
    struct seep_scan *scan = calloc(1, sizeof(*scan));
    if (!scan)
        return seep_error_no_memory();
    struct seep_stopped stopped = {
        .pid = core->pid, .threads = core->threads, .nr_threads = core->nr_threads};
    struct seep_profile *finished = NULL;
    forget_leaks(profile);
    scan->target = (struct seep_scan_target){.pid = core->pid, .image_fd = -1};
    scan->options = *options;
    scan->stopped = &stopped;
    scan->profile = profile;
    scan->nr_threads = (uint32_t)core->nr_threads;
    struct seep_error *err = seep_memory_open_core(core, &scan->memory);
    if (!err)
        err = read_memory(scan);
    if (!err)
        err = seep_scan_finish(scan, &finished);
    scan->profile = NULL; // it stays the caller's
    seep_scan_destroy(scan);
    return err;
}

struct seep_error *seep_scan_process(pid_t pid, const struct seep_scan_options *options,
                                     struct seep_session **ret_session) {
    struct seep_scan_target target = {.pid = pid, .image_fd = -1};
    struct seep_scan *scan = NULL;
    struct seep_profile *profile = NULL;
    struct seep_error *err = seep_scan_look(&target, options, &scan);
    if (!err)
        err = seep_scan_finish(scan, &profile);
    seep_scan_destroy(scan);
    if (!err)
        err = seep_profile_note_allocators(profile, pid);
    if (err) {
        seep_profile_destroy(profile);
        return err;
    }
    return seep_session_of(profile, ret_session);
}
