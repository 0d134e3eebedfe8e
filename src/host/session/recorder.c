// SPDX-License-Identifier: BSD-2-Clause
// The recorder's thread, see recorder.h.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/large.h"
#include "base/merge_heap.h"
#include "confine/foreign.h"
#include "confine/opener.h"
#include "file/event_file.h"
#include "profile/health.h"
#include "session/rebuilt_heap.h"
#include "session/recorder.h"
#include "session/recording_writer.h"
#include "source/image/event_alone.h"
#include "source/image/event_rings.h"

enum {
    NAP_LEAST_NS = 200000,
    NAP_MOST_NS = 2000000,
    SEAL_MS = 80,          // a chunk is written after this; with the time of writing that makes 0.1 s
    MANY_EVENTS = 4096,    // taken in a pass: no nap follows
    BUSY_PART = 16,        // of a ring is taken in a pass: a short nap follows
    LOOK_PASSES = 64,      // passes between looks for ended processes
    SURE_EVENTS = 1 << 20, // of a process that the tool may hold, whatever the size of its image
};

// Events of one thread that were taken and not yet written, in the order of their stamps.
struct queue {
    struct seep_event *events;
    size_t first;
    size_t end;
    size_t capacity;
    uint64_t last_stamp; // of what is in the trace
};

struct recorded_process {
    char *left_out; // why the events that its library wrote alone are missing; NULL: they are not
    struct seep_event_rings rings;
    int fd;
    bool is_named; // the file says which process it is
    struct seep_recorded_life life;
    struct queue *queues; // by slot
    size_t nr_queues;
    size_t queues_capacity;
    size_t nr_events;       // in all of them
    size_t nr_room;         // events that there is room for in all of them
    uint64_t nr_unwritten;  // events that were taken, and that an error has kept out of the trace
    bool pressed;           // a ring is half full of what is not written yet
    uint64_t latest_before; // stamp: the latest that there was a pass ago
    uint64_t latest;
};

// Of a process that has ended and whose events are all written.
struct ended_process {
    uint32_t pid;
    int64_t start_realtime_ns;
    char *left_out; // as of the process
    uint64_t nr_unwritten;
    struct seep_rebuilt_peak peak;
    bool has_peak;
};

struct seep_recorder {
    struct seep_recorder_options options;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;           // of what follows, up to the next remark
    struct recorded_process *fresh; // that have come and the thread has not seen
    size_t nr_fresh;
    size_t fresh_capacity;
    bool stop;
    bool look_for_ended;
    pthread_cond_t came; // one of these
    // Of the thread alone, and of the one that has joined it.
    struct recorded_process **processes;
    size_t nr_processes;
    size_t capacity;
    struct ended_process *ended;
    size_t nr_ended;
    size_t ended_capacity;
    struct seep_recording_writer out;
    struct seep_recorded *chunk; // SEEP_CHUNK_EVENTS
    uint32_t *heap;              // slots of the process at hand, the one with the lowest stamp first
    size_t heap_capacity;
    uint64_t beat;
    bool busy; // in the latest pass
};

// A thread that waits for room is told that we move.
static void beat(struct seep_recorder *recorder) {
    recorder->beat++;
    for (size_t i = 0; i < recorder->nr_processes; i++)
        seep_event_rings_beat(&recorder->processes[i]->rings, recorder->beat);
}

static void write_chunk(struct seep_recorder *recorder, struct recorded_process *process,
                        const struct seep_recorded *events, size_t nr) {
    seep_recording_write_chunk(&recorder->out, &process->life, events, nr);
    beat(recorder);
}

// ---- the order -------------------------------------------------------------------------------------

static bool is_known(uint32_t kind) {
    return kind == SEEP_EVENT_ALLOCATION || kind == SEEP_EVENT_KEPT || seep_event_is_free(kind);
}

// The key of a queue in the merge.
static uint64_t first_stamp(const void *of_process, uint32_t slot) {
    const struct recorded_process *process = of_process;
    const struct queue *queue = &process->queues[slot];
    return queue->first < queue->end ? SEEP_EVENT_STAMP(queue->events[queue->first]) : UINT64_MAX;
}

// The next event of a queue: false where it was none.
SEEP_INLINE bool take_next(struct queue *queue, uint32_t slot, struct seep_recorded *ret_event) {
    const struct seep_event *event = &queue->events[queue->first++];
    uint64_t wide = 0;
    if (SEEP_EVENT_KIND(*event) == SEEP_EVENT_WIDE && queue->first < queue->end) {
        wide = event->address;
        event = &queue->events[queue->first++];
    }
    *ret_event = (struct seep_recorded){
        .stamp = SEEP_EVENT_STAMP(*event),
        .address = event->address,
        .size = wide ? wide : SEEP_ENTRY_SIZE(event->entry),
        .site = SEEP_ENTRY_SITE(event->entry),
        .slot = slot,
        .kind = SEEP_EVENT_KIND(*event),
    };
    return is_known(ret_event->kind);
}

// What is in the file need not stay in the rings.
static void acknowledge(struct recorded_process *process) {
    for (size_t slot = 0; slot < process->nr_queues; slot++) {
        struct queue *queue = &process->queues[slot];
        queue->last_stamp =
            queue->first ? SEEP_EVENT_STAMP(queue->events[queue->first - 1]) : queue->last_stamp;
        if (slot < process->rings.nr_rings && process->rings.rings[slot].off)
            seep_event_rings_done(&process->rings, slot, queue->end - queue->first);
    }
}

// Merges what the threads did up to a stamp into chunks. A part of one is written only when it is `due`.
static void merge(struct seep_recorder *recorder, struct recorded_process *process, uint64_t up_to,
                  bool due) {
    uint32_t *heap = recorder->heap;
    size_t nr_heap = 0, nr = 0;
    for (uint32_t slot = 0; slot < process->nr_queues; slot++)
        if (first_stamp(process, slot) <= up_to)
            heap[nr_heap++] = slot;
    seep_merge_heap_make(heap, nr_heap, first_stamp, process);
    while (nr_heap && first_stamp(process, heap[0]) <= up_to &&
           (due || nr || process->nr_events >= SEEP_CHUNK_EVENTS)) {
        uint64_t limit = up_to; // from there on another thread is first
        for (size_t child = 1; child <= 2 && child < nr_heap; child++)
            limit = SEEP_MIN(limit, first_stamp(process, heap[child]));
        struct queue *queue = &process->queues[heap[0]];
        size_t before = queue->first;
        while (nr < SEEP_CHUNK_EVENTS && first_stamp(process, heap[0]) <= limit)
            nr += take_next(queue, heap[0], &recorder->chunk[nr]);
        process->nr_events -= queue->first - before;
        seep_merge_heap_sift_down(heap, nr_heap, 0, first_stamp, process);
        if (nr < SEEP_CHUNK_EVENTS)
            continue;
        if (!recorder->out.error)
            write_chunk(recorder, process, recorder->chunk, nr);
        if (recorder->out.error)
            process->nr_unwritten += nr;
        acknowledge(process);
        nr = 0;
    }
    if (nr && !recorder->out.error)
        write_chunk(recorder, process, recorder->chunk, nr);
    if (recorder->out.error)
        process->nr_unwritten += nr;
    acknowledge(process);
}

// Events up to that stamp are complete: they are written when it is time, or when they are many.
static void seal(struct seep_recorder *recorder, struct recorded_process *process, uint64_t up_to, bool all) {
    bool due = all || process->pressed ||
               seep_monotonic_ns() - process->life.sealed_ns >= SEAL_MS * INT64_C(1000000);
    if (!process->nr_events || (!due && process->nr_events < 2 * SEEP_CHUNK_EVENTS))
        return;
    if (!seep_grow(&recorder->heap, &recorder->heap_capacity, process->nr_queues, sizeof(*recorder->heap)))
        seep_recording_fail(&recorder->out, seep_error_no_memory());
    else
        merge(recorder, process, all ? UINT64_MAX - 1 : up_to, due);
}

// ---- passes ----------------------------------------------------------------------------------------

// How many events all rings of the process can hold. An event that the tool holds is still in its ring,
// because the library does not overwrite it. So events beyond this number are false, and count as lost.
static size_t most_events(const struct recorded_process *process) {
    struct stat status;
    uint64_t bytes = fstat(process->fd, &status) == 0 ? (uint64_t)status.st_blocks * 512 : 0;
    return SEEP_MAX((size_t)(bytes / sizeof(struct seep_event)), (size_t)SURE_EVENTS);
}

static bool is_too_many(const struct recorded_process *process, size_t nr) {
    return process->nr_events + nr > SURE_EVENTS && process->nr_events + nr > most_events(process);
}

// Frees the memory of empty queues, because one slot after another may have had many events.
static void give_back_room(struct recorded_process *process) {
    if (process->nr_room <= 4 * (size_t)SURE_EVENTS || process->nr_room <= 4 * most_events(process))
        return;
    for (size_t slot = 0; slot < process->nr_queues; slot++) {
        struct queue *queue = &process->queues[slot];
        if (queue->first < queue->end)
            continue;
        free(queue->events);
        process->nr_room -= queue->capacity;
        *queue = (struct queue){.last_stamp = queue->last_stamp};
    }
}

// Room for so many more at the end of a queue. false: out of memory.
static bool make_room(struct recorded_process *process, size_t slot, size_t nr) {
    if (slot >= process->nr_queues) {
        if (!seep_grow(&process->queues, &process->queues_capacity, slot + 1, sizeof(*process->queues)))
            return false;
        memset(process->queues + process->nr_queues, 0,
               (slot + 1 - process->nr_queues) * sizeof(*process->queues));
        process->nr_queues = slot + 1;
    }
    struct queue *queue = &process->queues[slot];
    if (queue->first) {
        memmove(queue->events, queue->events + queue->first,
                (queue->end - queue->first) * sizeof(*queue->events));
        queue->end -= queue->first;
        queue->first = 0;
    }
    process->nr_room -= queue->capacity;
    bool fits = seep_grow(&queue->events, &queue->capacity, queue->end + nr, sizeof(*queue->events));
    process->nr_room += queue->capacity;
    return fits;
}

// What was taken and not written is in the file of the library, or in the rings still.
static void take_nothing(struct recorded_process *process) {
    for (size_t slot = 0; slot < process->nr_queues; slot++)
        process->queues[slot].first = process->queues[slot].end = 0;
    process->nr_events = 0;
}

// After an error nothing more is written. Threads do not wait for that: what is in the rings is taken as
// lost.
static size_t drop_all(struct recorded_process *process, bool over) {
    size_t sum = 0;
    for (size_t slot = 0; slot < process->rings.nr_rings; slot++) {
        size_t nr = seep_event_rings_waiting(&process->rings, slot, over);
        process->rings.rings[slot].read += nr;
        if (process->rings.rings[slot].off)
            seep_event_rings_done(&process->rings, slot, 0);
        sum += nr;
    }
    process->nr_unwritten += sum + process->nr_events;
    take_nothing(process);
    return sum;
}

// Once through all threads of a process. Returns how many events there were.
static size_t take_all(struct seep_recorder *recorder, struct recorded_process *process, bool over) {
    size_t sum = 0;
    process->pressed = false;
    for (size_t slot = 0; slot < process->rings.nr_rings; slot++) {
        size_t nr = seep_event_rings_waiting(&process->rings, slot, over);
        if (is_too_many(process, nr)) {
            process->rings.rings[slot].read += nr;
            process->nr_unwritten += nr;
            continue;
        }
        if (nr && !make_room(process, slot, nr)) {
            seep_recording_fail(&recorder->out, seep_error_no_memory());
            continue;
        }
        struct queue *queue = slot < process->nr_queues ? &process->queues[slot] : NULL;
        if (nr)
            nr = seep_event_rings_take(&process->rings, slot, queue->events + queue->end, nr, over);
        // What is of one event stays together.
        if (nr > 1 && SEEP_EVENT_KIND(queue->events[queue->end + nr - 1]) == SEEP_EVENT_WIDE) {
            process->rings.rings[slot].read--;
            nr--;
        }
        recorder->busy |= nr * BUSY_PART > process->rings.rings[slot].capacity;
        if (nr) {
            queue->end += nr;
            process->nr_events += nr;
            process->latest = SEEP_MAX(process->latest, SEEP_EVENT_STAMP(queue->events[queue->end - 1]));
            sum += nr;
        }
        process->pressed |= queue && (queue->end - queue->first) * 2 > process->rings.rings[slot].capacity;
    }
    return sum;
}

// ---- the rest, of a library that has taken over ----

// The file that it left: with its last name, or of a process that was killed with the pid behind.
static char *find_rest(const struct seep_recorder *recorder, const struct recorded_process *process) {
    const struct seep_event_rings *rings = &process->rings;
    char *name = recorder->options.rest ? seep_event_rings_rest(rings, recorder->options.rest) : NULL;
    char *longer = NULL;
    if (!name || access(name, F_OK) == 0)
        return name;
    if (asprintf(&longer, "%s.%u", name, rings->head.header.pid) < 0 || access(longer, F_OK) != 0) {
        free(longer);
        longer = NULL;
    }
    free(name);
    return longer;
}

// Events of a queue, as they are in chunks; *ret_nr of them, malloc'ed.
static struct seep_recorded *unpack_queue(struct queue *queue, uint32_t slot, size_t *ret_nr) {
    struct seep_recorded *events = calloc(queue->end - queue->first + 1, sizeof(*events));
    *ret_nr = 0;
    while (events && queue->first < queue->end)
        *ret_nr += take_next(queue, slot, &events[*ret_nr]);
    return events;
}

static struct seep_error *merge_rest(struct seep_recorder *recorder, struct recorded_process *process,
                                     struct seep_event_alone *alone) {
    struct seep_error *error = NULL;
    for (uint32_t slot = 0; !error && slot < process->nr_queues; slot++) {
        size_t nr;
        struct seep_recorded *events = unpack_queue(&process->queues[slot], slot, &nr);
        if (!events || !seep_event_alone_add_ring(alone, slot, events, nr))
            error = seep_error_no_memory();
        free(events);
    }
    process->nr_events = 0;
    if (!error)
        error = seep_event_alone_rewind(alone);
    while (!error && !recorder->out.error) {
        struct seep_chunk chunk;
        size_t nr = 0;
        error = seep_event_alone_next(alone, &chunk, recorder->chunk);
        if (error || !chunk.nr_events)
            break;
        for (size_t i = 0; i < chunk.nr_events; i++) { // what we wrote before it took over is in both
            const struct seep_recorded *event = &recorder->chunk[i];
            if (event->slot >= process->nr_queues || event->stamp > process->queues[event->slot].last_stamp)
                recorder->chunk[nr++] = *event;
        }
        if (nr)
            write_chunk(recorder, process, recorder->chunk, nr);
    }
    return error;
}

// Of the process, by the owner of its image, or ours: others may write to the folder too.
static int open_rest(const struct recorded_process *process, const char *name) {
    struct stat status, image;
    int fd = seep_open_no_link(name);
    bool is_its = fd >= 0 && fstat(process->rings.fd, &image) == 0 && seep_file_status(fd, &status) &&
                  (status.st_uid == image.st_uid || status.st_uid == geteuid());
    if (fd >= 0 && !is_its) {
        close(fd);
        fd = -1;
    }
    return fd;
}

// The process has ended, and has left a file. Where no ring was taken over all of it is in the image too.
static void add_rest(struct seep_recorder *recorder, struct recorded_process *process, char *name) {
    struct seep_event_alone *alone = NULL;
    struct seep_error *error = NULL;
    int fd = open_rest(process, name);
    if (fd < 0)
        error = seep_error_create(SEEP_E_NOT_FOUND,
                                  "%s: not a file of process %u, which went on recording without us", name,
                                  process->rings.head.header.pid);
    if (!error)
        error = seep_event_alone_create(fd, name, seep_trace_most_bytes(fd), &alone);
    bool is_its = !error && seep_event_alone_start(alone) == process->rings.head.header.start_realtime_ns;
    if (is_its && process->rings.own)
        error = merge_rest(recorder, process, alone);
    else
        seal(recorder, process, 0, true);
    if (is_its && !error && !recorder->out.error && !seep_event_alone_damaged(alone))
        unlink(name);
    // The file of one process, which may lie, does not end the recording of the others.
    if (error && error->code == SEEP_E_MEMORY) {
        seep_recording_fail(&recorder->out, error);
    } else {
        if (error && process->rings.own)
            process->left_out = strdup(error->message);
        seep_error_destroy(error);
    }
    seep_event_alone_destroy(alone);
    if (fd >= 0)
        close(fd);
}

static void finish_process(struct seep_recorder *recorder, struct recorded_process *process) {
    char *name = find_rest(recorder, process);
    if (name)
        add_rest(recorder, process, name);
    else
        seal(recorder, process, 0, true);
    free(name);
    seep_recording_end_sums(&recorder->out, &process->life);
}

static void process_destroy(struct recorded_process *process) {
    seep_recorded_life_deinit(&process->life);
    seep_event_rings_deinit(&process->rings);
    if (process->fd >= 0)
        close(process->fd);
    for (size_t i = 0; i < process->nr_queues; i++)
        free(process->queues[i].events);
    free(process->queues);
    free(process->left_out);
    free(process);
}

// What the profiles are told at the end.
static void keep_end(struct seep_recorder *recorder, struct recorded_process *process) {
    if (!seep_grow(&recorder->ended, &recorder->ended_capacity, recorder->nr_ended + 1,
                   sizeof(*recorder->ended))) {
        seep_recording_fail(&recorder->out, seep_error_no_memory());
        return;
    }
    struct ended_process *ended = &recorder->ended[recorder->nr_ended++];
    *ended = (struct ended_process){.pid = process->life.chunk.pid,
                                    .start_realtime_ns = process->life.chunk.start_realtime_ns,
                                    .nr_unwritten = process->nr_unwritten,
                                    .left_out = process->left_out};
    process->left_out = NULL;
    if (!process->life.summing.begun || ended->left_out)
        return;
    ended->has_peak = seep_rebuilt_heap_peak(&process->life.summing.heap, &ended->peak);
    if (!ended->has_peak)
        seep_recording_fail(&recorder->out, seep_error_no_memory());
}

static bool is_over(const struct recorded_process *process) {
    if (kill((pid_t)process->life.chunk.pid, 0) && errno == ESRCH)
        return true;
    struct seep_image_head head;
    return !seep_image_head_try(process->fd, &head);
}

// Ends early when something comes.
static void nap(struct seep_recorder *recorder, int64_t nap_ns) {
    struct timespec until = seep_timespec(seep_monotonic_ns() + nap_ns);
    pthread_mutex_lock(&recorder->lock);
    if (!recorder->stop && !recorder->look_for_ended && !recorder->nr_fresh)
        pthread_cond_clockwait(&recorder->came, &recorder->lock, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&recorder->lock);
}

// What has come is the thread's from now on. false: it is to end.
static bool welcome(struct seep_recorder *recorder, bool *ret_look_for_ended) {
    pthread_mutex_lock(&recorder->lock);
    *ret_look_for_ended = recorder->look_for_ended;
    recorder->look_for_ended = false;
    for (size_t i = 0; i < recorder->nr_fresh; i++) {
        struct recorded_process *process = malloc(sizeof(*process));
        if (!process || !seep_grow(&recorder->processes, &recorder->capacity, recorder->nr_processes + 1,
                                   sizeof(struct recorded_process *))) {
            free(process);
            close(recorder->fresh[i].fd);
            seep_recording_fail(&recorder->out, seep_error_no_memory());
            continue;
        }
        *process = recorder->fresh[i];
        recorder->processes[recorder->nr_processes++] = process;
        struct seep_error *error = recorder->out.error || process->is_named
                                       ? NULL
                                       : seep_recording_write_process(&recorder->out, &process->life);
        if (error)
            seep_recording_fail(&recorder->out, error);
    }
    recorder->nr_fresh = 0;
    bool stop = recorder->stop;
    pthread_mutex_unlock(&recorder->lock);
    return !stop;
}

static void end_residence(struct seep_recorder *recorder, struct recorded_process *process) {
    seep_residence_end(&process->life.residence);
    if (recorder->out.trace)
        seep_recording_write_residence(&recorder->out, &process->life);
}

static size_t pass(struct seep_recorder *recorder, bool look_for_ended, bool last) {
    size_t sum = 0;
    recorder->busy = false;
    beat(recorder);
    for (size_t i = 0; i < recorder->nr_processes;) {
        struct recorded_process *process = recorder->processes[i];
        bool over = (look_for_ended || last) && is_over(process); // before its last events are taken
        if (!seep_event_rings_look(
                &process->rings)) // each time: events of a new thread may come before others
            seep_recording_fail(&recorder->out, seep_error_no_memory());
        if (process->rings.own && !over) // its library has taken over, and writes what comes
            take_nothing(process);
        else if (recorder->out.error)
            sum += drop_all(process, over);
        else
            sum += take_all(recorder, process, over);
        if (process->rings.own && !over) // found just now: what was taken in this pass is not all there was
            take_nothing(process);
        else if (over)
            finish_process(recorder, process);
        else
            seal(recorder, process, process->latest_before, last);
        give_back_room(process);
        process->latest_before = process->latest;
        if (!over)
            seep_residence_look(&process->life.residence, seep_monotonic_ns());
        if (over || last)
            end_residence(recorder, process);
        if (!over) {
            i++;
            continue;
        }
        keep_end(recorder, process);
        process_destroy(process);
        recorder->processes[i] = recorder->processes[--recorder->nr_processes];
    }
    return sum;
}

static void *work(void *data) {
    struct seep_recorder *recorder = data;
    int64_t nap_ns = NAP_LEAST_NS;
    uint64_t number = 0;
    bool look_for_ended;
    while (welcome(recorder, &look_for_ended)) {
        size_t nr = pass(recorder, look_for_ended || number++ % LOOK_PASSES == 0, false);
        if (nr > MANY_EVENTS)
            continue;
        nap_ns = recorder->busy ? NAP_LEAST_NS : SEEP_MIN(nap_ns * 2, (int64_t)NAP_MOST_NS);
        nap(recorder, nap_ns);
    }
    pass(recorder, true, true);
    return NULL;
}

// ---- from outside ----------------------------------------------------------------------------------

struct seep_error *seep_recorder_create(const struct seep_recorder_options *options,
                                        struct seep_recorder **ret_recorder) {
    struct seep_recorder *recorder = calloc(1, sizeof(*recorder));
    if (!recorder)
        return seep_error_no_memory();
    recorder->options = *options;
    recorder->chunk = seep_large_alloc(SEEP_CHUNK_EVENTS, sizeof(*recorder->chunk));
    bool good = seep_recording_writer_init(&recorder->out, options->keep_bytes);
    if (!recorder->chunk || !good || pthread_mutex_init(&recorder->lock, NULL) ||
        pthread_cond_init(&recorder->came, NULL)) {
        free(recorder->chunk);
        seep_recording_writer_deinit(&recorder->out);
        free(recorder);
        return seep_error_no_memory();
    }
    *ret_recorder = recorder;
    return NULL;
}

// Signals are for the thread that watches the program.
static struct seep_error *start(struct seep_recorder *recorder) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int trouble = pthread_create(&recorder->thread, NULL, work, recorder);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    recorder->started = !trouble;
    return trouble ? seep_error_system(trouble, "cannot start the thread that records") : NULL;
}

// A reader that finds the trace after our end knows which process it is of.
static struct seep_error *begin_trace(struct seep_recorder *recorder, struct recorded_process *process) {
    const struct seep_recorder_options *options = &recorder->options;
    struct seep_error *error =
        options->open(options->data, (pid_t)process->life.chunk.pid, &recorder->out.trace);
    if (!error)
        error = seep_recording_write_process(&recorder->out, &process->life);
    process->is_named = true;
    return error ? error : options->show(options->data, recorder->out.trace);
}

struct seep_error *seep_recorder_add(struct seep_recorder *recorder, const struct seep_run_image *image) {
    struct recorded_process process = {.fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0)};
    if (process.fd < 0)
        return seep_error_system(errno, "cannot record process %d", (int)image->pid);
    if (!seep_event_rings_init(process.fd, &process.rings)) {
        close(process.fd);
        return NULL; // its profile says what it is
    }
    seep_recorded_life_init(&process.life, image, process.fd, &process.rings.head);
    struct seep_error *error = recorder->out.trace ? NULL : begin_trace(recorder, &process);
    pthread_mutex_lock(&recorder->lock);
    bool fits = !error && seep_grow(&recorder->fresh, &recorder->fresh_capacity, recorder->nr_fresh + 1,
                                    sizeof(*recorder->fresh));
    if (fits)
        recorder->fresh[recorder->nr_fresh++] = process;
    pthread_cond_signal(&recorder->came);
    pthread_mutex_unlock(&recorder->lock);
    if (!fits)
        close(process.fd);
    if (!error && !fits)
        error = seep_error_no_memory();
    return error || recorder->started ? error : start(recorder);
}

void seep_recorder_ended(struct seep_recorder *recorder) {
    if (!recorder)
        return;
    pthread_mutex_lock(&recorder->lock);
    recorder->look_for_ended = true;
    pthread_cond_signal(&recorder->came);
    pthread_mutex_unlock(&recorder->lock);
}

struct seep_error *seep_recorder_finish(struct seep_recorder *recorder,
                                        struct seep_trace_writer **ret_writer) {
    pthread_mutex_lock(&recorder->lock);
    recorder->stop = true;
    pthread_cond_signal(&recorder->came);
    pthread_mutex_unlock(&recorder->lock);
    if (recorder->started)
        pthread_join(recorder->thread, NULL);
    recorder->started = false;
    struct seep_error *error = recorder->out.error;
    recorder->out.error = NULL;
    if (!error && recorder->out.trace)
        error = seep_recording_write_index(&recorder->out);
    if (!error) {
        *ret_writer = recorder->out.trace;
        recorder->out.trace = NULL;
    }
    return error;
}

struct seep_error *seep_recorder_tell(const struct seep_recorder *recorder, struct seep_profile *profile) {
    const struct seep_process *process = &profile->process;
    const struct ended_process *ended = NULL;
    for (size_t i = 0; i < recorder->nr_ended && !ended; i++)
        if (seep_process_is(process, recorder->ended[i].pid, recorder->ended[i].start_realtime_ns))
            ended = &recorder->ended[i];
    if (ended)
        profile->health.lost[SEEP_LOST_EVENT] += ended->nr_unwritten;
    if (ended && ended->left_out)
        return seep_profile_note(profile, SEEP_NOTE_EVENTS_STRANGE, "events are missing: %s",
                                 ended->left_out);
    bool all = ended && ended->has_peak && !profile->health.lost[SEEP_LOST_EVENT];
    return all ? seep_rebuilt_peak_give(&ended->peak, profile) : NULL;
}

void seep_recorder_destroy(struct seep_recorder *recorder) {
    if (!recorder)
        return;
    struct seep_trace_writer *writer = NULL;
    seep_error_destroy(seep_recorder_finish(recorder, &writer));
    seep_trace_writer_destroy(writer);
    for (size_t i = 0; i < recorder->nr_processes; i++)
        process_destroy(recorder->processes[i]);
    for (size_t i = 0; i < recorder->nr_fresh; i++)
        close(recorder->fresh[i].fd);
    for (size_t i = 0; i < recorder->nr_ended; i++) {
        free(recorder->ended[i].left_out);
        seep_rebuilt_peak_deinit(&recorder->ended[i].peak);
    }
    free(recorder->ended);
    free(recorder->processes);
    free(recorder->fresh);
    free(recorder->chunk);
    free(recorder->heap);
    seep_recording_writer_deinit(&recorder->out);
    pthread_cond_destroy(&recorder->came);
    pthread_mutex_destroy(&recorder->lock);
    free(recorder);
}
