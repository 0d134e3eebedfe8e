// SPDX-License-Identifier: BSD-2-Clause
// Sections of a recording, see recording_writer.h.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/map.h"
#include "file/event_stacks.h"
#include "session/recording_writer.h"

enum {
    SUM_EVENTS = 1 << 20, // of a process, from one sum to the next
};

// The clock that the library stamps with (preload/events.h). Under qemu-user it is the time of this machine;
// for AArch64 it is the time since 1970, as a counter of 62.5 MHz.
static uint64_t stamp_now(const struct seep_recorded_life *life) {
    uint16_t machine = life->machine;
    if (machine == EM_AARCH64 && machine != SEEP_MACHINE_HERE)
        return (uint64_t)seep_clock_ns(CLOCK_REALTIME) / 16 << 2;
    if (machine != SEEP_MACHINE_HERE && machine != EM_386)
        return (uint64_t)seep_monotonic_ns();
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc() >> SEEP_STAMP_TICKS_SHIFT;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks << 2;
#else
    return (uint64_t)seep_monotonic_ns();
#endif
}

void seep_recording_fail(struct seep_recording_writer *out, struct seep_error *error) {
    if (out->error)
        seep_error_destroy(error);
    else
        out->error = error;
}

// ---- from the first to the last ----

static uint64_t since_start(const struct seep_recorded_life *life, int64_t at_ns) {
    return at_ns > (int64_t)life->start_ns ? (uint64_t)at_ns - life->start_ns : 0;
}

// Both clocks at once, from the quickest of three tries: a tool that lost the processor between them would
// make all times of the chunk wrong by as long.
static struct seep_chunk_clock clock_now(const struct seep_recorded_life *life, int64_t *ret_at_ns) {
    struct seep_chunk_clock clock = {0};
    uint64_t least = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t before = stamp_now(life);
        int64_t at_ns = seep_monotonic_ns();
        uint64_t took = stamp_now(life) - before;
        if (i && took >= least)
            continue;
        least = took;
        clock = (struct seep_chunk_clock){before + took / 2, since_start(life, at_ns)};
        *ret_at_ns = at_ns;
    }
    return clock;
}

void seep_recorded_life_init(struct seep_recorded_life *life, const struct seep_run_image *image, int fd,
                             const struct seep_image_head *head) {
    *life = (struct seep_recorded_life){.stacks.fd = fd,
                                        .chunk.pid = (uint32_t)image->pid,
                                        .chunk.start_realtime_ns = image->start_realtime_ns,
                                        .start_ns = head->header.start_ns,
                                        .machine = head->platform.machine,
                                        .sealed_ns = seep_monotonic_ns()};
    seep_residence_init(&life->residence, image->pid);
    life->clock = clock_now(life, &life->sealed_ns);
}

void seep_recorded_life_deinit(struct seep_recorded_life *life) {
    seep_residence_deinit(&life->residence);
    if (life->summing.begun)
        seep_rebuilt_heap_deinit(&life->summing.heap);
}

bool seep_recording_writer_init(struct seep_recording_writer *out, uint64_t keep_bytes) {
    *out = (struct seep_recording_writer){.keep_bytes = keep_bytes, .packer = seep_chunk_packer_create()};
    return out->packer != NULL;
}

void seep_recording_writer_deinit(struct seep_recording_writer *out) {
    seep_trace_writer_destroy(out->trace);
    seep_error_destroy(out->error);
    seep_chunk_packer_destroy(out->packer);
    free(out->kept.spans);
    free(out->placed);
    free(out->sums);
    seep_put_deinit(&out->put);
}

// ---- chunks ----

static struct seep_error *write_put(struct seep_recording_writer *out, enum seep_trace_type type) {
    return out->put.failed ? seep_error_no_memory()
                           : seep_trace_writer_section(out->trace, type, 1, out->put.bytes, out->put.used);
}

// The highest numbers in the events of a chunk.
struct highest {
    uint64_t stamp;
    uint64_t size;
    uint32_t site;
    uint32_t slot;
};

// Writes the stacks, sites and modules that the events refer to, as far as the file lacks them. NULL: only
// the process.
static struct seep_error *write_stacks(struct seep_recording_writer *out, struct seep_recorded_life *life,
                                       const struct highest *highest) {
    struct seep_recorded_stacks fresh;
    struct seep_error *error =
        highest ? seep_image_stacks_look(&life->stacks, highest->site, highest->slot, &fresh)
                : seep_image_stacks_process(&life->stacks, &fresh);
    if (error || (highest && !fresh.nr_sites && !fresh.nr_threads))
        return error;
    fresh.process.pid = life->chunk.pid;
    fresh.process.start_realtime_ns = life->chunk.start_realtime_ns;
    out->put.used = 0;
    seep_recorded_stacks_put(&out->put, &fresh);
    seep_recorded_stacks_deinit(&fresh);
    return write_put(out, SEEP_TRACE_STACKS);
}

struct seep_error *seep_recording_write_process(struct seep_recording_writer *out,
                                                struct seep_recorded_life *life) {
    return write_stacks(out, life, NULL);
}

// Drops the oldest chunks until the rest is at most keep_bytes.
static struct seep_error *keep(struct seep_recording_writer *out, const struct seep_trace_span *span) {
    struct seep_kept_chunks *kept = &out->kept;
    if (kept->first > kept->nr / 2) {
        kept->nr -= kept->first;
        memmove(kept->spans, kept->spans + kept->first, kept->nr * sizeof(*kept->spans));
        kept->first = 0;
    }
    if (!seep_grow(&kept->spans, &kept->capacity, kept->nr + 1, sizeof(*kept->spans)))
        return seep_error_no_memory();
    kept->spans[kept->nr++] = *span;
    kept->bytes += span->bytes;
    while (kept->bytes > out->keep_bytes && kept->first + 1 < kept->nr) {
        const struct seep_trace_span *oldest = &kept->spans[kept->first++];
        struct seep_error *error = seep_trace_writer_forget(out->trace, oldest);
        if (error)
            return error;
        kept->bytes -= oldest->bytes;
    }
    return NULL;
}

// The residence that was gathered since the last call.
void seep_recording_write_residence(struct seep_recording_writer *out, struct seep_recorded_life *life) {
    struct seep_residence *residence = &life->residence;
    for (size_t done = 0; !out->error && (done < residence->nr_ended || !done);) {
        struct seep_residence_head head = {
            .pid = life->chunk.pid,
            .start_realtime_ns = life->chunk.start_realtime_ns,
            .cpu_ns = residence->cpu_ns,
            .nr_blocks = SEEP_MIN(residence->nr_ended - done, (size_t)SEEP_RESIDENCE_MAX)};
        out->put.used = 0;
        seep_residence_put(&out->put, &head, residence->ended ? residence->ended + done : NULL);
        struct seep_error *error = write_put(out, SEEP_TRACE_RESIDENCE);
        if (error)
            seep_recording_fail(out, error);
        done += SEEP_MAX(head.nr_blocks, UINT64_C(1));
    }
    residence->nr_ended = 0;
}

// ---- sums ----

static struct seep_error *write_sums(struct seep_recording_writer *out, struct seep_recorded_life *life) {
    struct seep_life_sums *summing = &life->summing;
    struct seep_rebuilt_heap *heap = &summing->heap;
    size_t nr_changed = 0, nr = 0;
    for (uint32_t i = 0; i < heap->nr_sites; i++) {
        nr_changed += heap->then[i].turn == heap->turn;
        nr += heap->sites[i].allocations || heap->sites[i].frees;
    }
    // A reader goes back to the last whole sum. So a sum is written whole if the sums since the last whole
    // one would otherwise have more sites than the heap.
    bool whole = !summing->is_in_file || summing->nr_written + nr_changed > nr;
    uint32_t *sites = calloc(nr + nr_changed + 1, sizeof(*sites));
    struct seep_counters *counters = calloc(nr + nr_changed + 1, sizeof(*counters));
    struct seep_event_sums sums = {.pid = life->chunk.pid,
                                   .start_realtime_ns = life->chunk.start_realtime_ns,
                                   .whole = whole,
                                   .nr_events = heap->nr_events,
                                   .most_ns = summing->most_ns,
                                   .latest_ns = heap->latest_ns,
                                   .live_bytes = heap->live_bytes,
                                   .peak_bytes = heap->peak_bytes,
                                   .peak_event = heap->peak_event,
                                   .last = heap->last,
                                   .nr_last = heap->nr_slots,
                                   .sites = sites,
                                   .counters = counters};
    memcpy(sums.releases, heap->releases, sizeof(sums.releases));
    memcpy(sums.size_class, heap->size_class, sizeof(sums.size_class));
    for (uint32_t i = 1; sites && counters && i < heap->nr_sites; i++) {
        if (whole ? !heap->sites[i].allocations && !heap->sites[i].frees : heap->then[i].turn != heap->turn)
            continue;
        sites[sums.nr_sites] = i;
        counters[sums.nr_sites++] = heap->sites[i];
    }
    out->put.used = 0;
    seep_event_sums_put(&out->put, &sums);
    bool good =
        sites && counters && seep_grow(&out->sums, &out->sums_capacity, out->nr_sums + 1, sizeof(*out->sums));
    free(sites);
    free(counters);
    struct seep_trace_span span;
    seep_trace_span_begin(out->trace, &span);
    struct seep_error *error = good ? write_put(out, SEEP_TRACE_EVENT_SUMS) : seep_error_no_memory();
    if (error)
        return error;
    out->sums[out->nr_sums++] =
        (struct seep_event_sums_place){span.off, sums.pid, whole, sums.most_ns, sums.nr_events};
    summing->nr_written = whole ? 0 : summing->nr_written + sums.nr_sites;
    summing->nr_summed = heap->nr_events;
    heap->turn++;
    summing->is_in_file = true;
    return NULL;
}

void seep_recording_end_sums(struct seep_recording_writer *out, struct seep_recorded_life *life) {
    if (!life->summing.is_in_file || out->error)
        return;
    struct seep_error *error = write_sums(out, life);
    if (error)
        seep_recording_fail(out, error);
}

static bool sum_up(struct seep_recorded_life *life, const struct seep_chunk *chunk,
                   const struct seep_recorded *events, uint64_t latest_stamp) {
    struct seep_life_sums *summing = &life->summing;
    if (!summing->begun) {
        if (!seep_rebuilt_heap_init(&summing->heap, 0))
            return false;
        summing->heap.counts_only = summing->heap.keeps_peak = summing->begun = true;
        summing->heap.turn = 1;
    }
    summing->most_ns = SEEP_MAX(summing->most_ns, seep_chunk_ns(chunk, latest_stamp));
    return seep_rebuilt_heap_grow_sites(&summing->heap, life->stacks.nr_sites) && // which the file has
           seep_rebuilt_heap_count(&summing->heap, chunk, events);
}

// Also sets the sums of bytes in the chunk.
static struct highest look_at(struct seep_chunk *chunk, const struct seep_recorded *events) {
    struct highest highest = {0};
    int64_t net_bytes = 0, most_bytes = 0;
    for (uint64_t i = 0; i < chunk->nr_events; i++) {
        const struct seep_recorded *event = &events[i];
        int64_t size = (int64_t)SEEP_MIN(event->size, (uint64_t)INT64_MAX / SEEP_CHUNK_EVENTS);
        net_bytes += seep_event_is_free(event->kind) ? -size : size;
        most_bytes = SEEP_MAX(most_bytes, net_bytes);
        highest.stamp = SEEP_MAX(highest.stamp, event->stamp);
        highest.size = SEEP_MAX(highest.size, event->size);
        highest.site = SEEP_MAX(highest.site, event->site);
        highest.slot = SEEP_MAX(highest.slot, event->slot);
    }
    chunk->net_bytes = net_bytes;
    chunk->most_bytes = most_bytes;
    return highest;
}

void seep_recording_write_chunk(struct seep_recording_writer *out, struct seep_recorded_life *life,
                                const struct seep_recorded *events, size_t nr) {
    struct seep_chunk chunk = life->chunk;
    chunk.nr_events = nr;
    chunk.begin = life->clock;
    int64_t at_ns;
    chunk.end = clock_now(life, &at_ns);
    struct highest highest = look_at(&chunk, events);
    struct seep_error *error = write_stacks(out, life, &highest);
    struct seep_trace_span span;
    if (!error) {
        seep_trace_span_begin(out->trace, &span);
        error = seep_chunk_write(out->trace, out->packer, &out->put, &chunk, events);
    }
    if (!error && !out->keep_bytes && !sum_up(life, &chunk, events, highest.stamp))
        error = seep_error_no_memory();
    if (!error && life->summing.heap.nr_events - life->summing.nr_summed >= SUM_EVENTS)
        error = write_sums(out, life);
    if (!error && !out->keep_bytes) {
        if (seep_grow(&out->placed, &out->placed_capacity, out->nr_placed + 1, sizeof(*out->placed)))
            out->placed[out->nr_placed++] = (struct seep_chunk_place){
                span.off, (uint64_t)seep_chunk_ns(&chunk, events[0].stamp), chunk.end.at_ns};
        else
            error = seep_error_no_memory();
    }
    if (!error && out->keep_bytes) {
        seep_trace_span_end(out->trace, &span);
        error = keep(out, &span);
    }
    if (error)
        seep_recording_fail(out, error);
    if (highest.size >= SEEP_RESIDENCE_LEAST_BYTES)
        seep_residence_follow(&life->residence, events, nr);
    if (!error && life->residence.nr_ended >= SEEP_RESIDENCE_MAX)
        seep_recording_write_residence(out, life);
    life->clock = chunk.end;
    life->sealed_ns = at_ns;
}

// ---- the index ----

struct seep_error *seep_recording_write_index(struct seep_recording_writer *out) {
    if (!out->nr_placed)
        return seep_trace_writer_compact(out->trace);
    uint64_t off = 0;
    out->put.used = 0;
    seep_put_leb(&out->put, out->nr_placed);
    for (size_t i = 0; i < out->nr_placed; i++) {
        seep_put_leb(&out->put, out->placed[i].off - off);
        seep_put_leb(&out->put, out->placed[i].from_ns);
        seep_put_leb(&out->put, out->placed[i].until_ns);
        off = out->placed[i].off;
    }
    off = 0;
    seep_put_leb(&out->put, out->nr_sums);
    for (size_t i = 0; i < out->nr_sums; i++) {
        const struct seep_event_sums_place *sums = &out->sums[i];
        seep_put_leb(&out->put, sums->place - off);
        seep_put_leb(&out->put, sums->pid);
        seep_put_leb(&out->put, sums->whole);
        seep_put_zigzag(&out->put, sums->most_ns);
        seep_put_leb(&out->put, sums->nr_events);
        off = sums->place;
    }
    return write_put(out, SEEP_TRACE_EVENT_INDEX);
}
