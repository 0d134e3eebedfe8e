// SPDX-License-Identifier: BSD-2-Clause
// Jobs of the live screen and their thread, see screen_maker.h.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "base/sum.h"
#include "screen/screen_maker.h"

struct seep_screen_maker {
    pthread_t thread;
    pthread_mutex_t lock; // of all below
    pthread_cond_t wake;
    pthread_cond_t is_done;
    struct seep_screen_job *job; // NULL: none
    bool done;
    bool leave;
    int fd;
};

void seep_screen_job_do(struct seep_screen_job *job) {
    if (job->of_row) {
        job->error = seep_live_detail_make(job->live, job->symbols, job->table, job->row, &job->made_detail);
        return;
    }
    struct seep_live_table table;
    struct seep_screen_tree tree = {.made = false};
    job->error = seep_live_table_make(job->live, job->symbols, &job->query, &table);
    if (job->error)
        return;
    if (job->tree && table.view)
        job->error = seep_screen_tree_make(&tree, table.view);
    job->made = table;
    job->made_tree = tree;
}

static void *work(void *data) {
    struct seep_screen_maker *maker = data;
    pthread_mutex_lock(&maker->lock);
    while (!maker->leave) {
        if (!maker->job || maker->done) {
            pthread_cond_wait(&maker->wake, &maker->lock);
            continue;
        }
        struct seep_screen_job *job = maker->job;
        pthread_mutex_unlock(&maker->lock);
        seep_screen_job_do(job);
        pthread_mutex_lock(&maker->lock);
        maker->done = true;
        pthread_cond_signal(&maker->is_done);
        uint64_t one = 1;
        if (write(maker->fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
            continue; // it is readable already
    }
    pthread_mutex_unlock(&maker->lock);
    return NULL;
}

struct seep_error *seep_screen_maker_create(struct seep_screen_maker **ret_maker) {
    struct seep_screen_maker *maker = calloc(1, sizeof(*maker));
    if (!maker)
        return seep_error_no_memory();
    maker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (maker->fd < 0) {
        struct seep_error *error = seep_error_system(errno, "no descriptor for a thread that makes tables");
        free(maker);
        return error;
    }
    pthread_mutex_init(&maker->lock, NULL);
    pthread_cond_init(&maker->wake, NULL);
    pthread_cond_init(&maker->is_done, NULL);
    int trouble = seep_quiet_thread_start(&maker->thread, work, maker);
    if (trouble) {
        close(maker->fd);
        free(maker);
        return seep_error_system(trouble, "no thread that makes tables");
    }
    *ret_maker = maker;
    return NULL;
}

void seep_screen_maker_destroy(struct seep_screen_maker *maker) {
    if (!maker)
        return;
    pthread_mutex_lock(&maker->lock);
    maker->leave = true;
    pthread_cond_signal(&maker->wake);
    pthread_mutex_unlock(&maker->lock);
    pthread_join(maker->thread, NULL);
    pthread_mutex_destroy(&maker->lock);
    pthread_cond_destroy(&maker->wake);
    pthread_cond_destroy(&maker->is_done);
    close(maker->fd);
    free(maker);
}

int seep_screen_maker_fd(const struct seep_screen_maker *maker) {
    return maker->fd;
}

void seep_screen_maker_start(struct seep_screen_maker *maker, struct seep_screen_job *job) {
    pthread_mutex_lock(&maker->lock);
    maker->job = job;
    maker->done = false;
    pthread_cond_signal(&maker->wake);
    pthread_mutex_unlock(&maker->lock);
}

bool seep_screen_maker_wait(struct seep_screen_maker *maker, int64_t most_ns) {
    struct timespec until =
        seep_timespec(most_ns == INT64_MAX ? most_ns : seep_time_plus(seep_monotonic_ns(), most_ns));
    pthread_mutex_lock(&maker->lock);
    int trouble = 0;
    while (!maker->done && !trouble)
        trouble = pthread_cond_clockwait(&maker->is_done, &maker->lock, CLOCK_MONOTONIC, &until);
    bool done = maker->done;
    uint64_t nr;
    if (done) {
        maker->job = NULL;
        maker->done = false;
        if (read(maker->fd, &nr, sizeof(nr)) != (ssize_t)sizeof(nr))
            nr = 0; // it was read before
    }
    pthread_mutex_unlock(&maker->lock);
    return done;
}
