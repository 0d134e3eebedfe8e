// SPDX-License-Identifier: BSD-2-Clause
// Images and notices of processes, as the listener receives them. See run_parts.h.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/live_thread.h"
#include "confine/helpers.h"
#include "process/proc_fields.h"
#include "source/image/image_decode.h"
#include "source/run/run_parts.h"

// What the library says may be anybody's lie: so many notices are kept.
#define NOTICES_MAX 65536u
#define NS_PER_S    INT64_C(1000000000)

static int64_t realtime_of(const struct seep_run *run, int64_t at_ns) {
    return run->start_realtime_ns + at_ns - run->start_ns;
}

// When an image that has just come was made. What cannot be, by our clock, is of another time namespace.
static int64_t start_of(const struct seep_run *run, uint64_t start_ns) {
    int64_t now_ns = seep_monotonic_ns();
    bool can_be = start_ns >= (uint64_t)run->start_ns && start_ns <= (uint64_t)now_ns;
    return realtime_of(run, can_be ? (int64_t)start_ns : now_ns);
}

bool seep_run_image_ended(const struct seep_run_image *image) {
    if (image->pid > 0 && kill(image->pid, 0) && errno == ESRCH)
        return true;
    struct seep_image_head head;
    if (seep_image_head_try(image->fd, &head) && head.header.state == SEEP_STATE_EXITED)
        return true;
    return image->pid > 0 && !seep_run_is_there(image->pid); // a zombie
}

// ---- images ---------------------------------------------------------------------------------------

void seep_run_image_close(struct seep_run_image *image) {
    if (image->fd >= 0)
        close(image->fd);
    if (image->end_fd >= 0)
        close(image->end_fd);
    image->fd = image->end_fd = -1;
}

void seep_run_release(struct seep_run_parked *parked) {
    if (parked->peer >= 0)
        close(parked->peer);
    parked->peer = -1;
}

// A process is leaving: its latest image and its memory may be looked at now.
static struct seep_error *take_parked(struct seep_run_supervisor *supervisor,
                                      const struct seep_listener_message *message) {
    struct seep_run *run = supervisor->run;
    const uint64_t *last = seep_map_find(&supervisor->last_of_pid, (uint64_t)message->pid);
    struct seep_run_parked parked = {.sp_rt = message->sp_rt, .peer = message->peer};
    struct seep_error *err = NULL;
    if (last && run->images[*last - 1].fd >= 0 && supervisor->events->parked) {
        run->images[*last - 1].parked = true;
        parked.image = &run->images[*last - 1];
        err = supervisor->events->parked(supervisor->events->data, &parked);
    }
    seep_run_release(&parked);
    return err;
}

static pid_t parent_of(pid_t pid) {
    struct seep_stat stat;
    return seep_proc_is_ours() && seep_stat_read(pid, 0, &stat)
               ? (pid_t)seep_stat_number(&stat, SEEP_STAT_PARENT)
               : 0;
}

struct seep_run_image *seep_run_last_image(const struct seep_run_supervisor *supervisor, pid_t pid) {
    uint64_t *last = seep_map_find(&supervisor->last_of_pid, (uint64_t)pid);
    return last && *last ? &supervisor->run->images[*last - 1] : NULL;
}

// A child of vfork makes the image of the process whose memory it is, and says whose. Only for a process that
// has none yet: no program can put an image in the place of its parent's.
static pid_t owner_of(const struct seep_run_supervisor *supervisor,
                      const struct seep_listener_message *message) {
    pid_t parent = message->own_pid == (uint32_t)message->pid || message->own_pid == seep_own_id(message->pid)
                       ? 0
                       : parent_of(message->pid);
    bool is_its =
        parent > 0 && seep_own_id(parent) == message->own_pid && !seep_run_last_image(supervisor, parent);
    return is_its ? parent : message->pid;
}

// The notice that is open for a process, if there is one, is not open any more.
static const struct seep_run_notice *answer_notice(struct seep_run_supervisor *supervisor, pid_t pid) {
    uint64_t *place = seep_map_find(&supervisor->notice_of_pid, (uint64_t)pid);
    if (!place || !*place)
        return NULL;
    struct seep_run_notice *notice = &supervisor->run->notices[*place - 1];
    notice->answered = true;
    *place = 0;
    struct seep_run_image *before = seep_run_last_image(supervisor, pid);
    if (before)
        before->leaving = false;
    return notice;
}

// The announced event did not happen, so its notice is removed. A program that tries repeatedly must not fill
// memory with notices.
static void take_back_notice(struct seep_run_supervisor *supervisor, pid_t pid) {
    struct seep_run *run = supervisor->run;
    const struct seep_run_notice *notice = answer_notice(supervisor, pid);
    if (notice && notice == &run->notices[run->nr_notices - 1])
        free(run->notices[--run->nr_notices].path);
}

// Where descriptors are short, what cannot be looked at goes on as long as it has its pid: the image of one
// that is taken for ended is read too early.
static bool goes_on_unseen(pid_t pid, int trouble) {
    return (trouble == EMFILE || trouble == ENFILE) && !(kill(pid, 0) && errno == ESRCH);
}

static bool has_not_ended(pid_t pid) {
    struct pollfd end = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
    if (end.fd < 0)
        return goes_on_unseen(pid, errno);
    bool goes_on = poll(&end, 1, 0) == 0;
    close(end.fd);
    return goes_on;
}

// The process exists: it runs, or is about to park. Not one that only waits for its parent to notice its end.
// *ret_start_ns: when it began, CLOCK_BOOTTIME, rounded down to a tick; 0: not known, because /proc is not
// ours.
static bool find_process(pid_t pid, int64_t *ret_start_ns) {
    struct seep_stat stat;
    *ret_start_ns = 0;
    if (seep_is_helper(pid)) // has the number that a process had
        return false;
    if (!seep_proc_is_ours())
        return has_not_ended(pid);
    pid_t thread = seep_live_thread(pid);
    errno = 0;
    if (!seep_stat_read(thread, 0, &stat))
        return goes_on_unseen(pid, errno);
    if (strchr("ZXx", seep_stat_state(&stat)))
        return false;
    uint64_t ticks = seep_stat_number(&stat, SEEP_STAT_STARTED);
    *ret_start_ns = (int64_t)(ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK)));
    return true;
}

// Whether a process that another one names may be of this run: all that ran before the program are not, and a
// run that waited for one of those would not end. The tool itself often began within the same tick.
static bool began_before(const struct seep_run *run, pid_t pid) {
    int64_t start_ns, tick_ns = NS_PER_S / sysconf(_SC_CLK_TCK);
    int64_t run_ns = run->start_ns + seep_clock_ns(CLOCK_BOOTTIME) - seep_monotonic_ns();
    return pid == getpid() || (find_process(pid, &start_ns) && start_ns && start_ns + tick_ns < run_ns);
}

static struct seep_error *take_notice(struct seep_run_supervisor *supervisor,
                                      const struct seep_listener_message *message) {
    const struct seep_notice *notice = message->notice;
    struct seep_run *run = supervisor->run;
    // What a process in a pid namespace of its own says of others cannot be told apart here.
    bool spawned = notice->flags & SEEP_NOTICE_SPAWNED;
    pid_t pid = spawned ? (pid_t)notice->pid : message->pid;
    if (supervisor->ignore_children || (spawned && message->own_pid != (uint32_t)message->pid) ||
        (spawned && began_before(run, pid)))
        return NULL;
    if (notice->flags & SEEP_NOTICE_FAILED) {
        take_back_notice(supervisor, pid);
        return NULL;
    }
    struct seep_run_image *image = seep_run_last_image(supervisor, pid);
    if (spawned && image && !image->announced) { // its image was quicker
        image->announced = true;
        if (message->own_pid == (uint32_t)message->pid)
            image->started_by = notice->image_pid;
        return NULL;
    }
    if (run->nr_notices == NOTICES_MAX) {
        run->notices_ran_out = true;
        return NULL;
    }
    uint64_t *of_pid = seep_map_at(&supervisor->notice_of_pid, (uint64_t)pid, NULL);
    if (!of_pid ||
        !seep_grow(&run->notices, &run->notices_capacity, run->nr_notices + 1, sizeof(*run->notices)))
        return seep_error_no_memory();
    struct seep_run_notice *kept = &run->notices[run->nr_notices];
    *kept = (struct seep_run_notice){.pid = pid,
                                     .flags = notice->flags,
                                     .foreign = message->foreign,
                                     .uid = message->uid,
                                     .gid = message->gid,
                                     .came_ns = seep_monotonic_ns(),
                                     .path = strdup(notice->path)};
    if (message->own_pid == (uint32_t)message->pid)
        kept->started_by = notice->image_pid;
    if (image && image->own_pid == notice->image_pid && !spawned)
        image->leaving = true;
    *of_pid = ++run->nr_notices;
    return kept->path ? NULL : seep_error_no_memory();
}

static struct seep_error *take_message(void *data, const struct seep_listener_message *message) {
    struct seep_run_supervisor *supervisor = data;
    struct seep_run *run = supervisor->run;
    if (message->notice)
        return take_notice(supervisor, message);
    if (message->fd < 0)
        return take_parked(supervisor, message);
    pid_t pid = owner_of(supervisor, message);
    // What the environment did not reach: a child that made its own.
    if (supervisor->ignore_children && pid != run->main_pid) {
        close(message->fd);
        return NULL;
    }
    uint64_t *last = seep_map_at(&supervisor->last_of_pid, (uint64_t)pid, NULL);
    struct stat file;
    bool noted = fstat(message->fd, &file) || seep_map_at(&supervisor->image_files, file.st_ino, NULL);
    if (!last || !noted ||
        !seep_grow(&run->images, &run->capacity, run->nr_images + 1, sizeof(*run->images))) {
        close(message->fd);
        return seep_error_no_memory();
    }
    struct seep_image_head head = {.is_swapped = false};
    bool forked = seep_image_head_try(message->fd, &head) && head.header.flags & SEEP_FLAG_FORKED;
    int64_t start_realtime_ns = start_of(run, head.header.start_ns);
    const struct seep_run_notice *notice = forked ? NULL : answer_notice(supervisor, pid);
    struct seep_run_image *before = *last ? &run->images[*last - 1] : NULL;
    if (before) {
        // One that was taken early had ended.
        bool left = !seep_image_head_try(before->fd, &head) || head.header.state == SEEP_STATE_EXITED;
        before->reused = forked || left;
        before->replaced = !before->reused;
        before->replaced_ns = seep_monotonic_ns();
    }
    run->images[run->nr_images] =
        (struct seep_run_image){.fd = message->fd,
                                .end_fd = pid == run->main_pid ? -1 : seep_run_end_open(before, pid),
                                .pid = pid,
                                .own_pid = message->own_pid,
                                .order = run->nr_images,
                                .start_realtime_ns = start_realtime_ns,
                                .came_ns = seep_monotonic_ns()};
    run->images[run->nr_images].announced = forked || notice;
    if (notice && notice->started_by != message->own_pid)
        run->images[run->nr_images].started_by = notice->started_by;
    *last = ++run->nr_images;
    supervisor->nr_held++;
    return supervisor->events->arrived
               ? supervisor->events->arrived(supervisor->events->data, &run->images[run->nr_images - 1])
               : NULL;
}

bool seep_run_is_there(pid_t pid) {
    int64_t start_ns;
    return find_process(pid, &start_ns);
}

bool seep_run_is_there_since(pid_t pid, int64_t came_ns) {
    int64_t start_ns;
    if (pid <= 0 || !find_process(pid, &start_ns))
        return false;
    int64_t now_ns = seep_monotonic_ns(); // first: what comes between the two clocks may only add
    return start_ns <= came_ns + seep_clock_ns(CLOCK_BOOTTIME) - now_ns;
}

enum { ANCESTORS_MAX = 64 };

bool seep_run_is_known(void *data, pid_t pid) {
    const struct seep_run_supervisor *supervisor = data;
    const pid_t asked = pid;
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++, pid = parent_of(pid)) {
        const struct seep_run_image *image = seep_run_last_image(supervisor, pid);
        if (pid == supervisor->run->main_pid && !supervisor->ended)
            return true;
        if (image && i == 0 && !seep_run_is_there(pid))
            return true; // it has ended since it connected
        if (image && seep_run_is_there_since(pid, image->came_ns))
            return true;
    }
    return seep_run_names_socket(asked, supervisor->listener.path) != SEEP_RUN_NOT_NAMED ||
           seep_run_has_image(asked, &supervisor->image_files);
}

// Nothing comes of the process any more. Where processes park, one that has left its program may still be
// on its way to that.
static bool is_over(const struct seep_run_supervisor *supervisor, const struct seep_run_image *image) {
    if (image->replaced || image->reused)
        return true;
    if (!seep_run_image_ended(image))
        return false;
    return !supervisor->events->parked || image->parked || !seep_run_is_there(image->pid);
}

// Hands over images of ended processes. Whatever is still running stays.
static struct seep_error *sweep(struct seep_run_supervisor *supervisor) {
    struct seep_run *run = supervisor->run;
    struct seep_error *err = NULL;
    for (size_t i = 0; i < run->nr_images && !err; i++) {
        struct seep_run_image *image = &run->images[i];
        if (image->fd < 0 || image->pid == run->main_pid)
            continue;
        if (!is_over(supervisor, image))
            continue;
        err = supervisor->events->early(supervisor->events->data, image);
        seep_run_image_close(image);
        supervisor->nr_held--;
    }
    supervisor->sweep_at = SEEP_MAX((size_t)SEEP_RUN_IMAGES_HELD, supervisor->nr_held * 2);
    return err;
}

struct seep_error *seep_run_read_listener(struct seep_run_supervisor *supervisor) {
    struct seep_error *err = seep_listener_read(&supervisor->listener, take_message, supervisor);
    bool ran_out = supervisor->listener.out_of_descriptors;
    if (!err && (supervisor->nr_held > supervisor->sweep_at || ran_out))
        err = sweep(supervisor);
    if (!err && ran_out) {
        err = seep_listener_read(&supervisor->listener, take_message, supervisor);
        supervisor->run->descriptors_ran_out |= supervisor->listener.out_of_descriptors;
    }
    return err;
}
