// SPDX-License-Identifier: BSD-2-Clause
// The thread that looks and scans, see live_worker.h.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "live/live_worker.h"
#include "scan/stop.h"

struct seep_live_worker {
    const struct seep_live_source *source;
    pthread_t thread;
    pthread_mutex_t lock; // of all below
    pthread_cond_t wake;
    struct seep_live_order order;
    bool started; // a job waits, or is at work
    bool done;    // its result waits
    bool leave;
    struct seep_live_result result;
    int fd;
};

static void scan(const struct seep_live_source *source, struct seep_look *look) {
    *look = (struct seep_look){NULL};
    int64_t begin_ns = seep_monotonic_ns();
    look->error = seep_live_source_scan(source, &look->session);
    look->at_ns = seep_monotonic_ns();
    look->took_ns = look->at_ns - begin_ns;
}

static void do_order(const struct seep_live_source *source, const struct seep_live_order *order,
                     struct seep_live_result *result) {
    *result = (struct seep_live_result){.job = order->job, .control = order->control};
    switch (order->job) {
    case SEEP_LIVE_LOOK:
        seep_look_make(source, order->before, &result->look);
        break;
    case SEEP_LIVE_SCAN:
        scan(source, &result->look);
        break;
    case SEEP_LIVE_MARK:
        result->look.error = seep_live_source_mark(source, order->mark);
        break;
    case SEEP_LIVE_CONTROL:
        result->look.error =
            seep_live_source_control(source, order->before, &order->control, &result->obeyed);
        break;
    }
}

// Meanwhile it releases threads that did not stop for a scan in time, because this thread is their tracer.
static void rest(struct seep_live_worker *worker) {
    if (!seep_stop_holds()) {
        pthread_cond_wait(&worker->wake, &worker->lock);
        return;
    }
    struct timespec until = seep_timespec(seep_monotonic_ns() + SEEP_STOP_HOLDS_MS * INT64_C(1000000));
    pthread_cond_clockwait(&worker->wake, &worker->lock, CLOCK_MONOTONIC, &until);
}

static void *work(void *data) {
    struct seep_live_worker *worker = data;
    pthread_mutex_lock(&worker->lock);
    while (!worker->leave) {
        if (!worker->started || worker->done) {
            rest(worker);
            continue;
        }
        struct seep_live_order order = worker->order;
        pthread_mutex_unlock(&worker->lock);
        struct seep_live_result result;
        do_order(worker->source, &order, &result);
        pthread_mutex_lock(&worker->lock);
        worker->result = result;
        worker->done = true;
        uint64_t one = 1;
        if (write(worker->fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
            continue; // it is readable already
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

struct seep_error *seep_live_worker_create(const struct seep_live_source *source,
                                           struct seep_live_worker **ret_worker) {
    struct seep_live_worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return seep_error_no_memory();
    worker->source = source;
    worker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->fd < 0) {
        struct seep_error *error = seep_error_system(errno, "no descriptor for a thread that looks");
        free(worker);
        return error;
    }
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wake, NULL);
    int trouble = seep_quiet_thread_start(&worker->thread, work, worker);
    if (trouble) {
        close(worker->fd);
        free(worker);
        return seep_error_system(trouble, "no thread that looks");
    }
    *ret_worker = worker;
    return NULL;
}

void seep_live_worker_destroy(struct seep_live_worker *worker) {
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->leave = true;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    if (worker->done)
        seep_look_deinit(&worker->result.look);
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->wake);
    close(worker->fd);
    free(worker);
}

bool seep_live_worker_start(struct seep_live_worker *worker, const struct seep_live_order *order) {
    pthread_mutex_lock(&worker->lock);
    bool free_now = !worker->started;
    if (free_now) {
        worker->order = *order;
        worker->started = true;
        pthread_cond_signal(&worker->wake);
    }
    pthread_mutex_unlock(&worker->lock);
    return free_now;
}

bool seep_live_worker_is_busy(const struct seep_live_worker *worker) {
    return worker->started; // set and cleared by the thread that asks
}

int seep_live_worker_fd(const struct seep_live_worker *worker) {
    return worker->fd;
}

bool seep_live_worker_take(struct seep_live_worker *worker, struct seep_live_result *ret_result) {
    uint64_t nr;
    if (read(worker->fd, &nr, sizeof(nr)) != (ssize_t)sizeof(nr))
        return false;
    pthread_mutex_lock(&worker->lock);
    bool there = worker->done;
    if (there) {
        *ret_result = worker->result;
        worker->result = (struct seep_live_result){.obeyed = false};
        worker->done = worker->started = false;
    }
    pthread_mutex_unlock(&worker->lock);
    return there;
}
