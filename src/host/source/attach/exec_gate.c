// SPDX-License-Identifier: BSD-2-Clause
// Programs that wait to be executed, see exec_gate.h.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/live_thread.h"
#include "source/attach/exec_gate.h"

#define WAITING_MAX 64u
#define PATIENCE_NS INT64_C(500000000) // of one that nobody takes
#define SLICE_MS    50

struct seep_exec_gate {
    int fanotify;
    int came; // eventfd: somebody waits
    int end;  // eventfd: the thread is to end
    pthread_t thread;
    pthread_mutex_t lock; // of what follows
    struct seep_exec_waiting waiting[WAITING_MAX];
    int64_t since_ns[WAITING_MAX];
    size_t nr_waiting;
};

static void answer(const struct seep_exec_gate *gate, const struct seep_exec_waiting *waiting) {
    struct fanotify_response response = {.fd = waiting->fd, .response = FAN_ALLOW};
    ssize_t nr = write(gate->fanotify, &response, sizeof(response));
    (void)nr; // one that was killed meanwhile waits no longer
    close(waiting->fd);
}

// The oldest, under the lock.
static struct seep_exec_waiting remove_first(struct seep_exec_gate *gate) {
    struct seep_exec_waiting first = gate->waiting[0];
    gate->nr_waiting--;
    memmove(gate->waiting, gate->waiting + 1, gate->nr_waiting * sizeof(*gate->waiting));
    memmove(gate->since_ns, gate->since_ns + 1, gate->nr_waiting * sizeof(*gate->since_ns));
    return first;
}

static void add(struct seep_exec_gate *gate, const struct seep_exec_waiting *waiting) {
    pthread_mutex_lock(&gate->lock);
    bool fits = gate->nr_waiting < WAITING_MAX;
    if (fits) {
        gate->waiting[gate->nr_waiting] = *waiting;
        gate->since_ns[gate->nr_waiting++] = seep_monotonic_ns();
    }
    pthread_mutex_unlock(&gate->lock);
    if (fits)
        eventfd_write(gate->came, 1);
    else
        answer(gate, waiting);
}

static void read_events(struct seep_exec_gate *gate) {
    _Alignas(struct fanotify_event_metadata) char events[4096];
    ssize_t left = read(gate->fanotify, events, sizeof(events));
    const struct fanotify_event_metadata *event = (const void *)events;
    for (; FAN_EVENT_OK(event, left); event = FAN_EVENT_NEXT(event, left))
        if (event->fd >= 0)
            add(gate, &(struct seep_exec_waiting){event->pid, event->fd});
}

// Those that nobody took in time, or all. Returns whether others wait.
static bool let_go_old(struct seep_exec_gate *gate, bool all) {
    int64_t now_ns = seep_monotonic_ns();
    pthread_mutex_lock(&gate->lock);
    while (gate->nr_waiting && (all || now_ns - gate->since_ns[0] > PATIENCE_NS)) {
        struct seep_exec_waiting old = remove_first(gate);
        answer(gate, &old);
    }
    bool others = gate->nr_waiting != 0;
    pthread_mutex_unlock(&gate->lock);
    return others;
}

static void *watch(void *context) {
    struct seep_exec_gate *gate = context;
    struct pollfd events[] = {{.fd = gate->fanotify, .events = POLLIN}, {.fd = gate->end, .events = POLLIN}};
    bool others = false;
    while (!(events[1].revents & POLLIN)) {
        if (poll(events, 2, others ? SLICE_MS : -1) > 0 && events[0].revents & POLLIN)
            read_events(gate);
        others = let_go_old(gate, false);
    }
    return NULL;
}

// What is mounted over another mount has the name of both; that of a mount that is out of reach is refused.
// Source: proc_pid_mountinfo(5).
static bool mark_mounts(int fanotify, pid_t pid) {
    char name[64], line[4096], mount[2048], path[2200];
    snprintf(name, sizeof(name), "/proc/%d/mountinfo", (int)seep_live_thread(pid));
    FILE *file = fopen(name, "re");
    bool marked = false;
    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "%*s %*s %*s %*s %2047s", mount) != 1)
            continue;
        snprintf(path, sizeof(path), "/proc/%d/root%s", (int)seep_live_thread(pid), mount);
        marked |= fanotify_mark(fanotify, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN_EXEC_PERM, AT_FDCWD,
                                path) == 0;
    }
    if (file)
        fclose(file);
    return marked;
}

static bool start_thread(struct seep_exec_gate *gate) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); // they are for the tool's main thread
    int trouble = pthread_create(&gate->thread, NULL, watch, gate);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return trouble == 0;
}

static void close_all(struct seep_exec_gate *gate) {
    if (gate->fanotify >= 0)
        close(gate->fanotify);
    if (gate->came >= 0)
        close(gate->came);
    if (gate->end >= 0)
        close(gate->end);
    free(gate);
}

struct seep_exec_gate *seep_exec_gate_create(pid_t pid) {
    struct seep_exec_gate *gate = calloc(1, sizeof(*gate));
    if (!gate)
        return NULL;
    pthread_mutex_init(&gate->lock, NULL);
    gate->came = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    gate->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    gate->fanotify =
        fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC | O_LARGEFILE);
    if (gate->came >= 0 && gate->end >= 0 && gate->fanotify >= 0 && start_thread(gate)) {
        if (mark_mounts(gate->fanotify, pid))
            return gate;
        seep_exec_gate_destroy(gate);
        return NULL;
    }
    close_all(gate);
    return NULL;
}

void seep_exec_gate_destroy(struct seep_exec_gate *gate) {
    if (!gate)
        return;
    eventfd_write(gate->end, 1);
    pthread_join(gate->thread, NULL);
    let_go_old(gate, true);
    pthread_mutex_destroy(&gate->lock);
    close_all(gate);
}

int seep_exec_gate_fd(const struct seep_exec_gate *gate) {
    return gate ? gate->came : -1;
}

struct seep_exec_waiting seep_exec_gate_take(struct seep_exec_gate *gate) {
    struct seep_exec_waiting first = {0, -1};
    eventfd_t ignored;
    pthread_mutex_lock(&gate->lock);
    eventfd_read(gate->came, &ignored);
    if (gate->nr_waiting)
        first = remove_first(gate);
    pthread_mutex_unlock(&gate->lock);
    return first;
}

void seep_exec_gate_let_go(struct seep_exec_gate *gate, const struct seep_exec_waiting *waiting) {
    answer(gate, waiting);
}
