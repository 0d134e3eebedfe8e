// SPDX-License-Identifier: BSD-2-Clause
//
// One look at a process and its descendants, see live.h. The images of the processes are kept open from look
// to look, so that the last one is read when the process has ended already.
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "file/session_file.h"
#include "live/live.h"
#include "process/gone.h"
#include "process/memory_limit.h"
#include "scan/scan.h"
#include "session/mark_live.h"
#include "session/session_open.h"
#include "source/image/image_copy.h"
#include "source/image/profile_image.h"

#define PROCESSES_MAX 256u // that are looked at
#define CHILDREN_MAX  4096u

// A number of /proc/PID/stat; 0: the process is not there. The name, field 2, may have anything in it.
#define STAT_THREADS 20u
#define STAT_STARTED 22u
static uint64_t stat_field(pid_t pid, unsigned which) {
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t nr = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[nr] = 0;
    char *at = strrchr(text, ')');
    for (unsigned field = 2; at && field < which; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

struct seep_error *seep_live_source_of(const char *name, const char *key_file,
                                       struct seep_live_source *ret_source) {
    struct seep_live_source source = {.name = name};
    if (seep_wire_is_address(name)) {
        source.is_pid = true;
        struct seep_error *refused = seep_wire_client_create(name, key_file, &source.link);
        if (!refused)
            *ret_source = source;
        return refused;
    }
    if (key_file)
        return seep_error_create(SEEP_E_USAGE, "--key is for tcp:HOST:PORT");
    struct seep_error *error = seep_parse_pid(name, &source.is_pid, &source.pid);
    if (error)
        return error;
    if (source.is_pid)
        source.started = stat_field(source.pid, STAT_STARTED);
    *ret_source = source;
    return NULL;
}

void seep_live_source_deinit(struct seep_live_source *source) {
    seep_wire_client_destroy(source->link);
    source->link = NULL;
}

// ---- what is asked for now and then ----

static struct seep_error *trace_of(const struct seep_live_source *source, bool scan,
                                   struct seep_session **ret_session) {
    unsigned char *bytes = NULL;
    size_t nr = 0;
    struct seep_error *error = seep_wire_client_trace(source->link, scan, &bytes, &nr);
    if (!error)
        error = seep_session_load_bytes(bytes, nr, source->name, ret_session);
    free(bytes);
    return error;
}

struct seep_error *seep_live_source_scan(const struct seep_live_source *source,
                                         struct seep_session **ret_session) {
    struct seep_scan_options options = {.roots = SEEP_ROOTS_ALL};
    if (source->link)
        return trace_of(source, true, ret_session);
    if (!source->is_pid)
        return seep_error_create(SEEP_E_UNSUPPORTED, "a file has no memory to be scanned");
    return seep_scan_process(source->pid, &options, ret_session);
}

struct seep_error *seep_live_source_mark(const struct seep_live_source *source, const char *name) {
    return source->link ? seep_wire_client_mark(source->link, name) : seep_mark_live(source->pid, name);
}

void seep_live_describe_control(const struct seep_image_control *asked, bool is_done, char *ret_text,
                                size_t text_bytes) {
    const char *when = is_done ? "" : " as soon as it allocates a little more";
    if (asked->recording == SEEP_RECORDING_STOP)
        snprintf(ret_text, text_bytes, "allocations are not recorded, releases are%s", when);
    else if (asked->recording == SEEP_RECORDING_START)
        snprintf(ret_text, text_bytes, "allocations are recorded%s", when);
    else
        snprintf(ret_text, text_bytes, "stacks are recorded to a depth of %" PRIu32 "%s", asked->depth, when);
}

struct seep_error *seep_live_source_control(const struct seep_live_source *source,
                                            const struct seep_look *look,
                                            const struct seep_image_control *asked, bool *ret_done) {
    if (source->link)
        return seep_wire_client_control(source->link, asked->recording, asked->depth, ret_done);
    *ret_done = true;
    for (size_t i = 0; i < look->session->nr_profiles; i++) {
        bool done = false;
        struct seep_error *error =
            seep_image_control_pid((pid_t)look->session->profiles[i]->process.pid, asked, &done);
        if (error && !i)
            return error;
        *ret_done &= done || error;
        seep_error_destroy(error);
    }
    return NULL;
}

struct seep_error *seep_live_source_whole(const struct seep_live_source *source,
                                          struct seep_session **ret_session) {
    *ret_session = NULL;
    return source->link ? trace_of(source, false, ret_session) : NULL;
}

struct seep_error *seep_live_source_blocks(const struct seep_live_source *source, uint64_t process,
                                           uint64_t site, uint64_t first, uint64_t nr,
                                           struct seep_wire_block **ret_blocks, size_t *ret_nr,
                                           uint64_t *ret_all) {
    return seep_wire_client_blocks(source->link, process, site, first, nr, ret_blocks, ret_nr, ret_all);
}

void seep_look_make_top(const struct seep_live_source *source, uint32_t nr, struct seep_look *ret_look) {
    unsigned char *bytes = NULL;
    size_t nr_bytes = 0;
    *ret_look = (struct seep_look){NULL};
    int64_t begin_ns = seep_monotonic_ns();
    ret_look->error = seep_wire_client_top(source->link, nr, &bytes, &nr_bytes);
    if (!ret_look->error)
        ret_look->error = seep_session_load_bytes(bytes, nr_bytes, source->name, &ret_look->session);
    free(bytes);
    ret_look->at_ns = seep_monotonic_ns();
    ret_look->took_ns = ret_look->at_ns - begin_ns;
}

// ---- descendants ----

struct pids {
    pid_t *items;
    size_t nr_items;
    size_t capacity;
};

#define TASKS_MAX 256u

static void add_children_of(struct pids *pids, const char *path) {
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    int child;
    while (pids->nr_items < CHILDREN_MAX && fscanf(file, "%d", &child) == 1) {
        if (!seep_grow(&pids->items, &pids->capacity, pids->nr_items + 1, sizeof(*pids->items)))
            break;
        pids->items[pids->nr_items++] = child;
    }
    fclose(file);
}

// Each thread has the children that it forked. A look has to be cheap: not those of very many threads.
static void add_children(struct pids *pids, pid_t pid) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        return;
    unsigned nr = 0;
    for (struct dirent *entry; nr < TASKS_MAX && (entry = readdir(folder));) {
        int task = atoi(entry->d_name);
        if (task <= 0)
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, task);
        add_children_of(pids, path);
        nr++;
    }
    closedir(folder);
}

// ---- one process ----

static struct seep_error *add_image(struct seep_look *look, int fd) {
    int *larger = realloc(look->image_fds, (look->nr_images + 1) * sizeof(*larger));
    if (!larger)
        return seep_error_no_memory();
    look->image_fds = larger;
    look->image_fds[look->nr_images++] = fd;
    return NULL;
}

// The profile of `from` goes to the session of the look; the first process makes it.
static struct seep_error *join(struct seep_look *look, struct seep_session *from) {
    if (!look->session) {
        look->session = from;
        return NULL;
    }
    struct seep_profile *profile = from->profiles[0];
    from->nr_profiles = 0;
    seep_session_destroy(from);
    profile->process.is_main = false;
    return seep_session_add(look->session, profile);
}

// Of the last look, or -1.
static int image_before(const struct seep_look *before, const struct seep_process *process) {
    for (size_t i = 0; before && before->session && i < before->nr_images; i++) {
        const struct seep_process *old = &before->session->profiles[i]->process;
        if (before->image_fds[i] >= 0 && old->pid == process->pid &&
            old->start_realtime_ns == process->start_realtime_ns)
            return dup(before->image_fds[i]);
    }
    return -1;
}

static struct seep_error *look_at(struct seep_look *look, const struct seep_look *before, pid_t pid) {
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_from_pid(pid, &session);
    if (error)
        return error;
    error = join(look, session);
    if (error)
        return error;
    look->rss_bytes += seep_process_rss(pid);
    look->nr_threads += (uint32_t)stat_field(pid, STAT_THREADS);
    int fd = seep_image_open_pid(pid);
    if (fd < 0) // it ended just now: what it left is to be read the next time
        fd = image_before(before, &look->session->profiles[look->session->nr_profiles - 1]->process);
    error = add_image(look, fd);
    if (error && fd >= 0)
        close(fd);
    return error;
}

// ---- what is left of one that has ended ----

static struct seep_error *look_back(struct seep_look *look, const struct seep_look *before) {
    for (size_t i = 0; i < before->nr_images; i++) {
        const struct seep_profile *old = before->session->profiles[i];
        if (before->image_fds[i] < 0)
            continue;
        struct seep_image_copy *copy = NULL;
        struct seep_profile *profile = NULL;
        struct seep_session *session = NULL;
        struct seep_error *error = seep_image_copy_from_fd(before->image_fds[i], "the image", &copy);
        if (!error)
            error = seep_profile_from_image(copy, &profile);
        seep_image_copy_destroy(copy);
        if (!error)
            error = seep_session_create(&session);
        if (error) {
            seep_profile_destroy(profile);
            return error;
        }
        profile->process.pid = old->process.pid;
        profile->process.is_main = !look->session;
        error = seep_session_add(session, profile);
        if (error)
            seep_session_destroy(session);
        if (!error)
            error = join(look, session);
        int fd = error ? -1 : dup(before->image_fds[i]);
        if (!error)
            error = add_image(look, fd);
        if (error)
            return error;
    }
    return NULL;
}

static void look_at_all(const struct seep_live_source *source, const struct seep_look *before,
                        struct seep_look *look) {
    uint64_t started = stat_field(source->pid, STAT_STARTED);
    bool gone = !started || (source->started && started != source->started);
    if (!gone)
        look->error = look_at(look, before, source->pid);
    // Between one line and the next it may end, too; and there is the time between exec and a new image.
    if (before && before->session && (gone || (look->error && seep_process_is_zombie(source->pid)))) {
        seep_error_destroy(look->error);
        look->ended = true;
        look->error = look_back(look, before);
        return;
    }
    if (gone && !look->error)
        look->error = seep_process_gone(source->pid, "name a running process, or a trace file");
    if (look->error)
        return;
    struct pids pids = {NULL};
    add_children(&pids, source->pid);
    for (size_t i = 0; i < pids.nr_items && !look->error; i++) {
        add_children(&pids, pids.items[i]);
        if (look->session->nr_profiles >= PROCESSES_MAX) {
            look->nr_untraced++;
            continue;
        }
        struct seep_error *error = look_at(look, before, pids.items[i]);
        if (error && error->code == SEEP_E_MEMORY) {
            look->error = error;
        } else if (error) { // it is not traced, has no image yet, or has ended
            look->nr_untraced++;
            seep_error_destroy(error);
        }
    }
    free(pids.items);
    struct seep_memory_limit limit;
    seep_memory_limit_find(source->pid, "", &limit);
    look->limit_bytes = limit.bytes;
    look->used_bytes = seep_memory_limit_used(&limit);
    snprintf(look->limit, sizeof(look->limit), "%s", limit.what);
}

// The other side looks, and says what has changed.
static void look_over_link(const struct seep_live_source *source, struct seep_look *look) {
    struct seep_wire_look told;
    look->error = seep_wire_client_pull(source->link, &look->session, &told);
    if (look->error)
        return;
    look->epoch = seep_hash64(told.server ^ told.epoch) | 1;
    look->ended = told.ended;
    look->rss_bytes = told.rss_bytes;
    look->used_bytes = told.used_bytes;
    look->limit_bytes = told.limit_bytes;
    snprintf(look->limit, sizeof(look->limit), "%s", told.limit);
    look->nr_threads = (uint32_t)told.nr_threads;
    look->nr_untraced = told.nr_untraced;
}

void seep_look_make(const struct seep_live_source *source, const struct seep_look *before,
                    struct seep_look *ret_look) {
    *ret_look = (struct seep_look){NULL};
    int64_t begin_ns = seep_monotonic_ns();
    if (source->link) {
        look_over_link(source, ret_look);
    } else if (source->is_pid) {
        look_at_all(source, before, ret_look);
    } else {
        ret_look->ended = true;
        ret_look->error = seep_session_open(source->name, &ret_look->session);
    }
    ret_look->at_ns = seep_monotonic_ns();
    ret_look->took_ns = ret_look->at_ns - begin_ns;
    if (!ret_look->error)
        return;
    struct seep_error *error = ret_look->error;
    ret_look->error = NULL;
    seep_look_deinit(ret_look);
    ret_look->error = error;
}
