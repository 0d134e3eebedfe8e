// SPDX-License-Identifier: BSD-2-Clause
//
// One look at a process and its descendants, see live.h. The images of the processes are kept open from look
// to look, so that the last one is read when the process has ended already.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "live/look_process.h"
#include "process/gone.h"
#include "process/memory_limit.h"
#include "process/proc_fields.h"
#include "process/process_group.h"
#include "profile/verdict.h"
#include "scan/scan.h"
#include "scan/stop.h"
#include "source/image/image_copy.h"
#include "source/image/profile_image.h"
#include "source/image/unseen_allocators.h"

#define CONTROL_WAIT_NS 500000000L
// A program that allocates goes the long way now and then, and takes less than this time until then.
#define CONTROL_NUDGE_NS 20000000L
#define SPARE_FDS        256u // that a look leaves: for 100 clients, their answers, libraries of symbols

// 0: the process is not there.
static uint64_t stat_number(pid_t pid, enum seep_stat_field field) {
    struct seep_stat stat;
    return seep_stat_read(pid, 0, &stat) ? seep_stat_number(&stat, field) : 0;
}

uint64_t seep_look_started(pid_t pid) {
    return stat_number(pid, SEEP_STAT_STARTED);
}

bool seep_look_is_gone(const struct seep_live_source *source) {
    uint64_t started = seep_look_started(source->pid);
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)source->pid);
    if (!started) // without a descriptor for it, the file cannot be read
        return access(path, F_OK) != 0;
    return source->started && started != source->started;
}

uint32_t seep_look_nr_threads(pid_t pid) {
    return (uint32_t)stat_number(pid, SEEP_STAT_THREADS);
}

size_t seep_look_most(size_t nr, unsigned each) {
    struct rlimit limit;
    size_t most = SEEP_MIN(nr, (size_t)SEEP_LOOK_PROCESSES);
    rlim_t wanted = (rlim_t)(most * each + SPARE_FDS);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return most;
    limit.rlim_cur = SEEP_MIN(wanted, limit.rlim_max);
    setrlimit(RLIMIT_NOFILE, &limit);
    size_t spare = SEEP_MIN((size_t)SPARE_FDS, (size_t)limit.rlim_cur / 2);
    return SEEP_MIN(most, ((size_t)limit.rlim_cur - spare) / each);
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
static int image_before(const struct seep_look *before, size_t index, const struct seep_process *process) {
    if (!before || !before->session)
        return -1;
    size_t i = seep_profiles_find_from(before->session->profiles, before->nr_images, index, process->pid,
                                       process->start_realtime_ns);
    return i < before->nr_images && before->image_fds[i] >= 0 ? dup(before->image_fds[i]) : -1;
}

static bool is_of_files(const struct seep_note *note) {
    return note->code == SEEP_NOTE_OWN_ALLOCATOR || note->code == SEEP_NOTE_OWN_MALLOC ||
           note->code == SEEP_NOTE_OWN_ALLOCATOR_LIKELY || note->code == SEEP_NOTE_GO_RUNTIME ||
           note->code == SEEP_NOTE_PAST_MALLOC || note->code == SEEP_NOTE_PAST_FREE;
}

static const struct seep_profile *profile_before(const struct seep_look *before, size_t index,
                                                 const struct seep_profile *profile) {
    const struct seep_session *session = before ? before->session : NULL;
    size_t nr = session ? session->nr_profiles : 0;
    size_t i = nr ? seep_profiles_find_from(session->profiles, nr, index, profile->process.pid,
                                            profile->process.start_realtime_ns)
                  : 0;
    return i < nr ? session->profiles[i] : NULL;
}

struct seep_error *seep_look_keep_notes(struct seep_profile *profile, const struct seep_profile *old) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < old->health.nr_notes; i++)
        if (old->health.notes[i].code == SEEP_NOTE_BESIDE_MALLOC) // a scan may have noted it
            error = seep_profile_note_beside(profile);
        else if (is_of_files(&old->health.notes[i]))
            error = seep_profile_note(profile, old->health.notes[i].code, "%s", old->health.notes[i].text);
    return error;
}

struct seep_error *seep_look_note_files(struct seep_profile *profile, const struct seep_profile *old) {
    // Files are searched for lookups of malloc only if there are wrong frees, so new ones ask for a new
    // search.
    if (!old || old->nr_modules != profile->nr_modules ||
        profile->nr_wrong_releases != old->nr_wrong_releases)
        return seep_profile_note_allocators(profile, (pid_t)profile->process.pid);
    return seep_look_keep_notes(profile, old);
}

static struct seep_error *look_at(struct seep_look *look, const struct seep_look *before, pid_t pid) {
    struct seep_session *session = NULL;
    const size_t index = look->nr_images;
    struct seep_error *error = seep_session_from_image_pid(pid, &session);
    if (error)
        return error;
    error = seep_look_note_files(session->profiles[0],
                                 look->noted_ns ? profile_before(before, index, session->profiles[0]) : NULL);
    if (error) {
        seep_session_destroy(session);
        return error;
    }
    error = join(look, session);
    if (error)
        return error;
    look->session->profiles[look->session->nr_profiles - 1]->process.cpu_ns = seep_process_cpu_ns(pid);
    look->rss_bytes += seep_process_rss(pid);
    look->nr_threads += seep_look_nr_threads(pid);
    int fd = seep_image_open_pid(pid);
    if (fd < 0) // it ended just now: what it left is to be read the next time
        fd = image_before(before, index, &look->session->profiles[look->session->nr_profiles - 1]->process);
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
        struct seep_profile *profile = NULL;
        struct seep_session *session = NULL;
        struct seep_error *error =
            seep_profile_from_fd(before->image_fds[i], (pid_t)old->process.pid, &profile);
        if (error)
            return error;
        profile->process.is_main = !look->session;
        error = seep_session_of(profile, &session);
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
    bool gone = seep_look_is_gone(source);
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
    struct seep_pids pids = {NULL};
    look->error = seep_pids_add_family(&pids, source->pid);
    const size_t most = seep_look_most(pids.nr_items, 2); // this look and the one before have one each
    for (size_t i = 1; i < pids.nr_items && !look->error; i++) {
        if (look->session->nr_profiles >= most) {
            look->nr_unseen++;
            continue;
        }
        struct seep_error *error = look_at(look, before, pids.items[i]);
        if (error && error->code == SEEP_E_MEMORY) {
            look->error = error;
        } else if (error) { // it is not traced, has no image yet, or has ended
            look->nr_unseen += !seep_process_is_ending(pids.items[i]);
            seep_error_destroy(error);
        }
    }
    seep_pids_deinit(&pids);
    struct seep_memory_limit limit;
    seep_memory_limit_find(source->pid, "", &limit);
    look->limit_bytes = limit.bytes;
    look->used_bytes = seep_memory_limit_used(&limit);
    snprintf(look->limit, sizeof(look->limit), "%s", limit.what);
}

void seep_look_end(struct seep_look *look, int64_t begin_ns) {
    look->at_ns = seep_monotonic_ns();
    look->took_ns = look->at_ns - begin_ns;
    if (!look->error)
        return;
    struct seep_error *error = look->error;
    look->error = NULL;
    seep_look_deinit(look);
    look->error = error;
}

void seep_look_make_here(const struct seep_live_source *source, const struct seep_look *before,
                         struct seep_look *ret_look) {
    *ret_look = (struct seep_look){NULL};
    int64_t begin_ns = seep_monotonic_ns(), begin_cpu_ns = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (before && begin_ns - before->noted_ns < SEEP_LOOK_NOTED_NS)
        ret_look->noted_ns = before->noted_ns;
    look_at_all(source, before, ret_look);
    if (!ret_look->noted_ns)
        ret_look->noted_ns = begin_ns;
    seep_look_end(ret_look, begin_ns);
    // The rest between looks depends on what a look costs, not on the load of the machine.
    ret_look->took_ns = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns;
}

// ---- what is asked for now and then ----

struct seep_error *seep_look_scan(pid_t pid, struct seep_session **ret_session) {
    struct seep_scan_options options = {.roots = SEEP_ROOTS_ALL};
    return seep_scan_process(pid, &options, ret_session);
}

int seep_look_rest_ms(int rest_ms) {
    return seep_stop_holds() ? SEEP_MIN(rest_ms, SEEP_STOP_HOLDS_MS) : rest_ms;
}

static struct seep_error *tell(struct seep_pids *pids, const struct seep_image_control *asked) {
    size_t nr = 0;
    for (size_t i = 0; i < pids->nr_items; i++) {
        struct seep_error *error = seep_image_control_pid(pids->items[i], asked);
        if (error && i == 0)
            return error;
        if (!error)
            pids->items[nr++] = pids->items[i];
        seep_error_destroy(error);
    }
    pids->nr_items = nr;
    return NULL;
}

// Leaves in `pids` the processes that do not follow yet.
static void ask_done(struct seep_pids *pids, bool nudges) {
    size_t nr = 0;
    for (size_t i = 0; i < pids->nr_items; i++)
        if (!seep_image_control_is_done(pids->items[i], nudges))
            pids->items[nr++] = pids->items[i];
    pids->nr_items = nr;
}

struct seep_error *seep_look_control_pids(struct seep_pids *pids, const struct seep_image_control *asked,
                                          bool *ret_done) {
    struct seep_error *error = tell(pids, asked);
    int64_t begin_ns = seep_monotonic_ns(), waited_ns = 0;
    for (long rest_ns = 1000000; !error && pids->nr_items;
         rest_ns = SEEP_MIN(2 * rest_ns, CONTROL_NUDGE_NS)) {
        ask_done(pids, waited_ns >= CONTROL_NUDGE_NS);
        waited_ns = seep_monotonic_ns() - begin_ns;
        if (waited_ns >= CONTROL_WAIT_NS)
            break;
        if (pids->nr_items)
            nanosleep(&(struct timespec){0, rest_ns}, NULL);
    }
    *ret_done = !pids->nr_items;
    seep_pids_deinit(pids);
    return error;
}

struct seep_error *seep_look_control(const struct seep_look *look, const struct seep_image_control *asked,
                                     bool *ret_done) {
    struct seep_pids pids = {NULL};
    for (size_t i = 0; i < look->session->nr_profiles; i++) {
        struct seep_error *error = seep_pids_add(&pids, (pid_t)look->session->profiles[i]->process.pid);
        if (error) {
            seep_pids_deinit(&pids);
            return error;
        }
    }
    return seep_look_control_pids(&pids, asked, ret_done);
}
