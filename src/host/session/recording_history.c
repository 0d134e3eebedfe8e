// SPDX-License-Identifier: BSD-2-Clause
// One walk through the events of a recording, see recording_history.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "file/event_file.h"
#include "growth/snapshots.h"
#include "session/recording_history.h"
#include "session/rebuilt_heap.h"

enum { PAGE_SHIFT = 12, REGION_SHIFT = 21, NEARLY_EMPTY_PART = 10 };

// A block on its way through realloc.
struct moving {
    struct seep_rebuilt_block block; // address 0: none
};

struct process {
    struct seep_profile *profile;
    struct seep_history *history;
    struct seep_rebuilt_heap heap;
    struct moving *moving; // by slot
    size_t nr_slots;
    size_t slots_capacity;
    size_t bin; // at work
    int64_t bin_end_ns;
    uint32_t *touched; // sites that changed in it
    size_t nr_touched;
    size_t touched_capacity;
    uint32_t *touched_bin; // by site: the last bin in which it changed, + 1
    int64_t *most_bytes;   // by site: the highest that it had in that bin
    size_t changes_capacity;
    struct seep_map resizes; // first << 32 | site to index + 1
    size_t resizes_capacity;
    struct seep_map handovers;
    size_t handovers_capacity;
    struct seep_map pages, regions; // number to live bytes in it
    uint64_t nr_pages, nr_regions;
    uint64_t most_idle;
    bool wants_pages;
};

struct walk {
    const struct seep_session *session;
    struct process *processes; // by profile
    const struct seep_history_options *options;
    size_t *stop_at; // by process, of the second pass: the bin at whose end it stops
};

static void process_deinit(struct process *process) {
    seep_rebuilt_heap_deinit(&process->heap);
    free(process->moving);
    free(process->touched);
    free(process->touched_bin);
    free(process->most_bytes);
    seep_map_deinit(&process->resizes);
    seep_map_deinit(&process->handovers);
    seep_map_deinit(&process->pages);
    seep_map_deinit(&process->regions);
}

// ---- pages -------------------------------------------------------------------------------------------

static bool add_to_unit(struct seep_map *units, uint64_t *nr_units, uint64_t unit, int64_t bytes) {
    uint64_t *live = seep_map_at(units, unit, NULL);
    if (!live)
        return false;
    bool was = *live;
    *live = (uint64_t)((int64_t)*live + bytes) <= INT64_MAX ? *live + (uint64_t)bytes : 0;
    *nr_units += !was && *live;
    *nr_units -= was && !*live;
    return true;
}

// A block of several units fills those between its first and last alone.
static bool add_range(struct seep_map *units, uint64_t *nr_units, unsigned shift, uint64_t address,
                      uint64_t size, int sign) {
    uint64_t end = address + SEEP_MAX(size, UINT64_C(1)) - 1;
    uint64_t first = address >> shift, last = end >> shift;
    if (first == last)
        return add_to_unit(units, nr_units, first, sign * (int64_t)SEEP_MAX(size, UINT64_C(1)));
    uint64_t unit = UINT64_C(1) << shift;
    *nr_units += (uint64_t)((int64_t)(last - first - 1) * sign);
    return add_to_unit(units, nr_units, first, sign * (int64_t)(unit - (address & (unit - 1)))) &&
           add_to_unit(units, nr_units, last, sign * (int64_t)((end & (unit - 1)) + 1));
}

static bool add_pages(struct process *process, uint64_t address, uint64_t size, int sign) {
    if (!process->wants_pages || size > INT64_MAX / 2 || address + size < address)
        return true;
    return add_range(&process->pages, &process->nr_pages, PAGE_SHIFT, address, size, sign) &&
           add_range(&process->regions, &process->nr_regions, REGION_SHIFT, address, size, sign);
}

// ---- bins --------------------------------------------------------------------------------------------

static int by_site(const void *left, const void *right) {
    const struct seep_history_change *a = left, *b = right;
    return a->bin != b->bin ? (a->bin > b->bin) - (a->bin < b->bin)
                            : (a->site > b->site) - (a->site < b->site);
}

static bool close_bin(struct process *process) {
    struct seep_history *history = process->history;
    struct seep_history_bin *bin = &history->bins[process->bin];
    bin->until_ns = (int64_t)(process->bin + 1) * history->bin_ns;
    bin->live_blocks = (int64_t)process->heap.nr_blocks;
    bin->live_bytes = process->heap.live_bytes;
    bin->pages = process->nr_pages;
    bin->regions = process->nr_regions;
    uint64_t held = process->nr_pages << PAGE_SHIFT;
    uint64_t idle =
        held > (uint64_t)SEEP_MAX(bin->live_bytes, INT64_C(0)) ? held - (uint64_t)bin->live_bytes : 0;
    if (process->wants_pages && idle > process->most_idle) {
        process->most_idle = idle;
        history->pages_bin = process->bin;
    }
    if (!seep_grow(&history->changes, &process->changes_capacity, history->nr_changes + process->nr_touched,
                   sizeof(*history->changes)))
        return false;
    size_t first = history->nr_changes;
    for (size_t i = 0; i < process->nr_touched; i++) {
        const struct seep_counters *site = &process->heap.sites[process->touched[i]];
        history->changes[history->nr_changes++] =
            (struct seep_history_change){.bin = (uint32_t)process->bin,
                                         .site = process->touched[i],
                                         .live_blocks = (int64_t)(site->allocations - site->frees),
                                         .live_bytes = (int64_t)(site->allocated_bytes - site->freed_bytes),
                                         .most_bytes = process->most_bytes[process->touched[i]]};
    }
    if (process->nr_touched)
        qsort(history->changes + first, process->nr_touched, sizeof(*history->changes), by_site);
    process->nr_touched = 0;
    return true;
}

// false: out of memory.
static bool go_to(struct process *process, int64_t at_ns) {
    struct seep_history *history = process->history;
    if (SEEP_LIKELY(at_ns < process->bin_end_ns))
        return true;
    size_t bin = SEEP_MIN((size_t)(at_ns / history->bin_ns), history->nr_bins - 1);
    while (process->bin < bin) {
        if (!close_bin(process))
            return false;
        process->bin++;
        history->bins[process->bin].most_bytes = process->heap.live_bytes;
    }
    bool is_last = process->bin + 1 == history->nr_bins;
    process->bin_end_ns = is_last ? INT64_MAX : (int64_t)(process->bin + 1) * history->bin_ns;
    return true;
}

static int64_t live_bytes_of(const struct process *process, uint32_t site) {
    const struct seep_counters *counters = &process->heap.sites[site];
    return (int64_t)(counters->allocated_bytes - counters->freed_bytes);
}

static bool touch(struct process *process, uint32_t site) {
    if (process->touched_bin[site] == process->bin + 1)
        return true;
    process->touched_bin[site] = (uint32_t)process->bin + 1;
    process->most_bytes[site] = live_bytes_of(process, site);
    if (!seep_grow(&process->touched, &process->touched_capacity, process->nr_touched + 1,
                   sizeof(*process->touched)))
        return false;
    process->touched[process->nr_touched++] = site;
    return true;
}

// ---- blocks ------------------------------------------------------------------------------------------

static bool note_handover(struct process *process, const struct seep_rebuilt_block *block, uint32_t to) {
    struct seep_history *history = process->history;
    uint64_t *place = seep_map_at(&process->handovers, (uint64_t)block->slot << 32 | to, NULL);
    if (!place || (!*place && !seep_grow(&history->handovers, &process->handovers_capacity,
                                         history->nr_handovers + 1, sizeof(*history->handovers))))
        return false;
    if (!*place) {
        history->handovers[history->nr_handovers++] =
            (struct seep_history_handover){.from = block->slot, .to = to};
        *place = history->nr_handovers;
    }
    history->handovers[*place - 1].blocks++;
    history->handovers[*place - 1].bytes += block->size;
    return true;
}

// By the number of its decimal digits, without branches, which random lifetimes would mispredict.
static unsigned life_of(int64_t ns) {
    static const int64_t powers[] = {1,       10,       100,       1000,       10000,       100000,
                                     1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000};
    enum { LEAST = 2, LOG10_OF_2 = 1233 }; // that in parts of 4096
    _Static_assert(sizeof(powers) / sizeof(*powers) == LEAST + SEEP_HISTORY_LIVES, "a power a class");
    unsigned bits = 64 - (unsigned)__builtin_clzll((uint64_t)ns | 1);
    unsigned digits = SEEP_MIN(bits * LOG10_OF_2 >> 12, LEAST + SEEP_HISTORY_LIVES - 1u);
    digits = SEEP_MAX(digits, (unsigned)LEAST + 1);
    return digits - (ns < powers[digits]) - LEAST;
}

static bool note_end(struct process *process, const struct seep_rebuilt_block *block,
                     const struct seep_recorded *event, int64_t at_ns) {
    struct seep_history_site *site = &process->history->sites[block->site];
    int64_t ns = SEEP_MAX(at_ns - block->at_ns, INT64_C(0));
    site->life_least_ns = site->freed ? SEEP_MIN(site->life_least_ns, ns) : ns;
    site->life_most_ns = SEEP_MAX(site->life_most_ns, ns);
    site->life_sum_ns += (double)ns;
    site->lives[life_of(ns)]++;
    site->freed++;
    if (block->slot == event->slot || block->slot == UINT32_MAX)
        return true;
    site->elsewhere++;
    site->elsewhere_bytes += block->size;
    return note_handover(process, block, event->slot);
}

static struct moving *moving_of(struct process *process, uint32_t slot) {
    if (slot >= process->nr_slots) {
        if (!seep_grow(&process->moving, &process->slots_capacity, (size_t)slot + 1,
                       sizeof(*process->moving)))
            return NULL;
        process->nr_slots = (size_t)slot + 1;
    }
    return &process->moving[slot];
}

static bool note_resize(struct process *process, const struct seep_rebuilt_block *from,
                        struct seep_rebuilt_block *to) {
    struct seep_history *history = process->history;
    uint32_t first = from->first_site ? from->first_site : from->site;
    uint64_t *place = seep_map_at(&process->resizes, (uint64_t)first << 32 | to->site, NULL);
    if (!place || (!*place && !seep_grow(&history->resizes, &process->resizes_capacity,
                                         history->nr_resizes + 1, sizeof(*history->resizes))))
        return false;
    if (!*place) {
        history->resizes[history->nr_resizes++] =
            (struct seep_history_resize){.first = first, .site = to->site};
        *place = history->nr_resizes;
    }
    to->first_site = first;
    to->nr_resizes = from->nr_resizes + 1;
    struct seep_history_resize *resize = &history->resizes[*place - 1];
    resize->resizes++;
    if (from->address != to->address) {
        resize->moved++;
        resize->copied_bytes += SEEP_MIN(from->size, to->size);
    }
    resize->most_in_a_row = SEEP_MAX(resize->most_in_a_row, to->nr_resizes);
    resize->most_bytes = SEEP_MAX(resize->most_bytes, to->size);
    return true;
}

static bool is_sound(const struct process *process, const struct seep_recorded *event) {
    return event->address && event->site && event->site < process->heap.nr_sites &&
           event->size <= (uint64_t)INT64_MAX >> 16;
}

static bool before_free(struct process *process, const struct seep_recorded *event, int64_t at_ns) {
    const struct seep_rebuilt_block *block = seep_rebuilt_heap_find(&process->heap, event->address);
    struct moving *moving = moving_of(process, event->slot);
    if (!moving)
        return false;
    moving->block = (struct seep_rebuilt_block){.address = 0};
    if (!block)
        return true;
    if (event->kind == SEEP_EVENT_FREE + SEEP_RELEASE_REALLOC)
        moving->block = *block;
    return note_end(process, block, event, at_ns) && add_pages(process, block->address, block->size, -1);
}

static bool after_allocation(struct process *process, const struct seep_recorded *event) {
    struct seep_rebuilt_block *block = seep_rebuilt_heap_find(&process->heap, event->address);
    struct moving *moving = moving_of(process, event->slot);
    if (!moving || !block)
        return false;
    uint32_t via = process->profile->sites[event->site].via;
    bool resized = moving->block.address && event->kind == SEEP_EVENT_ALLOCATION &&
                   (via == SEEP_VIA_REALLOC || via == SEEP_VIA_REALLOCARRAY);
    if (resized && !note_resize(process, &moving->block, block))
        return false;
    moving->block = (struct seep_rebuilt_block){.address = 0};
    return add_pages(process, event->address, event->size, 1);
}

static bool step(struct process *process, const struct seep_recorded *event, int64_t at_ns) {
    if (!go_to(process, at_ns))
        return false;
    bool sound = is_sound(process, event), is_free = seep_event_is_free(event->kind);
    struct seep_history_bin *bin = &process->history->bins[process->bin];
    if (sound) {
        bin->allocations += event->kind == SEEP_EVENT_ALLOCATION;
        bin->allocated_bytes += event->kind == SEEP_EVENT_ALLOCATION ? event->size : 0;
        bin->frees += is_free;
        bin->freed_bytes += is_free ? event->size : 0;
        if (!touch(process, event->site) || (is_free && !before_free(process, event, at_ns)))
            return false;
    }
    if (!seep_rebuilt_heap_step(&process->heap, event, at_ns))
        return false;
    bin->most_bytes = SEEP_MAX(bin->most_bytes, process->heap.live_bytes);
    if (sound)
        process->most_bytes[event->site] =
            SEEP_MAX(process->most_bytes[event->site], live_bytes_of(process, event->site));
    return !sound || is_free || after_allocation(process, event);
}

// ---- the walk ----------------------------------------------------------------------------------------

static struct process *process_of(struct walk *walk, const struct seep_chunk *chunk) {
    size_t i = seep_profiles_find(walk->session->profiles, walk->session->nr_profiles, chunk->pid,
                                  chunk->start_realtime_ns);
    return i < walk->session->nr_profiles ? &walk->processes[i] : NULL;
}

static struct seep_error *walk_events(struct walk *walk, struct seep_event_file *file) {
    struct seep_error *error = seep_event_file_rewind(file);
    while (!error) {
        const struct seep_chunk *chunk;
        error = seep_event_file_next(file, &chunk);
        if (error || !chunk)
            break;
        const struct seep_recorded *events = seep_event_file_events(file);
        struct process *process = process_of(walk, chunk);
        struct seep_chunk_scale scale = seep_chunk_scale_of(chunk);
        for (uint64_t i = 0; process && !error && i < chunk->nr_events; i++) {
            int64_t at_ns = seep_chunk_scaled_ns(&scale, events[i].stamp);
            seep_rebuilt_heap_fetch(&process->heap, events, i, chunk->nr_events);
            if (walk->stop_at &&
                at_ns / process->history->bin_ns > (int64_t)walk->stop_at[process - walk->processes])
                break;
            if (!(walk->stop_at ? seep_rebuilt_heap_step(&process->heap, &events[i], at_ns)
                                : step(process, &events[i], at_ns)))
                error = seep_error_no_memory();
        }
    }
    return error;
}

// What there was before the first event counts all the time.
static struct seep_error *add_before(struct process *process) {
    struct seep_history *history = process->history;
    struct seep_rebuilt_before before;
    if (!seep_rebuilt_heap_before(&process->heap, process->profile, &before)) {
        seep_rebuilt_before_deinit(&before);
        return seep_error_no_memory();
    }
    int64_t blocks = 0, bytes = 0;
    for (uint32_t i = 1; i < history->nr_sites; i++) {
        blocks += (int64_t)(before.sites[i].allocations - before.sites[i].frees);
        bytes += (int64_t)(before.sites[i].allocated_bytes - before.sites[i].freed_bytes);
    }
    for (size_t i = 0; i < history->nr_bins; i++) {
        history->bins[i].live_bytes += bytes;
        history->bins[i].most_bytes += bytes;
        history->bins[i].live_blocks += blocks;
    }
    for (size_t i = 0; i < history->nr_changes; i++) {
        const struct seep_counters *site = &before.sites[history->changes[i].site];
        history->changes[i].live_blocks += (int64_t)(site->allocations - site->frees);
        history->changes[i].live_bytes += (int64_t)(site->allocated_bytes - site->freed_bytes);
        history->changes[i].most_bytes += (int64_t)(site->allocated_bytes - site->freed_bytes);
    }
    seep_rebuilt_before_deinit(&before);
    return NULL;
}

static int by_copied(const void *left, const void *right) {
    const struct seep_history_resize *a = left, *b = right;
    return a->copied_bytes != b->copied_bytes
               ? (a->copied_bytes < b->copied_bytes) - (a->copied_bytes > b->copied_bytes)
               : (a->resizes < b->resizes) - (a->resizes > b->resizes);
}

static int by_blocks(const void *left, const void *right) {
    const struct seep_history_handover *a = left, *b = right;
    return (a->blocks < b->blocks) - (a->blocks > b->blocks);
}

static struct seep_error *finish(struct process *process) {
    struct seep_history *history = process->history;
    for (;;) {
        if (!close_bin(process))
            return seep_error_no_memory();
        if (process->bin + 1 >= history->nr_bins)
            break;
        process->bin++;
        history->bins[process->bin].most_bytes = process->heap.live_bytes;
    }
    for (uint32_t i = 0; i < history->nr_sites; i++)
        history->sites[i].temporary = process->heap.sites[i].temporary;
    if (history->nr_resizes)
        qsort(history->resizes, history->nr_resizes, sizeof(*history->resizes), by_copied);
    if (history->nr_handovers)
        qsort(history->handovers, history->nr_handovers, sizeof(*history->handovers), by_blocks);
    return add_before(process);
}

// ---- who holds nearly empty regions --------------------------------------------------------------------

struct region {
    uint64_t bytes;
    uint32_t site; // that has a block in it
    bool several;
};

static int by_regions(const void *left, const void *right) {
    const struct seep_history_pin *a = left, *b = right;
    return a->alone != b->alone ? (a->alone < b->alone) - (a->alone > b->alone)
                                : (a->regions < b->regions) - (a->regions > b->regions);
}

static bool is_nearly_empty(const struct region *region) {
    return region->bytes && region->bytes <= (UINT64_C(1) << REGION_SHIFT) / NEARLY_EMPTY_PART;
}

// The regions of the live blocks.
static bool find_regions(const struct seep_rebuilt_heap *heap, struct seep_map *index,
                         struct region **ret_regions, size_t *ret_nr) {
    size_t capacity = 0;
    for (size_t i = 0; i < heap->nr_used; i++) {
        const struct seep_rebuilt_block *block = &heap->blocks[i];
        uint64_t size = SEEP_MAX(block->size, UINT64_C(1));
        if (!block->address || size >= UINT64_C(1) << REGION_SHIFT)
            continue; // a region is not nearly empty that it fills
        uint64_t *place = seep_map_at(index, block->address >> REGION_SHIFT, NULL);
        if (!place || (!*place && !seep_grow(ret_regions, &capacity, *ret_nr + 1, sizeof(**ret_regions))))
            return false;
        if (!*place) {
            (*ret_regions)[(*ret_nr)++] = (struct region){.site = block->site};
            *place = *ret_nr;
        }
        struct region *region = &(*ret_regions)[*place - 1];
        region->bytes += size;
        region->several |= region->site != block->site;
    }
    return true;
}

static bool count_pins(struct process *process, const struct seep_map *index, const struct region *regions,
                       struct seep_history_pin *pins) {
    const struct seep_rebuilt_heap *heap = &process->heap;
    struct seep_map seen = SEEP_MAP_INIT; // (region, site)
    bool good = true;
    for (size_t i = 0; good && i < heap->nr_used; i++) {
        const struct seep_rebuilt_block *block = &heap->blocks[i];
        const uint64_t *place = block->address ? seep_map_find(index, block->address >> REGION_SHIFT) : NULL;
        if (!place || !is_nearly_empty(&regions[*place - 1]))
            continue;
        struct seep_history_pin *pin = &pins[block->site];
        bool is_new = false;
        good = seep_map_at(&seen, *place << 24 ^ block->site, &is_new);
        pin->site = block->site;
        pin->blocks++;
        pin->bytes += block->size;
        pin->regions += is_new;
        pin->alone += is_new && !regions[*place - 1].several;
    }
    seep_map_deinit(&seen);
    return good;
}

static struct seep_error *find_pins(struct process *process) {
    struct seep_history *history = process->history;
    struct seep_map index = SEEP_MAP_INIT;
    struct region *regions = NULL;
    size_t nr = 0;
    history->pins = calloc((size_t)history->nr_sites + 1, sizeof(*history->pins));
    bool good = history->pins && find_regions(&process->heap, &index, &regions, &nr) &&
                count_pins(process, &index, regions, history->pins);
    for (size_t i = 0; good && i < nr; i++)
        history->nearly_empty += is_nearly_empty(&regions[i]);
    for (uint32_t i = 0; good && i < history->nr_sites; i++)
        if (history->pins[i].regions)
            history->pins[history->nr_pins++] = history->pins[i];
    if (good && history->nr_pins)
        qsort(history->pins, history->nr_pins, sizeof(*history->pins), by_regions);
    seep_map_deinit(&index);
    free(regions);
    return good ? NULL : seep_error_no_memory();
}

// The heap once more, as it was when most memory lay idle.
static struct seep_error *look_at_regions(struct walk *walk, struct seep_event_file *file) {
    walk->stop_at = calloc(walk->session->nr_profiles, sizeof(*walk->stop_at));
    struct seep_error *error = walk->stop_at ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < walk->session->nr_profiles; i++) {
        walk->stop_at[i] = walk->processes[i].history->pages_bin;
        seep_rebuilt_heap_deinit(&walk->processes[i].heap);
        if (!seep_rebuilt_heap_init(&walk->processes[i].heap, walk->processes[i].profile->nr_sites))
            error = seep_error_no_memory();
    }
    if (!error)
        error = walk_events(walk, file);
    for (size_t i = 0; !error && i < walk->session->nr_profiles; i++)
        error = find_pins(&walk->processes[i]);
    free(walk->stop_at);
    walk->stop_at = NULL;
    return error;
}

// ---- beginning ---------------------------------------------------------------------------------------

static struct seep_error *begin(struct process *process, struct seep_profile *profile,
                                struct seep_history *history, const struct seep_history_options *options) {
    *process = (struct process){.profile = profile, .history = history, .wants_pages = options->pages};
    history->recorded = true;
    history->nr_bins = SEEP_MAX(options->nr_bins, 1u);
    int64_t nr = (int64_t)history->nr_bins, part_ns = profile->process.duration_ns / nr + 1;
    history->bin_ns = SEEP_MAX(SEEP_MIN(part_ns, INT64_MAX / nr), INT64_C(1));
    history->nr_sites = profile->nr_sites;
    history->bins = calloc(history->nr_bins, sizeof(*history->bins));
    history->sites = calloc((size_t)profile->nr_sites + 1, sizeof(*history->sites));
    process->touched_bin = calloc((size_t)profile->nr_sites + 1, sizeof(*process->touched_bin));
    process->most_bytes = calloc((size_t)profile->nr_sites + 1, sizeof(*process->most_bytes));
    bool good = seep_rebuilt_heap_init(&process->heap, profile->nr_sites);
    good = good && history->bins && history->sites && process->touched_bin && process->most_bytes;
    return good ? NULL : seep_error_no_memory();
}

static struct seep_error *of_events(struct seep_session *session, struct seep_event_file *file,
                                    const struct seep_history_options *options,
                                    struct seep_history *histories) {
    struct walk walk = {.session = session, .options = options};
    walk.processes = calloc(session->nr_profiles, sizeof(*walk.processes));
    struct seep_error *error = walk.processes ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = begin(&walk.processes[i], session->profiles[i], &histories[i], options);
    if (!error)
        error = walk_events(&walk, file);
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = finish(&walk.processes[i]);
    if (!error)
        error = seep_event_file_note(file, session->profiles[0]);
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = seep_event_file_note_dropped(file, walk.processes[i].heap.nr_events, session->profiles[i]);
    if (!error && options->pages)
        error = look_at_regions(&walk, file);
    for (size_t i = 0; walk.processes && i < session->nr_profiles; i++)
        process_deinit(&walk.processes[i]);
    free(walk.processes);
    return error;
}

// What was live at the end is a part of its own, behind the last snapshot.
static bool add_end(const struct seep_profile *profile, struct seep_history *history) {
    const struct seep_snapshot *last = &profile->snapshots[profile->nr_snapshots - 1];
    struct seep_snapshot_live *then = last->at_ns < profile->process.duration_ns
                                          ? seep_snapshots_sites(profile, profile->nr_snapshots - 1)
                                          : NULL;
    if (!then)
        return last->at_ns >= profile->process.duration_ns;
    struct seep_history_bin *end = &history->bins[history->nr_bins];
    end->until_ns = profile->process.duration_ns;
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        const struct seep_counters *site = &profile->sites[i].counters;
        int64_t blocks = (int64_t)(site->allocations - site->frees);
        int64_t bytes = (int64_t)(site->allocated_bytes - site->freed_bytes);
        end->live_blocks += blocks;
        end->live_bytes += bytes;
        if (blocks != (int64_t)then[i].blocks || bytes != (int64_t)then[i].bytes)
            history->changes[history->nr_changes++] =
                (struct seep_history_change){.bin = (uint32_t)history->nr_bins,
                                             .site = i,
                                             .live_blocks = blocks,
                                             .live_bytes = bytes,
                                             .most_bytes = bytes};
    }
    end->most_bytes = end->live_bytes;
    history->nr_bins++;
    free(then);
    return true;
}

static struct seep_error *of_snapshots(const struct seep_profile *profile, struct seep_history *history) {
    size_t nr_changes = profile->nr_sites;
    for (uint32_t i = 0; i < profile->nr_snapshots; i++)
        nr_changes += profile->snapshots[i].nr_sites;
    struct seep_snapshot_live *totals = seep_snapshots_totals(profile);
    history->bins = calloc((size_t)profile->nr_snapshots + 1, sizeof(*history->bins));
    history->changes = calloc(nr_changes + 1, sizeof(*history->changes));
    bool good = totals && history->bins && history->changes;
    for (uint32_t i = 0; good && i < profile->nr_snapshots; i++) {
        const struct seep_snapshot *snapshot = &profile->snapshots[i];
        history->bins[i].until_ns = snapshot->at_ns;
        history->bins[i].live_blocks = (int64_t)totals[i].blocks;
        history->bins[i].live_bytes = history->bins[i].most_bytes = (int64_t)totals[i].bytes;
        for (uint32_t j = 0; j < snapshot->nr_sites; j++)
            history->changes[history->nr_changes++] =
                (struct seep_history_change){.bin = i,
                                             .site = snapshot->sites[j].site,
                                             .live_blocks = (int64_t)snapshot->sites[j].live_blocks,
                                             .live_bytes = (int64_t)snapshot->sites[j].live_bytes,
                                             .most_bytes = (int64_t)snapshot->sites[j].live_bytes};
    }
    history->nr_bins = profile->nr_snapshots;
    history->nr_sites = profile->nr_sites;
    if (profile->nr_snapshots)
        history->bin_ns = profile->snapshots[profile->nr_snapshots - 1].at_ns / profile->nr_snapshots;
    good = good && (!profile->nr_snapshots || add_end(profile, history));
    free(totals);
    return good ? NULL : seep_error_no_memory();
}

static struct seep_error *make(struct seep_session *session, const char *path,
                               const struct seep_history_options *options, struct seep_history *histories) {
    struct seep_event_file *file = NULL;
    if (seep_event_file_is_one(path)) {
        struct seep_error *error = seep_event_file_open(path, &file);
        if (!error)
            error = of_events(session, file, options, histories);
        seep_event_file_close(file);
        return error;
    }
    uint32_t nr_snapshots = 0;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < session->nr_profiles; i++) {
        nr_snapshots += session->profiles[i]->nr_snapshots;
        error = of_snapshots(session->profiles[i], &histories[i]);
    }
    if (!error && !nr_snapshots)
        error = seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "%s: what it did over time is not in it", path),
            "'seep run --mode record' keeps every event, 'seep run --interval T' what is live now and then");
    return error;
}

struct seep_error *seep_histories_make(struct seep_session *session, const char *path,
                                       const struct seep_history_options *options,
                                       struct seep_history **ret_histories) {
    struct seep_history *histories = calloc(session->nr_profiles, sizeof(*histories));
    if (!histories)
        return seep_error_no_memory();
    struct seep_error *error = make(session, path, options, histories);
    if (!error) {
        *ret_histories = histories;
        return NULL;
    }
    for (size_t i = 0; i < session->nr_profiles; i++)
        seep_history_deinit(&histories[i]);
    free(histories);
    return error;
}

// ---- snapshots of it -----------------------------------------------------------------------------------

static struct seep_error *add_snapshots(struct seep_profile *profile, const struct seep_history *history) {
    struct seep_arena *arena = &profile->arena;
    profile->snapshots = seep_arena_alloc(arena, history->nr_bins, sizeof(*profile->snapshots));
    struct seep_snapshot_site *sites = seep_arena_alloc(arena, history->nr_changes + 1, sizeof(*sites));
    if (!profile->snapshots || !sites)
        return seep_error_no_memory();
    size_t at = 0;
    for (size_t i = 0; i < history->nr_bins; i++) {
        struct seep_snapshot *snapshot = &profile->snapshots[i];
        *snapshot = (struct seep_snapshot){.at_ns = (int64_t)(i + 1) * history->bin_ns, .sites = sites + at};
        for (; at < history->nr_changes && history->changes[at].bin == i; at++)
            snapshot->sites[snapshot->nr_sites++] = (struct seep_snapshot_site){
                .site = history->changes[at].site,
                .live_blocks = (uint64_t)SEEP_MAX(history->changes[at].live_blocks, INT64_C(0)),
                .live_bytes = (uint64_t)SEEP_MAX(history->changes[at].live_bytes, INT64_C(0))};
    }
    profile->nr_snapshots = (uint32_t)history->nr_bins;
    return NULL;
}

#define CHANGES_MOST ((uint64_t)1 << 23)
#define BINS_LEAST   200u

static uint32_t bins_for(const struct seep_session *session, uint32_t most) {
    uint64_t nr_sites = 1;
    for (size_t i = 0; i < session->nr_profiles; i++)
        nr_sites += session->profiles[i]->nr_sites;
    uint64_t nr = SEEP_MAX(CHANGES_MOST / nr_sites, (uint64_t)BINS_LEAST);
    return (uint32_t)SEEP_MIN(nr, (uint64_t)most);
}

void seep_histories_destroy(struct seep_history *histories, const struct seep_session *session) {
    for (size_t i = 0; histories && i < session->nr_profiles; i++)
        seep_history_deinit(&histories[i]);
    free(histories);
}

struct seep_error *seep_history_snapshots(struct seep_session *session, const char *path, uint32_t nr_bins,
                                          struct seep_history **ret_histories) {
    struct seep_history *histories = NULL;
    struct seep_history_options options = {.nr_bins = bins_for(session, nr_bins)};
    if (ret_histories)
        *ret_histories = NULL;
    if (strcmp(path, "-") == 0 || !seep_event_file_is_one(path))
        return NULL;
    struct seep_error *error = seep_histories_make(session, path, &options, &histories);
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        if (!session->profiles[i]->nr_snapshots)
            error = add_snapshots(session->profiles[i], &histories[i]);
    if (!error && ret_histories) {
        *ret_histories = histories;
        return NULL;
    }
    seep_histories_destroy(histories, session);
    return error;
}
