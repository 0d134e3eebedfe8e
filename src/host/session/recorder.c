// SPDX-License-Identifier: BSD-2-Clause
// The recorder's thread, see recorder.h.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/large.h"
#include "base/quiet_thread.h"
#include "profile/verdict.h"
#include "session/rebuilt_heap.h"
#include "session/recorder.h"
#include "session/recorder_parts.h"

enum {
    NAP_LEAST_NS = 200000, // a shorter nap is left out
    LOOK_NS = 128000000,   // between looks for ended processes
};

// ---- passes ----------------------------------------------------------------------------------------

// What the profiles are told at the end.
static void keep_end(struct seep_recorder *recorder, struct seep_recorded_process *process) {
    if (!seep_grow(&recorder->ended, &recorder->ended_capacity, recorder->nr_ended + 1,
                   sizeof(*recorder->ended))) {
        seep_recording_fail(&recorder->out, seep_error_no_memory());
        return;
    }
    struct seep_ended_process *ended = &recorder->ended[recorder->nr_ended++];
    *ended = (struct seep_ended_process){.pid = process->life.chunk.pid,
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
        struct seep_recorded_process *process = malloc(sizeof(*process));
        if (!process || !seep_grow(&recorder->processes, &recorder->capacity, recorder->nr_processes + 1,
                                   sizeof(struct seep_recorded_process *))) {
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

static void end_residence(struct seep_recorder *recorder, struct seep_recorded_process *process) {
    seep_residence_end(&process->life.residence);
    if (recorder->out.trace)
        seep_recording_write_residence(&recorder->out, &process->life);
}

static void pass(struct seep_recorder *recorder, bool look_for_ended, bool last) {
    recorder->nap_ns = SEEP_RECORDER_NAP_MOST_NS;
    seep_recorder_beat(recorder);
    for (size_t i = 0; i < recorder->nr_processes;) {
        struct seep_recorded_process *process = recorder->processes[i];
        bool over = (look_for_ended || last) &&
                    seep_recorded_process_is_over(process); // before its last events are taken
        if (!seep_event_rings_look(
                &process->rings)) // each time: events of a new thread may come before others
            seep_recording_fail(&recorder->out, seep_error_no_memory());
        if (process->rings.own && !over) // its library has taken over, and writes what comes
            seep_recorded_process_forget(process);
        else if (!recorder->out.error)
            seep_recorded_process_take(recorder, process, over);
        else if (seep_recorded_process_drop(process, over))
            recorder->nap_ns = NAP_LEAST_NS;
        if (process->rings.own && !over) // found just now: what was taken in this pass is not all there was
            seep_recorded_process_forget(process);
        else if (over)
            seep_recorder_finish_process(recorder, process);
        else
            seep_recorder_seal(recorder, process, process->latest_before, last);
        seep_recorded_process_trim(process);
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
        seep_recorded_process_destroy(process);
        recorder->processes[i] = recorder->processes[--recorder->nr_processes];
    }
}

static void *work(void *data) {
    struct seep_recorder *recorder = data;
    int64_t nap_ns = NAP_LEAST_NS, looked_ns = 0;
    bool look_for_ended;
    while (welcome(recorder, &look_for_ended)) {
        int64_t now_ns = seep_monotonic_ns();
        look_for_ended |= now_ns - looked_ns >= LOOK_NS;
        looked_ns = look_for_ended ? now_ns : looked_ns;
        pass(recorder, look_for_ended, false);
        // A risen rate is seen only after the next nap, so that nap is at most twice the last one.
        nap_ns = SEEP_MIN(2 * nap_ns, recorder->nap_ns);
        if (nap_ns >= NAP_LEAST_NS)
            nap(recorder, nap_ns);
        nap_ns = SEEP_MAX(nap_ns, (int64_t)NAP_LEAST_NS);
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
    int trouble = seep_quiet_thread_start(&recorder->thread, work, recorder);
    recorder->started = !trouble;
    return trouble ? seep_error_system(trouble, "cannot start the thread that records") : NULL;
}

// A reader that finds the trace after our end knows which process it is of.
static struct seep_error *begin_trace(struct seep_recorder *recorder, struct seep_recorded_process *process) {
    const struct seep_recorder_options *options = &recorder->options;
    recorder->begun = true;
    struct seep_error *error =
        options->open(options->data, (pid_t)process->life.chunk.pid, &recorder->out.trace);
    if (!error)
        error = seep_recording_write_process(&recorder->out, &process->life);
    process->is_named = true;
    return error ? error : options->show(options->data, recorder->out.trace);
}

struct seep_error *seep_recorder_add(struct seep_recorder *recorder, const struct seep_run_image *image) {
    struct seep_recorded_process process = {.fd = fcntl(image->fd, F_DUPFD_CLOEXEC, 0)};
    if (process.fd < 0)
        return seep_error_system(errno, "cannot record process %d", (int)image->pid);
    if (!seep_event_rings_init(process.fd, &process.rings)) {
        close(process.fd);
        return NULL; // its profile says what it is
    }
    seep_recorded_life_init(&process.life, image, process.fd, &process.rings.head);
    if (!recorder->begun) {
        struct seep_error *failure = begin_trace(recorder, &process);
        if (failure)
            seep_recording_fail(&recorder->out, failure); // as of a later write; there is no thread yet
    }
    pthread_mutex_lock(&recorder->lock);
    bool fits = seep_grow(&recorder->fresh, &recorder->fresh_capacity, recorder->nr_fresh + 1,
                          sizeof(*recorder->fresh));
    if (fits)
        recorder->fresh[recorder->nr_fresh++] = process;
    pthread_cond_signal(&recorder->came);
    pthread_mutex_unlock(&recorder->lock);
    if (!fits) {
        close(process.fd);
        return seep_error_no_memory();
    }
    return recorder->started ? NULL : start(recorder);
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
    const struct seep_ended_process *ended = NULL;
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
        seep_recorded_process_destroy(recorder->processes[i]);
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
