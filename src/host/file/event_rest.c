// SPDX-License-Identifier: BSD-2-Clause
// Files that go on from a trace, see event_rest.h.
#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "file/event_rest.h"
#include "file/trace.h"
#include "source/image/event_alone.h"

struct process {
    uint32_t pid;
    int64_t start_realtime_ns;
    uint64_t *last; // by slot: the latest stamp that the trace has
    size_t nr_slots;
    size_t slots_capacity;
};

struct rest {
    char *path;
    uint32_t pid;
    int64_t start_realtime_ns; // as the trace has it
    uid_t owner;               // of the trace
};

struct seep_event_rests {
    struct process *processes;
    size_t nr_processes;
    size_t processes_capacity;
    struct rest *rests;
    size_t nr;
    size_t capacity;
    size_t at;
    int fd; // of that one, which is at work; -1: none is
    struct seep_event_alone *alone;
    bool looked;
};

struct seep_error *seep_event_rests_create(struct seep_event_rests **ret_rests) {
    *ret_rests = calloc(1, sizeof(**ret_rests));
    if (*ret_rests)
        (*ret_rests)->fd = -1;
    return *ret_rests ? NULL : seep_error_no_memory();
}

static void close_rest(struct seep_event_rests *rests) {
    seep_event_alone_destroy(rests->alone);
    rests->alone = NULL;
    if (rests->fd >= 0)
        close(rests->fd);
    rests->fd = -1;
}

void seep_event_rests_destroy(struct seep_event_rests *rests) {
    if (!rests)
        return;
    for (size_t i = 0; i < rests->nr_processes; i++)
        free(rests->processes[i].last);
    for (size_t i = 0; i < rests->nr; i++)
        free(rests->rests[i].path);
    close_rest(rests);
    free(rests->processes);
    free(rests->rests);
    free(rests);
}

static struct process *find_process(struct seep_event_rests *rests, uint32_t pid, int64_t start_realtime_ns) {
    for (size_t i = 0; i < rests->nr_processes; i++)
        if (rests->processes[i].pid == pid && rests->processes[i].start_realtime_ns == start_realtime_ns)
            return &rests->processes[i];
    return NULL;
}

struct seep_error *seep_event_rests_pass(struct seep_event_rests *rests, const struct seep_chunk *chunk,
                                         const struct seep_recorded *events) {
    struct process *process = find_process(rests, chunk->pid, chunk->start_realtime_ns);
    if (!process) {
        if (!seep_grow(&rests->processes, &rests->processes_capacity, rests->nr_processes + 1,
                       sizeof(*rests->processes)))
            return seep_error_no_memory();
        process = &rests->processes[rests->nr_processes++];
        *process = (struct process){.pid = chunk->pid, .start_realtime_ns = chunk->start_realtime_ns};
    }
    for (uint64_t i = 0; i < chunk->nr_events; i++) {
        uint32_t slot = events[i].slot;
        if (slot >= SEEP_RING_SLOTS)
            continue;
        if (slot >= process->nr_slots) {
            if (!seep_grow(&process->last, &process->slots_capacity, (size_t)slot + 1,
                           sizeof(*process->last)))
                return seep_error_no_memory();
            for (; process->nr_slots <= slot; process->nr_slots++)
                process->last[process->nr_slots] = 0;
        }
        process->last[slot] = SEEP_MAX(process->last[slot], events[i].stamp);
    }
    return NULL;
}

// ---- the files ---------------------------------------------------------------------------------------

// NAME.PID, and of a process that was killed NAME.PID.PID.
static bool is_named(const char *file, const char *name, uint32_t *ret_pid) {
    size_t nr = strlen(name);
    if (strncmp(file, name, nr) != 0 || file[nr] != '.')
        return false;
    const char *digits = file + nr + 1;
    size_t nr_digits = strspn(digits, "0123456789");
    const char *behind = digits + nr_digits;
    *ret_pid = (uint32_t)strtoul(digits, NULL, 10);
    return nr_digits && nr_digits < 10 &&
           (!*behind ||
            (*behind == '.' && strncmp(behind + 1, digits, nr_digits) == 0 && behind[1 + nr_digits] == 0));
}

// The library does not know the scale on which the tool keeps the starts of processes. So a file belongs to
// the trace when it is of a process in the trace, or of one that started after the first of these. A file
// that an earlier recording of that name left is neither.
static bool goes_on(const struct seep_event_rests *rests, struct rest *rest) {
    enum { APART_NS = 1000000000 };
    int64_t first = INT64_MAX, own_ns = rest->start_realtime_ns;
    uint64_t least = APART_NS;
    for (size_t i = 0; i < rests->nr_processes; i++) {
        int64_t start_ns = rests->processes[i].start_realtime_ns;
        uint64_t apart =
            start_ns > own_ns ? (uint64_t)start_ns - (uint64_t)own_ns : (uint64_t)own_ns - (uint64_t)start_ns;
        first = SEEP_MIN(first, start_ns);
        if (rests->processes[i].pid != rest->pid || apart >= least)
            continue;
        least = apart;
        rest->start_realtime_ns = start_ns;
    }
    return least < APART_NS || own_ns > first;
}

// Of whom the trace is, or ours: others may write to the folder too. -1: it is not.
static int open_rest(const char *path, uid_t owner) {
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    bool is_its = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                  (about.st_uid == owner || about.st_uid == geteuid());
    if (fd >= 0 && !is_its) {
        close(fd);
        fd = -1;
    }
    return fd;
}

// No error and no rests->alone: it is none.
static struct seep_error *begin_rest(struct seep_event_rests *rests, const struct rest *rest) {
    rests->fd = open_rest(rest->path, rest->owner);
    if (rests->fd < 0)
        return NULL;
    struct seep_error *error =
        seep_event_alone_create(rests->fd, rest->path, seep_trace_most_bytes(rests->fd), &rests->alone);
    if (!error || error->code == SEEP_E_MEMORY)
        return error;
    seep_error_destroy(error);
    return NULL;
}

// Takes `path`. Skips any other file.
static struct seep_error *look_at(struct seep_event_rests *rests, char *path, uint32_t pid, uid_t owner) {
    struct rest rest = {.path = path, .pid = pid, .owner = owner};
    struct seep_error *error = begin_rest(rests, &rest);
    rest.start_realtime_ns = rests->alone ? (int64_t)seep_event_alone_start(rests->alone) : 0;
    bool wanted = rests->alone && goes_on(rests, &rest);
    close_rest(rests);
    if (wanted && seep_grow(&rests->rests, &rests->capacity, rests->nr + 1, sizeof(*rests->rests))) {
        rests->rests[rests->nr++] = rest;
        return error;
    }
    free(path);
    return wanted && !error ? seep_error_no_memory() : error;
}

static int by_path(const void *left, const void *right) {
    return strcmp(((const struct rest *)left)->path, ((const struct rest *)right)->path);
}

static struct seep_error *look_in(struct seep_event_rests *rests, DIR *folder, const char *folder_name,
                                  const char *name, uid_t owner) {
    struct seep_error *error = NULL;
    const struct dirent *entry;
    while (!error && (entry = readdir(folder))) {
        uint32_t pid;
        char *path;
        if (!is_named(entry->d_name, name, &pid))
            continue;
        if (asprintf(&path, "%s/%s", folder_name, entry->d_name) < 0)
            return seep_error_no_memory();
        error = look_at(rests, path, pid, owner);
    }
    return error;
}

struct seep_error *seep_event_rests_find(struct seep_event_rests *rests, const char *path) {
    if (rests->looked)
        return NULL;
    rests->looked = true;
    char *for_name = strdup(path), *for_folder = strdup(path);
    struct seep_error *error = for_name && for_folder ? NULL : seep_error_no_memory();
    const char *folder_name = error ? NULL : dirname(for_folder);
    struct stat trace;
    DIR *folder = error || stat(path, &trace) != 0 ? NULL : opendir(folder_name);
    if (folder) { // else the trace is all that there is
        error = look_in(rests, folder, folder_name, basename(for_name), trace.st_uid);
        closedir(folder);
    }
    free(for_name);
    free(for_folder);
    if (rests->nr)
        qsort(rests->rests, rests->nr, sizeof(*rests->rests), by_path);
    return error;
}

// ---- their events ------------------------------------------------------------------------------------

struct seep_error *seep_event_rests_next(struct seep_event_rests *rests, struct seep_chunk *ret_chunk,
                                         struct seep_recorded *ret_events) {
    for (; rests->at < rests->nr; rests->at++, close_rest(rests)) {
        const struct rest *rest = &rests->rests[rests->at];
        struct seep_error *error = rests->alone ? NULL : begin_rest(rests, rest);
        while (!error && rests->alone) {
            error = seep_event_alone_next(rests->alone, ret_chunk, ret_events);
            if (error || !ret_chunk->nr_events)
                break;
            ret_chunk->start_realtime_ns = rest->start_realtime_ns;
            const struct process *process = find_process(rests, ret_chunk->pid, ret_chunk->start_realtime_ns);
            uint64_t nr = 0;
            for (uint64_t i = 0; i < ret_chunk->nr_events; i++) // the tool's last events are in both
                if (!process || ret_events[i].slot >= process->nr_slots ||
                    ret_events[i].stamp > process->last[ret_events[i].slot])
                    ret_events[nr++] = ret_events[i];
            ret_chunk->nr_events = nr;
            if (nr)
                return NULL;
        }
        if (error)
            return error;
    }
    ret_chunk->nr_events = 0;
    return NULL;
}

void seep_event_rests_rewind(struct seep_event_rests *rests) {
    close_rest(rests);
    rests->at = 0;
}

const char *seep_event_rests_path(const struct seep_event_rests *rests, size_t i,
                                  int64_t *ret_start_realtime_ns) {
    *ret_start_realtime_ns = i < rests->nr ? rests->rests[i].start_realtime_ns : 0;
    return i < rests->nr ? rests->rests[i].path : NULL;
}
