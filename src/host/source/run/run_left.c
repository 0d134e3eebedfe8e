// SPDX-License-Identifier: BSD-2-Clause
// Waits for the processes that run on when the program has ended. See run_parts.h.
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "source/run/run_parts.h"

// So long after the program's end it is said who runs on.
#define SAY_WAITING_NS INT64_C(1000000000)
// Descendants beyond those that are polled for are looked at that often.
#define LOOK_AGAIN_MS 100

// ---- those that run on when the program has ended ----------------------------------------------------

// From now on the signals of the terminal ask for the report: there is no program any more that they are for.
static struct seep_error *take_signals(struct seep_run_supervisor *supervisor) {
    static const int stopping[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(stopping); i++)
        sigaddset(&mask, stopping[i]);
    if (signalfd(supervisor->signals.fd, &mask, 0) < 0)
        return seep_error_system(errno, "cannot watch for signals");
    sigprocmask(SIG_BLOCK, &mask, NULL);
    signal(SIGINT, SIG_DFL); // what is ignored does not come
    return NULL;
}

static bool add_left(struct seep_run_supervisor *supervisor, pid_t pid) {
    if (!seep_grow(&supervisor->left, &supervisor->left_capacity, supervisor->nr_left + 1,
                   sizeof(*supervisor->left)))
        return false;
    struct seep_run_idle *left = &supervisor->left[supervisor->nr_left++];
    left->pid = pid;
    seep_run_idle_name(pid, left->name);
    if (supervisor->nr_left_fds < SEEP_RUN_POLLED_FOR_MAX) {
        int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd >= 0)
            supervisor->left_fds[supervisor->nr_left_fds++] = fd;
    }
    return true;
}

static void forget_left(struct seep_run_supervisor *supervisor) {
    for (size_t i = 0; i < supervisor->nr_left_fds; i++)
        close(supervisor->left_fds[i]);
    supervisor->nr_left_fds = supervisor->nr_left = 0;
}

// Those with an image or a notice first; /proc, which costs more, is searched when there is none of them.
static struct seep_error *find_left(struct seep_run_supervisor *supervisor) {
    struct seep_run *run = supervisor->run;
    bool done = true;
    forget_left(supervisor);
    for (size_t i = 0; done && i < run->nr_images; i++) {
        const struct seep_run_image *image = &run->images[i];
        if (image->fd >= 0 && image->pid != run->main_pid && !image->replaced && !image->reused &&
            seep_run_is_there_since(image->pid, image->came_ns))
            done = add_left(supervisor, image->pid);
    }
    for (size_t i = 0; done && i < run->nr_notices; i++) {
        const struct seep_run_notice *notice = &run->notices[i];
        const struct seep_run_image *image = seep_run_last_image(supervisor, notice->pid);
        bool listed = image && image->fd >= 0 && !image->replaced && !image->reused;
        if (!notice->answered && notice->pid != run->main_pid && !listed &&
            seep_run_is_there_since(notice->pid, notice->came_ns))
            done = add_left(supervisor, notice->pid);
    }
    if (!done)
        return seep_error_no_memory();
    run->nr_idle = 0;
    if (supervisor->nr_left)
        return NULL;
    struct seep_error *err = seep_run_find_idle(run, supervisor->listener.path, &supervisor->last_of_pid,
                                                &supervisor->notice_of_pid, &supervisor->image_files);
    for (size_t i = 0; !err && i < run->nr_idle; i++)
        if (seep_run_is_there(run->idle[i].pid) && !add_left(supervisor, run->idle[i].pid))
            err = seep_error_no_memory();
    return err;
}

// How long to sleep: until a look is due, or it is time to say who is waited for, or to see those that cannot
// be polled for.
static int pause_ms(const struct seep_run_supervisor *supervisor, int64_t look_ns, int64_t say_ns) {
    int left_ms = seep_run_until(SEEP_MIN(look_ns, say_ns));
    bool all_polled = supervisor->nr_left_fds == supervisor->nr_left;
    return all_polled || (left_ms >= 0 && left_ms < LOOK_AGAIN_MS) ? left_ms : LOOK_AGAIN_MS;
}

struct seep_error *seep_run_wait_for_left(struct seep_run_supervisor *supervisor) {
    int64_t later_ns = seep_monotonic_ns() + SAY_WAITING_NS;
    int64_t say_ns = supervisor->events->waiting ? later_ns : INT64_MAX;
    // An order to end comes once, as from timeout(1): where the program took it, none follows for the tool.
    int64_t end_ns = supervisor->signals.told_to_end ? later_ns : INT64_MAX;
    int64_t look_ns = supervisor->events->look_on ? 0 : INT64_MAX;
    struct seep_error *err = take_signals(supervisor);
    while (!err && !supervisor->stopped) {
        int ready;
        err = seep_run_read_listener(supervisor);
        if (!err)
            err = find_left(supervisor);
        // A child gives up its parent's image only when its own is on the way.
        size_t nr_images = supervisor->run->nr_images;
        if (!err && !supervisor->nr_left)
            err = seep_run_read_listener(supervisor);
        // A descendant that was found and has ended since may have left another one.
        bool none = !supervisor->nr_left && !supervisor->run->nr_idle;
        if (err || (none && supervisor->run->nr_images == nr_images)) {
            supervisor->none_left = !err && !supervisor->run->outrun;
            break;
        }
        if (!supervisor->nr_left) {
            seep_run_read_signals(supervisor);
            continue;
        }
        if (seep_monotonic_ns() >= end_ns)
            break;
        if (seep_monotonic_ns() >= say_ns) {
            say_ns = INT64_MAX;
            supervisor->events->waiting(supervisor->events->data, supervisor->left, supervisor->nr_left);
        }
        seep_run_look_on(supervisor, &look_ns);
        err = seep_run_poll_once(supervisor, pause_ms(supervisor, look_ns, SEEP_MIN(say_ns, end_ns)), &ready);
        seep_run_read_signals(supervisor);
    }
    forget_left(supervisor);
    return err;
}

// Hellos that were under way when the program ended.
