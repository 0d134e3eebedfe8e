// SPDX-License-Identifier: BSD-2-Clause
// Makes a plan of the events of a recording, see plan.h.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/map.h"
#include "base/numbers.h"
#include "base/read_at.h"
#include "base/shown_text.h"
#include "base/sum.h"
#include "file/event_file.h"
#include "process/memory_limit.h"
#include "replay/page_shares.h"
#include "replay/plan.h"
#include "replay/plan_ops.h"
#include "replay/walk.h"

#define PAGE_BYTES UINT64_C(4096) // of the counts of a recording
enum { SAMPLES_EVEN = 256, TIMED_ONE_IN = 16, TIMED_FROM_BYTES = 4096, GAP_NS = 100000 };

struct live_block {
    uint64_t size;
    uint64_t written; // of it, by the replay
    uint64_t op;      // the operation that made it, of `thread`
    uint32_t thread;
    uint32_t slot;
    uint8_t treatment; // enum seep_treatment
    bool is_moved;     // its slot is another block's meanwhile
};

struct planned_thread {
    struct seep_plan_ops ops;
    uint32_t *free_slots; // it freed them itself, so that its next use of one comes after
    size_t nr_free;
    size_t free_capacity;
    struct live_block pending; // given to a realloc that has not returned
    bool is_pending;
    uint64_t pending_address;
    uint64_t at_window; // operations when this window began
    uint64_t passed;    // gates
    int64_t time_ns;    // of its latest TIME
    uint64_t nr_arena;  // live blocks of its arena
};

struct planner {
    const struct seep_plan_options *options;
    struct seep_profile *profile;
    struct seep_residences residences;
    struct seep_page_shares shares;
    struct seep_plan *plan;
    struct seep_plan_store store;
    struct planned_thread *threads;
    size_t nr_threads;
    size_t capacity;
    struct seep_map addresses; // address -> 1 + index in blocks
    struct live_block *blocks;
    size_t nr_blocks;
    size_t blocks_capacity;
    uint32_t *free_blocks;
    size_t nr_free_blocks;
    size_t free_blocks_capacity;
    struct seep_map waited; // thread << 32 | other -> operations of the other that it has waited for
    uint32_t nr_slots;
    uint64_t nr_gates;        // at the beginning of this window
    uint64_t nr_gates_before; // and of the one before it
    uint64_t nr_events;
    uint64_t nr_events_all; // as the process's totals say: samples are spread by it
    uint64_t next_even;
    uint64_t live_bytes;
    uint64_t nr_live;
    uint64_t written_bytes;  // of live_bytes
    uint64_t measured_bytes; // the highest that was measured
    size_t last_thread;      // of the event before
    size_t samples_capacity;
    size_t sample_ns_capacity;
};

// ---- operations -------------------------------------------------------------------------------------------

static bool put_op(struct planner *planner, size_t thread, struct seep_replay_op op) {
    return seep_plan_ops_put(&planner->store, &planner->threads[thread].ops, op);
}

// `thread` goes on when `other` has done its first nr_ops operations.
static bool wait_for(struct planner *planner, size_t thread, size_t other, uint64_t nr_ops) {
    if (thread == other || nr_ops == 0)
        return true;
    uint64_t *waited = seep_map_at(&planner->waited, (uint64_t)thread << 32 | other, NULL);
    if (!waited)
        return false;
    if (*waited >= nr_ops)
        return true;
    *waited = nr_ops;
    planner->plan->nr_waits++;
    return seep_plan_ops_publish(&planner->threads[other].ops, nr_ops - 1) &&
           put_op(
               planner, thread,
               (struct seep_replay_op){.kind = SEEP_REPLAY_WAIT, .slot = (uint32_t)other, .value = nr_ops});
}

static bool put_call(struct planner *planner, size_t thread, uint8_t kind, uint32_t slot, uint64_t size,
                     uint8_t shift) {
    bool timed = size >= TIMED_FROM_BYTES || planner->plan->nr_calls % TIMED_ONE_IN == 0;
    planner->plan->nr_calls++;
    return put_op(planner, thread,
                  (struct seep_replay_op){.kind = kind,
                                          .slot = slot,
                                          .value = size,
                                          .align_shift = shift,
                                          .flags = timed ? SEEP_REPLAY_TIMED : 0});
}

// ---- samples of memory ------------------------------------------------------------------------------------

static bool sample(struct planner *planner, size_t thread, int64_t at_ns) {
    struct seep_plan *plan = planner->plan;
    bool even = planner->nr_events >= planner->next_even;
    bool higher = planner->live_bytes > planner->measured_bytes + planner->measured_bytes / 128 + 16384;
    if ((!even && !higher) || plan->nr_samples == SEEP_REPLAY_SAMPLES_MAX)
        return true;
    if (even)
        planner->next_even += SEEP_MAX(planner->nr_events_all / SAMPLES_EVEN, UINT64_C(1));
    if (!seep_grow(&plan->sample_live, &planner->samples_capacity, plan->nr_samples + (size_t)1,
                   sizeof(uint64_t)) ||
        !seep_grow(&plan->sample_ns, &planner->sample_ns_capacity, plan->nr_samples + (size_t)1,
                   sizeof(int64_t)))
        return false;
    planner->measured_bytes = SEEP_MAX(planner->measured_bytes, planner->live_bytes);
    plan->sample_live[plan->nr_samples] = planner->live_bytes;
    plan->sample_ns[plan->nr_samples] = at_ns;
    return put_op(planner, thread,
                  (struct seep_replay_op){
                      .kind = SEEP_REPLAY_MEASURE, .slot = plan->nr_samples++, .value = planner->live_bytes});
}

// ---- blocks -----------------------------------------------------------------------------------------------

static struct live_block *find_block(struct planner *planner, uint64_t address) {
    const uint64_t *index = seep_map_find(&planner->addresses, address);
    return index && *index ? &planner->blocks[*index - 1] : NULL;
}

static bool add_block(struct planner *planner, uint64_t address, struct live_block block) {
    uint64_t *index = seep_map_at(&planner->addresses, address, NULL);
    if (!index)
        return false;
    if (!*index && planner->nr_free_blocks) {
        *index = (uint64_t)planner->free_blocks[--planner->nr_free_blocks] + 1;
    } else if (!*index) {
        if (!seep_grow(&planner->blocks, &planner->blocks_capacity, planner->nr_blocks + 1, sizeof(block)))
            return false;
        *index = ++planner->nr_blocks;
    }
    planner->blocks[*index - 1] = block;
    planner->live_bytes += block.size;
    planner->written_bytes += block.written;
    planner->plan->written_bytes = SEEP_MAX(planner->plan->written_bytes, planner->written_bytes);
    planner->nr_live++;
    if (planner->live_bytes > planner->plan->peak_bytes) {
        planner->plan->peak_bytes = planner->live_bytes;
        planner->plan->peak_blocks = planner->nr_live;
    }
    return true;
}

// Addresses come again, so their entry stays, empty.
static bool take_block(struct planner *planner, uint64_t address, struct live_block *ret_block) {
    uint64_t *index = seep_map_find(&planner->addresses, address);
    if (!index || !*index)
        return false;
    *ret_block = planner->blocks[*index - 1];
    planner->live_bytes -= ret_block->size;
    planner->written_bytes -= ret_block->written;
    planner->nr_live--;
    if (!seep_grow(&planner->free_blocks, &planner->free_blocks_capacity, planner->nr_free_blocks + 1,
                   sizeof(uint32_t)))
        return false;
    planner->free_blocks[planner->nr_free_blocks++] = (uint32_t)(*index - 1);
    *index = 0;
    return true;
}

static bool give_slot(struct planned_thread *thread, uint32_t slot) {
    if (!seep_grow(&thread->free_slots, &thread->free_capacity, thread->nr_free + 1, sizeof(slot)))
        return false;
    thread->free_slots[thread->nr_free++] = slot;
    return true;
}

static uint32_t take_slot(struct planner *planner, struct planned_thread *thread) {
    return thread->nr_free ? thread->free_slots[--thread->nr_free] : planner->nr_slots++;
}

// ---- events -----------------------------------------------------------------------------------------------

// The largest alignment that a block of an aligned allocation has, up to a page: what was asked for is not
// recorded.
static uint8_t shift_of(uint64_t address) {
    unsigned shift = address ? (unsigned)__builtin_ctzll(address) : 4;
    return (uint8_t)SEEP_MIN(SEEP_MAX(shift, 4u), 12u);
}

static uint8_t kind_of(const struct seep_profile *profile, uint32_t site) {
    switch (site < profile->nr_sites ? profile->sites[site].via : SEEP_VIA_MALLOC) {
    case SEEP_VIA_CALLOC:
        return SEEP_REPLAY_CALLOC;
    case SEEP_VIA_POSIX_MEMALIGN:
    case SEEP_VIA_ALIGNED_ALLOC:
    case SEEP_VIA_MEMALIGN:
    case SEEP_VIA_VALLOC:
    case SEEP_VIA_PVALLOC:
        return SEEP_REPLAY_ALIGNED;
    default:
        return SEEP_REPLAY_MALLOC;
    }
}

// ---- a change ---------------------------------------------------------------------------------------------

static bool put_plain(struct planner *planner, size_t thread, uint8_t kind, uint32_t slot, uint64_t value) {
    return put_op(planner, thread, (struct seep_replay_op){.kind = kind, .slot = slot, .value = value});
}

// What the recording does in this event, as far as the change has to do with it.
static uint8_t treatment_of(const struct planner *planner, uint32_t group) {
    const struct seep_plan_change *change = planner->options->change;
    if (!change || change->group != group || change->treatment == SEEP_TREAT_RESERVE)
        return SEEP_TREAT_NONE;
    return (uint8_t)change->treatment;
}

static bool free_treated(struct planner *planner, size_t thread, const struct live_block *block) {
    struct planned_thread *maker = &planner->threads[block->thread];
    switch (block->treatment) {
    case SEEP_TREAT_POOL:
        return wait_for(planner, thread, block->thread, block->op + 1) &&
               put_plain(planner, thread, SEEP_REPLAY_POOL_GIVE, block->slot, 0);
    case SEEP_TREAT_BUFFER:
        return put_plain(planner, thread, SEEP_REPLAY_BUFFER_GIVE, block->slot, 0);
    case SEEP_TREAT_ARENA:
        return --maker->nr_arena || put_plain(planner, block->thread, SEEP_REPLAY_ARENA_END, block->slot, 0);
    default:
        return true;
    }
}

static bool put_treated(struct planner *planner, size_t thread, struct live_block *block) {
    static const uint8_t kinds[] = {[SEEP_TREAT_POOL] = SEEP_REPLAY_POOL_TAKE,
                                    [SEEP_TREAT_ARENA] = SEEP_REPLAY_ARENA_TAKE,
                                    [SEEP_TREAT_BUFFER] = SEEP_REPLAY_BUFFER_TAKE,
                                    [SEEP_TREAT_STACK] = SEEP_REPLAY_STACK};
    const struct seep_plan_change *change = planner->options->change;
    uint64_t bytes =
        block->treatment == SEEP_TREAT_POOL ? change->traits->groups[change->group].size_max : block->size;
    planner->threads[thread].nr_arena += block->treatment == SEEP_TREAT_ARENA;
    block->slot = take_slot(planner, &planner->threads[thread]);
    return put_plain(planner, thread, kinds[block->treatment], block->slot, SEEP_MAX(bytes, UINT64_C(8)));
}

// The most that a block which begins in this event comes to, where that is its size in this plan; else 0.
static uint64_t reserved_bytes(const struct planner *planner) {
    const struct seep_plan_change *change = planner->options->change;
    if (!change || change->treatment != SEEP_TREAT_RESERVE)
        return 0;
    const uint64_t *index = seep_map_find(&change->traits->growth_of, planner->nr_events);
    const struct seep_grown *growth = index ? &change->traits->growths[*index - 1] : NULL;
    return growth && growth->group == change->group ? growth->bytes : 0;
}

// The live block of which this event makes a larger copy, or NULL.
static struct live_block *find_smaller(struct planner *planner) {
    const struct seep_plan_change *change = planner->options->change;
    const uint64_t *address = change ? seep_map_find(&change->traits->successor, planner->nr_events) : NULL;
    return address ? find_block(planner, *address) : NULL;
}

static bool free_block(struct planner *planner, size_t thread, const struct live_block *block) {
    struct planned_thread *own = &planner->threads[thread];
    if (block->is_moved)
        return true;
    if (block->treatment && block->treatment != SEEP_TREAT_RESERVE)
        return free_treated(planner, thread, block) && give_slot(own, block->slot);
    return wait_for(planner, thread, block->thread, block->op + 1) &&
           put_call(planner, thread, SEEP_REPLAY_FREE, block->slot, 0, 0) && give_slot(own, block->slot);
}

// A realloc that returned no block, realloc(p, 0): it was a free.
static bool end_pending(struct planner *planner, size_t thread) {
    struct planned_thread *own = &planner->threads[thread];
    if (!own->is_pending)
        return true;
    own->is_pending = false;
    return free_block(planner, thread, &own->pending);
}

// How many pages of the event's block were in memory, where it was looked at.
static bool find_resident(const struct planner *planner, const struct seep_recorded *event,
                          uint64_t *ret_nr_pages) {
    const uint64_t *found =
        seep_map_find(&planner->residences.pages, seep_residence_key(event->address, event->stamp));
    if (!found || !*found)
        return false;
    *ret_nr_pages = *found - 1;
    return true;
}

// The pages that the event's block lies in.
static uint64_t pages_of(const struct seep_recorded *event) {
    return (event->address % PAGE_BYTES + event->size + PAGE_BYTES - 1) / PAGE_BYTES;
}

// Up to where so many of the first pages of the event's block are written: to the middle of the last one,
// because the block begins at another place of its first page in the replay.
static uint64_t bytes_until(const struct seep_recorded *event, uint64_t nr_pages) {
    uint64_t before = event->address % PAGE_BYTES, end = nr_pages * PAGE_BYTES;
    uint64_t until = before + PAGE_BYTES / 2;
    bool is_whole = end >= before + event->size;
    return is_whole ? event->size : !nr_pages ? 0 : end > until ? end - until : 1;
}

// Of the call that was put last, which made this event's block: which of its pages are written.
static bool put_touch(struct planner *planner, size_t thread, const struct seep_recorded *event,
                      struct live_block *block) {
    uint32_t slot = block->slot;
    struct seep_replay_op *call = seep_plan_ops_last(&planner->threads[thread].ops);
    if (!planner->residences.nr_blocks || !call || call->slot != slot)
        return true;
    uint64_t nr_pages;
    if (find_resident(planner, event, &nr_pages))
        planner->plan->nr_touched++;
    else
        nr_pages = (uint64_t)(seep_page_shares_guess(&planner->shares, event->site, event->size) *
                                  (double)pages_of(event) +
                              0.5);
    uint64_t bytes = bytes_until(event, nr_pages);
    call->flags |= SEEP_REPLAY_TOUCHED;
    block->written = bytes;
    return put_op(planner, thread,
                  (struct seep_replay_op){.kind = SEEP_REPLAY_TOUCH, .slot = slot, .value = bytes});
}

static bool put_realloc(struct planner *planner, size_t thread, struct live_block *block) {
    struct planned_thread *own = &planner->threads[thread];
    own->is_pending = false;
    block->slot = own->pending.slot;
    if (own->pending.treatment == SEEP_TREAT_RESERVE && own->pending.thread == thread) {
        block->treatment = SEEP_TREAT_RESERVE;
        return true;
    }
    block->treatment = SEEP_TREAT_NONE;
    return wait_for(planner, thread, own->pending.thread, own->pending.op + 1) &&
           put_call(planner, thread, SEEP_REPLAY_REALLOC, block->slot, block->size, 0);
}

static bool put_allocation(struct planner *planner, size_t thread, const struct seep_recorded *event,
                           struct live_block *block) {
    uint64_t reserved = reserved_bytes(planner);
    uint8_t kind = kind_of(planner->profile, event->site);
    block->slot = take_slot(planner, &planner->threads[thread]);
    block->treatment = reserved ? SEEP_TREAT_RESERVE : SEEP_TREAT_NONE;
    return put_call(planner, thread, kind, block->slot, reserved ? reserved : event->size,
                    kind == SEEP_REPLAY_ALIGNED ? shift_of(event->address) : 0);
}

// A container grows: it has the room already, or what it has is copied.
static bool put_larger(struct planner *planner, size_t thread, const struct seep_recorded *event,
                       struct live_block *smaller, struct live_block *block) {
    if (smaller->treatment == SEEP_TREAT_RESERVE) {
        block->slot = smaller->slot;
        block->treatment = SEEP_TREAT_RESERVE;
        smaller->is_moved = true;
        return true;
    }
    uint32_t from = smaller->slot;
    uint64_t bytes = SEEP_MIN(smaller->size, (uint64_t)UINT32_MAX);
    return put_allocation(planner, thread, event, block) &&
           (!planner->options->change->copies ||
            put_plain(planner, thread, SEEP_REPLAY_COPY, block->slot, bytes << 32 | from));
}

static bool step_allocation(struct planner *planner, size_t thread, const struct seep_recorded *event) {
    struct planned_thread *own = &planner->threads[thread];
    const struct seep_plan_change *change = planner->options->change;
    struct live_block block = {.size = event->size, .written = event->size, .thread = (uint32_t)thread}, old;
    if (take_block(planner, event->address, &old) &&
        !free_block(planner, thread, &old)) // its free was not seen
        return false;
    block.treatment =
        change ? treatment_of(planner, seep_group_of(change->groups, event->site)) : SEEP_TREAT_NONE;
    struct live_block *smaller = find_smaller(planner);
    bool good = own->is_pending   ? put_realloc(planner, thread, &block)
                : block.treatment ? put_treated(planner, thread, &block)
                : smaller         ? put_larger(planner, thread, event, smaller, &block)
                                  : put_allocation(planner, thread, event, &block);
    if (good && block.treatment == SEEP_TREAT_NONE && event->size >= SEEP_RESIDENCE_LEAST_BYTES)
        good = put_touch(planner, thread, event, &block);
    block.op = own->ops.nr - 1;
    return good && add_block(planner, event->address, block);
}

static bool step_free(struct planner *planner, size_t thread, const struct seep_recorded *event) {
    struct planned_thread *own = &planner->threads[thread];
    struct live_block block;
    if (!find_block(planner, event->address)) {
        planner->plan->nr_skipped++;
        return true;
    }
    if (!take_block(planner, event->address, &block))
        return false;
    if (event->kind != SEEP_EVENT_FREE + SEEP_RELEASE_REALLOC)
        return free_block(planner, thread, &block);
    own->pending = block;
    own->pending_address = event->address;
    own->is_pending = true;
    return true;
}

static bool step_kept(struct planner *planner, size_t thread) {
    struct planned_thread *own = &planner->threads[thread];
    if (!own->is_pending)
        return true;
    own->is_pending = false;
    return add_block(planner, own->pending_address, own->pending);
}

// The thread of a recorded slot: the first one that has events is the main thread's.
static struct planned_thread *thread_of(struct planner *planner, uint32_t slot) {
    if (slot >= SEEP_PLAN_THREADS_MAX ||
        !seep_grow(&planner->threads, &planner->capacity, (size_t)slot + 1, sizeof(*planner->threads)))
        return NULL;
    planner->nr_threads = SEEP_MAX(planner->nr_threads, (size_t)slot + 1);
    return &planner->threads[slot];
}

// Others that are more than a window behind are waited for; a thread that begins waits for what was last
// before it.
static bool keep_together(struct planner *planner, size_t thread) {
    struct planned_thread *own = &planner->threads[thread];
    bool good = true;
    if (own->ops.nr == 0 && planner->nr_events)
        good = wait_for(planner, thread, planner->last_thread, planner->threads[planner->last_thread].ops.nr);
    if (planner->options->exact)
        return good &&
               wait_for(planner, thread, planner->last_thread, planner->threads[planner->last_thread].ops.nr);
    if (own->passed >= planner->nr_gates_before)
        return good;
    own->passed = planner->nr_gates_before;
    planner->plan->nr_waits++;
    return good && put_op(planner, thread,
                          (struct seep_replay_op){.kind = SEEP_REPLAY_PASS,
                                                  .slot = (uint32_t)(planner->nr_gates_before - 1)});
}

// The threads of the window that is over arrive at its gate.
static bool begin_window(struct planner *planner) {
    uint64_t gate = planner->nr_gates, nr = 0;
    planner->nr_gates_before = gate;
    if (planner->options->exact || planner->nr_threads == 1)
        return true;
    for (size_t i = 0; i < planner->nr_threads; i++)
        nr += planner->threads[i].ops.nr > planner->threads[i].at_window;
    planner->nr_gates += nr > 0;
    for (size_t i = 0; i < planner->nr_threads; i++) {
        struct planned_thread *own = &planner->threads[i];
        if (own->ops.nr == own->at_window)
            continue;
        if (!put_op(planner, i,
                    (struct seep_replay_op){.kind = SEEP_REPLAY_ARRIVE, .slot = (uint32_t)gate, .value = nr}))
            return false;
        nr = 0; // of one thread
        own->at_window = own->ops.nr;
    }
    return true;
}

static bool keep_time(struct planner *planner, size_t thread, int64_t at_ns) {
    struct planned_thread *own = &planner->threads[thread];
    if (!planner->options->at_speed || seep_time_less(at_ns, own->time_ns) < GAP_NS)
        return true;
    own->time_ns = at_ns;
    return put_op(planner, thread,
                  (struct seep_replay_op){.kind = SEEP_REPLAY_TIME, .value = (uint64_t)at_ns});
}

static bool step(struct planner *planner, const struct seep_recorded *event, int64_t at_ns) {
    size_t thread = event->slot;
    bool is_new_window = planner->nr_events && planner->nr_events % SEEP_PLAN_WINDOW == 0;
    bool is_allocation = event->kind == SEEP_EVENT_ALLOCATION;
    bool good = !is_new_window || begin_window(planner);
    good = good && keep_together(planner, thread) && keep_time(planner, thread, at_ns);
    if (good && !is_allocation && event->kind != SEEP_EVENT_KEPT)
        good = end_pending(planner, thread);
    if (good)
        good = is_allocation                     ? step_allocation(planner, thread, event)
               : event->kind == SEEP_EVENT_KEPT  ? step_kept(planner, thread)
               : seep_event_is_free(event->kind) ? step_free(planner, thread, event)
                                                 : true;
    planner->last_thread = thread;
    planner->nr_events++;
    planner->plan->duration_ns = SEEP_MAX(planner->plan->duration_ns, at_ns);
    return good && sample(planner, thread, at_ns);
}

static struct seep_error *too_large(const char *path, uint64_t nr) {
    return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                             "%s: %" PRIu64 " events are more than can be replayed", path,
                                             nr),
                           "record a part of the run, or with --keep-last");
}

// How many events of the process the recording has, as far as it tells before it is read: the sums of the
// last one that has any.
static struct seep_error *count_events(const char *path, const struct seep_process *process,
                                       uint64_t *ret_nr) {
    struct seep_event_file *file = NULL;
    struct seep_event_sums_place *places = NULL;
    size_t nr = 0;
    *ret_nr = 0;
    struct seep_error *error = seep_event_file_open(path, &file);
    if (!error && seep_event_file_is_whole(file))
        error = seep_event_file_sums(file, &places, &nr);
    for (size_t i = 0; !error && i < nr; i++)
        if (places[i].pid == process->pid)
            *ret_nr = SEEP_MAX(*ret_nr, places[i].nr_events);
    free(places);
    seep_event_file_close(file);
    return error;
}

// Refused before the recording is read, which takes minutes if it is so large: a plan needs memory for each
// event.
static struct seep_error *check_size(const char *path, const struct seep_process *process) {
    uint64_t nr;
    struct seep_error *error = count_events(path, process, &nr);
    if (error)
        return error;
    if (nr > SEEP_PLAN_EVENTS_MAX)
        return too_large(path, nr);
    struct seep_memory_limit limit;
    seep_memory_limit_find(getpid(), "", &limit);
    uint64_t used = seep_memory_limit_used(&limit), left = limit.bytes > used ? limit.bytes - used : 0;
    uint64_t needed = nr * sizeof(struct seep_replay_op);
    if (!limit.bytes || needed <= left)
        return NULL;
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED,
                          "%s: the plan of %" PRIu64 " events takes %s, and %s has %s left: "
                          "nothing was run",
                          path, nr, seep_format_bytes(needed).text, limit.what, seep_format_bytes(left).text),
        "take a larger machine, or record a part of the run");
}

static struct seep_error *not_kept(int trouble, uint64_t nr) {
    return seep_error_system(trouble, "cannot keep %" PRIu64 " operations in memory", nr);
}

struct reading {
    struct planner *planner;
    const char *path;
};

static struct seep_error *read_event(void *data, const struct seep_recorded *event, int64_t at_ns) {
    const struct reading *reading = data;
    if (reading->planner->nr_events == SEEP_PLAN_EVENTS_MAX)
        return too_large(reading->path, reading->planner->nr_events_all);
    if (!thread_of(reading->planner, event->slot))
        return event->slot >= SEEP_PLAN_THREADS_MAX
                   ? seep_error_create(SEEP_E_UNSUPPORTED,
                                       "%s: more than %u threads at once cannot be replayed", reading->path,
                                       SEEP_PLAN_THREADS_MAX)
                   : seep_error_no_memory();
    errno = 0;
    if (step(reading->planner, event, at_ns))
        return NULL;
    return errno == EFBIG ? not_kept(errno, reading->planner->nr_events_all) : seep_error_no_memory();
}

// All blocks that were looked at are known before the first block that was not.
static struct seep_error *learn_share(void *data, const struct seep_recorded *event, int64_t at_ns) {
    struct planner *planner = data;
    (void)at_ns;
    uint64_t nr_pages;
    if (event->kind != SEEP_EVENT_ALLOCATION || event->size < SEEP_RESIDENCE_LEAST_BYTES ||
        !find_resident(planner, event, &nr_pages))
        return NULL;
    double nr_all = (double)pages_of(event), part = SEEP_MIN((double)nr_pages, nr_all) / nr_all;
    return seep_page_shares_learn(&planner->shares, event->site, event->size, part) ? NULL
                                                                                    : seep_error_no_memory();
}

// ---- the stream -------------------------------------------------------------------------------------------

static struct seep_error *write_stream(struct planner *planner) {
    struct seep_plan *plan = planner->plan;
    struct seep_replay_head head = {.magic = SEEP_REPLAY_MAGIC,
                                    .version = SEEP_REPLAY_VERSION,
                                    .nr_slots = planner->nr_slots,
                                    .nr_gates = planner->nr_gates,
                                    .threads_off = sizeof(head)};
    // Slots of the recording that had no event are no threads; who waits names the others by their new
    // number.
    uint32_t *number = calloc(planner->nr_threads + 1, sizeof(*number));
    if (!number)
        return seep_error_no_memory();
    for (size_t i = 0; i < planner->nr_threads; i++) {
        number[i] = head.nr_threads;
        head.nr_threads += planner->threads[i].ops.nr > 0;
        head.nr_ops += planner->threads[i].ops.nr;
    }
    head.ops_off = head.threads_off + head.nr_threads * sizeof(struct seep_replay_thread);
    plan->nr_threads = head.nr_threads;
    plan->fd = memfd_create("seep-replay", MFD_CLOEXEC);
    bool good = plan->fd >= 0 && seep_write_memory_file(plan->fd, 0, &head, sizeof(head));
    uint64_t first = 0;
    for (size_t i = 0; good && i < planner->nr_threads; i++) {
        struct seep_plan_ops *ops = &planner->threads[i].ops;
        struct seep_replay_thread row = {.first_op = first, .nr_ops = ops->nr};
        if (!ops->nr)
            continue;
        good =
            seep_write_memory_file(plan->fd, head.threads_off + number[i] * sizeof(row), &row, sizeof(row)) &&
            seep_plan_ops_write(&planner->store, ops, number, plan->fd,
                                head.ops_off + first * sizeof(struct seep_replay_op));
        first += ops->nr;
    }
    int trouble = errno;
    free(number);
    return good ? NULL : not_kept(trouble, head.nr_ops);
}

static void planner_deinit(struct planner *planner) {
    for (size_t i = 0; i < planner->nr_threads; i++) {
        seep_plan_ops_deinit(&planner->threads[i].ops);
        free(planner->threads[i].free_slots);
    }
    seep_plan_store_deinit(&planner->store);
    free(planner->threads);
    free(planner->blocks);
    free(planner->free_blocks);
    seep_residences_deinit(&planner->residences);
    seep_page_shares_deinit(&planner->shares);
    seep_map_deinit(&planner->addresses);
    seep_map_deinit(&planner->waited);
}

void seep_plan_deinit(struct seep_plan *plan) {
    if (plan->fd >= 0)
        close(plan->fd);
    free(plan->program);
    free(plan->sample_live);
    free(plan->sample_ns);
    *plan = (struct seep_plan){.fd = -1};
}

struct seep_error *seep_plan_make(const char *path, const struct seep_session *session,
                                  const struct seep_plan_options *options, struct seep_plan *ret_plan) {
    struct seep_plan plan = {.fd = -1};
    struct planner planner = {.options = options,
                              .plan = &plan,
                              .addresses = SEEP_MAP_INIT,
                              .waited = SEEP_MAP_INIT,
                              .shares = SEEP_PAGE_SHARES_INIT};
    struct reading reading = {&planner, path};
    struct seep_error *error = seep_plan_store_init(&planner.store)
                                   ? seep_walk_choose(session, options->pid, path, &planner.profile)
                                   : seep_error_system(errno, "cannot make a memory file");
    if (!error) {
        planner.nr_events_all = planner.profile->totals.allocations + planner.profile->totals.frees;
        const struct seep_process *process = &planner.profile->process;
        error = check_size(path, process);
        if (!error && options->touch_recorded)
            error = seep_residences_read(path, process->pid, process->start_realtime_ns, &planner.residences);
    }
    if (!error && options->touch_needed && !planner.residences.nr_blocks)
        error = seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "%s: it was not recorded what was in memory", path),
            "seep run --mode record sees that of blocks from two pages on; or take --touch pages");
    if (!error && planner.residences.nr_blocks)
        error = seep_walk_events(path, planner.profile, &planner, learn_share);
    if (!error)
        error = seep_walk_events(path, planner.profile, &reading, read_event);
    for (size_t i = 0; !error && i < planner.nr_threads; i++)
        if (!end_pending(&planner, i))
            error = seep_error_no_memory();
    bool may_be_empty = options->change && options->change->treatment != SEEP_TREAT_NONE;
    if (!error && !plan.nr_calls && !may_be_empty)
        error =
            seep_shell_hint(seep_error_create(SEEP_E_UNSUPPORTED, "%s: process %u has no events to replay",
                                              path, planner.profile->process.pid),
                            "'seep report", path,
                            "' says if it is damaged, and which processes allocate: take one with --pid");
    if (!error)
        error = write_stream(&planner);
    if (!error) {
        plan.pid = planner.profile->process.pid;
        plan.nr_others = session->nr_profiles - 1;
        plan.is_cpu_time = options->at_speed || plan.nr_threads == 1;
        plan.program = strdup(planner.profile->process.name);
        if (!plan.program)
            error = seep_error_no_memory();
    }
    planner_deinit(&planner);
    if (error)
        seep_plan_deinit(&plan);
    else
        *ret_plan = plan;
    return error;
}
