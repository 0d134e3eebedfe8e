// SPDX-License-Identifier: BSD-2-Clause
//
// Starts the program and watches over it: one poll loop over a signalfd (the program's end, signals
// to forward), the listener, and peers that have yet to speak. See run.h.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>

#include "base/clock.h"
#include "base/live_thread.h"
#include "base/map.h"
#include "confine/opener.h"
#include "source/run/environment.h"
#include "source/run/listener.h"
#include "source/run/program.h"
#include "source/run/run.h"
#include "source/run/run_idle.h"
#include "source/image/image_decode.h"

// With more images of ended processes than this, they are made into profiles while the program runs.
#define IMAGES_HELD 64u
// How long peers that connected have to say hello when the program has ended.
#define LAST_WORDS_MS 200
// What the library says may be anybody's lie: so many notices are kept.
#define NOTICES_MAX 65536u
// So long after the program's end it is said who runs on.
#define SAY_WAITING_NS INT64_C(1000000000)
// Descendants beyond those that are polled for are looked at that often.
#define LOOK_AGAIN_MS 100
// Polled for at once: each takes a descriptor.
#define POLLED_FOR_MAX 64u
#define NS_PER_S       INT64_C(1000000000)

// SIGINT and SIGQUIT come from the terminal to the program as well: it decides; and a reader that stops
// reading reports must not end the trace. The others are for us to hand on.
static const int watched[] = {SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGHUP, SIGCHLD};
enum { NR_IGNORED = 3 };

struct signals {
    struct sigaction before[SEEP_ARRAY_SIZE(watched)];
    sigset_t mask_before;
    int fd;
};

struct supervisor {
    struct seep_run *run;
    struct seep_listener listener;
    struct signals signals;
    const struct seep_run_events *events;
    struct seep_map last_of_pid;   // pid to index of its latest image + 1
    struct seep_map notice_of_pid; // pid to index of its latest notice + 1, while nothing came of it
    size_t nr_held;
    size_t sweep_at; // number of held images at which to look for ended ones
    bool ended;
    bool stopped; // a signal came that asks for the report, after the program's end
    bool ignore_children;
    struct pollfd *polls;
    size_t polls_capacity;
    struct seep_run_idle *left; // who runs on when the program has ended
    size_t nr_left;
    size_t left_capacity;
    int left_fds[POLLED_FOR_MAX]; // pidfds of the first of them
    size_t nr_left_fds;
};

void seep_run_destroy(struct seep_run *run) {
    if (!run)
        return;
    for (size_t i = 0; i < run->nr_images; i++)
        if (run->images[i].fd >= 0)
            close(run->images[i].fd);
    for (size_t i = 0; i < run->nr_notices; i++) {
        free(run->notices[i].path);
        free(run->notices[i].why);
    }
    free(run->images);
    free(run->notices);
    free(run->idle);
    free(run->path);
    free(run->why_untraced);
    free(run);
}

// One scale for all of a run: the wall clock of its start, and CLOCK_MONOTONIC from there on. A clock that is
// set meanwhile does not put children before their parents.
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
    return seep_image_head_try(image->fd, &head) && head.header.state == SEEP_STATE_EXITED;
}

// ---- signals --------------------------------------------------------------------------------------

static struct seep_error *signals_init(struct signals *ret_signals) {
    sigset_t mask;
    sigemptyset(&mask);
    for (size_t i = NR_IGNORED; i < SEEP_ARRAY_SIZE(watched); i++)
        sigaddset(&mask, watched[i]);
    int fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return seep_error_system(errno, "cannot watch for signals");
    ret_signals->fd = fd;
    sigprocmask(SIG_BLOCK, &mask, &ret_signals->mask_before);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(watched); i++) {
        struct sigaction action = {.sa_handler = i < NR_IGNORED ? SIG_IGN : SIG_DFL};
        sigaction(watched[i], &action, &ret_signals->before[i]);
    }
    return NULL;
}

// Async-signal-safe: the child uses it between vfork and exec.
static void signals_restore(const struct signals *signals) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(watched); i++)
        sigaction(watched[i], &signals->before[i], NULL);
    sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

// ---- starting -------------------------------------------------------------------------------------

// Async-signal-safe, see SEEP_ENVIRONMENT_IGNORE.
static void write_own_pid(char *const *environment) {
    static const char name[] = SEEP_ENVIRONMENT_IGNORE;
    for (; *environment; environment++) {
        if (strncmp(*environment, name, sizeof(name) - 1) != 0)
            continue;
        unsigned pid = (unsigned)getpid();
        for (char *digit = *environment + strlen(*environment); digit > *environment + sizeof(name) - 1;
             pid /= 10)
            *--digit = (char)('0' + pid % 10);
    }
}

// Runs in the parent's memory, which waits meanwhile (vfork): a copy of it would be made for nothing, page by
// page. What it leaves changed there: *ret_trouble, the number in `environment`, errno.
static _Noreturn void child_exec(const struct signals *signals, const char *path, char *const *argv,
                                 char *const *environment, bool ignore_children, volatile int *ret_trouble) {
    signals_restore(signals);
    if (ignore_children)
        write_own_pid(environment);
    execve(path, argv, environment);
    *ret_trouble = errno;
    _exit(SEEP_EXIT_NOT_EXECUTABLE);
}

#if SEEP_WITH_ASAN
// AddressSanitizer's own cleans the thread's stack from where it is called; we may be on another, see
// command/own_stack.c.
extern pid_t __vfork(void) __attribute__((returns_twice));
#define vfork __vfork
#endif

// *ret_trouble: errno of a failed exec, or 0.
static struct seep_error *start(struct supervisor *supervisor, const char *path, char *const *argv,
                                char *const *environment, int *ret_trouble) {
    volatile int trouble = 0;
    supervisor->run->start_realtime_ns = seep_clock_ns(CLOCK_REALTIME);
    supervisor->run->start_ns = seep_monotonic_ns();
    pid_t pid = vfork();
    if (pid == 0)
        child_exec(&supervisor->signals, path, argv, environment, supervisor->ignore_children, &trouble);
    if (pid < 0)
        return seep_error_system(errno, "cannot start a process");
    supervisor->run->main_pid = pid;
    *ret_trouble = trouble;
    if (trouble)
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    return NULL;
}

// Every image is a descriptor. The program was started before this: its limit is not touched.
static void raise_own_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

// ---- images ---------------------------------------------------------------------------------------

void seep_run_release(struct seep_run_parked *parked) {
    if (parked->peer >= 0)
        close(parked->peer);
    parked->peer = -1;
}

// A process is leaving: its latest image and its memory may be looked at now.
static struct seep_error *take_parked(struct supervisor *supervisor,
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

static struct seep_run_image *last_image(const struct supervisor *supervisor, pid_t pid) {
    uint64_t *last = seep_map_find(&supervisor->last_of_pid, (uint64_t)pid);
    return last && *last ? &supervisor->run->images[*last - 1] : NULL;
}

// The notice that is open for a process, if there is one, is not open any more.
static const struct seep_run_notice *answer_notice(struct supervisor *supervisor, pid_t pid) {
    uint64_t *place = seep_map_find(&supervisor->notice_of_pid, (uint64_t)pid);
    if (!place || !*place)
        return NULL;
    struct seep_run_notice *notice = &supervisor->run->notices[*place - 1];
    notice->answered = true;
    *place = 0;
    struct seep_run_image *before = last_image(supervisor, pid);
    if (before)
        before->leaving = false;
    return notice;
}

// It did not come to that. A program that tries again and again takes no more for it.
static void take_back_notice(struct supervisor *supervisor, pid_t pid) {
    struct seep_run *run = supervisor->run;
    const struct seep_run_notice *notice = answer_notice(supervisor, pid);
    if (notice && notice == &run->notices[run->nr_notices - 1])
        free(run->notices[--run->nr_notices].path);
}

// The process exists: it runs, or is about to park. Not one that only waits for its parent to notice its end.
// *ret_start_ns: when it began, CLOCK_BOOTTIME, rounded down to a tick.
static bool find_process(pid_t pid, int64_t *ret_start_ns) {
    char path[64];
    char text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)seep_live_thread(pid));
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[got] = 0;
    const char *name_end = strrchr(text, ')'); // the name itself may have anything in it
    unsigned long long ticks = 0;
    if (!name_end || !name_end[1] || strchr("ZXx", name_end[2]))
        return false;
    // Source: proc(5), stat, fields 3 and 22.
    (void)sscanf(name_end + 2,
                 "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks);
    *ret_start_ns = (int64_t)(ticks * (1000000000 / (unsigned long long)sysconf(_SC_CLK_TCK)));
    return true;
}

// Whether a process that another one names may be of this run: all that ran before the program are not, and a
// run that waited for one of those would not end. The tool itself often began within the same tick.
static bool began_before(const struct seep_run *run, pid_t pid) {
    int64_t start_ns, tick_ns = NS_PER_S / sysconf(_SC_CLK_TCK);
    int64_t run_ns = run->start_ns + seep_clock_ns(CLOCK_BOOTTIME) - seep_monotonic_ns();
    return pid == getpid() || (find_process(pid, &start_ns) && start_ns + tick_ns < run_ns);
}

static struct seep_error *take_notice(struct supervisor *supervisor,
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
    struct seep_run_image *image = last_image(supervisor, pid);
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
                                     .realtime_ns = realtime_of(run, seep_monotonic_ns()),
                                     .path = strdup(notice->path)};
    if (message->own_pid == (uint32_t)message->pid)
        kept->started_by = notice->image_pid;
    if (image && image->own_pid == notice->image_pid && !spawned)
        image->leaving = true;
    *of_pid = ++run->nr_notices;
    return kept->path ? NULL : seep_error_no_memory();
}

static struct seep_error *take_message(void *data, const struct seep_listener_message *message) {
    struct supervisor *supervisor = data;
    struct seep_run *run = supervisor->run;
    if (message->notice)
        return take_notice(supervisor, message);
    if (message->fd < 0)
        return take_parked(supervisor, message);
    // What the environment did not reach: a child that made its own.
    if (supervisor->ignore_children && message->pid != run->main_pid) {
        close(message->fd);
        return NULL;
    }
    uint64_t *last = seep_map_at(&supervisor->last_of_pid, (uint64_t)message->pid, NULL);
    if (!last || !seep_grow(&run->images, &run->capacity, run->nr_images + 1, sizeof(*run->images))) {
        close(message->fd);
        return seep_error_no_memory();
    }
    struct seep_image_head head = {.is_swapped = false};
    bool forked = seep_image_head_try(message->fd, &head) && head.header.flags & SEEP_FLAG_FORKED;
    int64_t start_realtime_ns = start_of(run, head.header.start_ns);
    const struct seep_run_notice *notice = forked ? NULL : answer_notice(supervisor, message->pid);
    if (*last) {
        struct seep_run_image *before = &run->images[*last - 1];
        // One that was taken early had ended.
        bool left = !seep_image_head_try(before->fd, &head) || head.header.state == SEEP_STATE_EXITED;
        before->reused = forked || left;
        before->replaced = !before->reused;
        before->replaced_ns = seep_monotonic_ns();
    }
    run->images[run->nr_images] = (struct seep_run_image){.fd = message->fd,
                                                          .pid = message->pid,
                                                          .own_pid = message->own_pid,
                                                          .order = run->nr_images,
                                                          .start_realtime_ns = start_realtime_ns};
    run->images[run->nr_images].announced = forked || notice;
    if (notice && notice->started_by != message->own_pid)
        run->images[run->nr_images].started_by = notice->started_by;
    *last = ++run->nr_images;
    supervisor->nr_held++;
    return supervisor->events->arrived
               ? supervisor->events->arrived(supervisor->events->data, &run->images[run->nr_images - 1])
               : NULL;
}

static bool is_there(pid_t pid) {
    int64_t start_ns;
    return find_process(pid, &start_ns);
}

// The same, and it began before a moment of the run: its number has not gone to another process since.
static bool is_there_since(const struct seep_run *run, pid_t pid, int64_t realtime_ns) {
    int64_t start_ns;
    if (pid <= 0 || !find_process(pid, &start_ns))
        return false;
    int64_t then_ns = realtime_ns - run->start_realtime_ns + run->start_ns; // CLOCK_MONOTONIC
    return start_ns <= then_ns + seep_clock_ns(CLOCK_BOOTTIME) - seep_monotonic_ns();
}

static pid_t parent_of(pid_t pid) {
    char path[64];
    char text[512];
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[got] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

enum { ANCESTORS_MAX = 64 };

// Whether a process, of whatever user, is the program or was started by it: it has an image, or an ancestor
// that runs has one. The ancestors of a daemon are gone: it has the name of the socket, which is not told to
// a stranger, and its environment says from where. Where that cannot be read the name alone counts.
static bool is_known(void *data, pid_t pid) {
    const struct supervisor *supervisor = data;
    const pid_t asked = pid;
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++, pid = parent_of(pid)) {
        const struct seep_run_image *image = last_image(supervisor, pid);
        if (pid == supervisor->run->main_pid && !supervisor->ended)
            return true;
        if (image && i == 0 && !is_there(pid))
            return true; // it has ended since it connected
        if (image && is_there_since(supervisor->run, pid, image->start_realtime_ns))
            return true;
    }
    return seep_run_names_socket(asked, supervisor->listener.path) != SEEP_RUN_NOT_NAMED;
}

// Nothing comes of the process any more. Where processes park, one that has left its program may still be
// on its way to that.
static bool is_over(const struct supervisor *supervisor, const struct seep_run_image *image) {
    if (image->replaced || image->reused)
        return true;
    if (!seep_run_image_ended(image))
        return false;
    return !supervisor->events->parked || image->parked || !is_there(image->pid);
}

// Hands over images of ended processes. Whatever is still running stays.
static struct seep_error *sweep(struct supervisor *supervisor) {
    struct seep_run *run = supervisor->run;
    struct seep_error *err = NULL;
    for (size_t i = 0; i < run->nr_images && !err; i++) {
        struct seep_run_image *image = &run->images[i];
        if (image->fd < 0 || image->pid == run->main_pid)
            continue;
        if (!is_over(supervisor, image))
            continue;
        err = supervisor->events->early(supervisor->events->data, image);
        close(image->fd);
        image->fd = -1;
        supervisor->nr_held--;
    }
    supervisor->sweep_at = SEEP_MAX((size_t)IMAGES_HELD, supervisor->nr_held * 2);
    return err;
}

static struct seep_error *read_listener(struct supervisor *supervisor) {
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

// ---- watching -------------------------------------------------------------------------------------

static void read_signals(struct supervisor *supervisor) {
    struct signalfd_siginfo info;
    while (read(supervisor->signals.fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD) {
            int status;
            struct rusage usage = {0};
            pid_t pid = wait4(supervisor->run->main_pid, &status, WNOHANG, &usage);
            if (pid > 0)
                supervisor->run->most_resident_bytes = (uint64_t)usage.ru_maxrss << 10;
            if (pid == supervisor->run->main_pid) {
                supervisor->run->wait_status = status;
                supervisor->ended = supervisor->run->main_ended = true;
            }
        } else if (!supervisor->ended) {
            kill(supervisor->run->main_pid, (int)info.ssi_signo);
        } else {
            supervisor->stopped = true;
        }
    }
}

static struct seep_error *poll_once(struct supervisor *supervisor, int timeout_ms, int *ret_nr) {
    size_t nr = supervisor->listener.nr_peers + 2 + supervisor->nr_left_fds;
    if (!seep_grow(&supervisor->polls, &supervisor->polls_capacity, nr, sizeof(*supervisor->polls)))
        return seep_error_no_memory();
    supervisor->polls[0] = (struct pollfd){.fd = supervisor->signals.fd, .events = POLLIN};
    seep_listener_polls(&supervisor->listener, supervisor->polls + 1);
    for (size_t i = 0; i < supervisor->nr_left_fds; i++)
        supervisor->polls[nr - 1 - i] = (struct pollfd){.fd = supervisor->left_fds[i], .events = POLLIN};
    bool again = supervisor->listener.out_of_descriptors ||
                 (supervisor->events->holds && supervisor->events->holds(supervisor->events->data));
    if (again && (timeout_ms < 0 || timeout_ms > 20))
        timeout_ms = 20; // then ask again
    int ready = poll(supervisor->polls, nr, timeout_ms);
    if (ready < 0 && errno != EINTR)
        return seep_error_system(errno, "cannot wait for the program");
    *ret_nr = ready;
    return NULL;
}

// Milliseconds until then, rounded up; -1: for ever.
static int until(int64_t then_ns) {
    int64_t left_ns = then_ns - seep_monotonic_ns();
    if (then_ns == INT64_MAX)
        return -1;
    return left_ns <= 0 ? 0 : (int)SEEP_MIN((left_ns + 999999) / 1000000, (int64_t)INT32_MAX);
}

static void look_on(struct supervisor *supervisor, int64_t *next_ns) {
    int64_t now_ns = seep_monotonic_ns();
    if (now_ns < *next_ns)
        return;
    *next_ns = INT64_MAX;
    supervisor->events->look_on(supervisor->events->data, supervisor->run, now_ns, next_ns);
}

// An error here must not end the watch: the program is still running and its exit status is owed.
// The first one is kept and returned when it has ended.
static struct seep_error *watch(struct supervisor *supervisor) {
    struct seep_error *first = NULL;
    int64_t look_ns = supervisor->events->look_on ? 0 : INT64_MAX;
    while (!supervisor->ended) {
        int ready;
        struct seep_error *err = poll_once(supervisor, until(look_ns), &ready);
        if (err) {
            seep_error_destroy(first);
            return err;
        }
        read_signals(supervisor);
        err = first ? NULL : read_listener(supervisor);
        if (err) {
            first = err;
            seep_listener_deinit(&supervisor->listener); // who knocks from now on goes on alone
        }
        if (!supervisor->ended)
            look_on(supervisor, &look_ns);
    }
    return first;
}

// ---- those that run on when the program has ended ----------------------------------------------------

// From now on the signals of the terminal ask for the report: there is no program any more that they are for.
static struct seep_error *take_signals(struct supervisor *supervisor) {
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

static bool add_left(struct supervisor *supervisor, pid_t pid) {
    if (!seep_grow(&supervisor->left, &supervisor->left_capacity, supervisor->nr_left + 1,
                   sizeof(*supervisor->left)))
        return false;
    struct seep_run_idle *left = &supervisor->left[supervisor->nr_left++];
    left->pid = pid;
    seep_run_idle_name(pid, left->name);
    if (supervisor->nr_left_fds < POLLED_FOR_MAX) {
        int fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd >= 0)
            supervisor->left_fds[supervisor->nr_left_fds++] = fd;
    }
    return true;
}

static void forget_left(struct supervisor *supervisor) {
    for (size_t i = 0; i < supervisor->nr_left_fds; i++)
        close(supervisor->left_fds[i]);
    supervisor->nr_left_fds = supervisor->nr_left = 0;
}

// Those with an image or a notice first; /proc, which costs more, is searched when there is none of them.
static struct seep_error *find_left(struct supervisor *supervisor) {
    struct seep_run *run = supervisor->run;
    bool done = true;
    forget_left(supervisor);
    for (size_t i = 0; done && i < run->nr_images; i++) {
        const struct seep_run_image *image = &run->images[i];
        if (image->fd >= 0 && image->pid != run->main_pid && !image->replaced && !image->reused &&
            is_there_since(run, image->pid, image->start_realtime_ns))
            done = add_left(supervisor, image->pid);
    }
    for (size_t i = 0; done && i < run->nr_notices; i++) {
        const struct seep_run_notice *notice = &run->notices[i];
        const struct seep_run_image *image = last_image(supervisor, notice->pid);
        bool listed = image && image->fd >= 0 && !image->replaced && !image->reused;
        if (!notice->answered && notice->pid != run->main_pid && !listed &&
            is_there_since(run, notice->pid, notice->realtime_ns))
            done = add_left(supervisor, notice->pid);
    }
    if (!done)
        return seep_error_no_memory();
    if (supervisor->nr_left)
        return NULL;
    run->nr_idle = 0;
    struct seep_error *err = seep_run_find_idle(run, supervisor->listener.path, &supervisor->last_of_pid,
                                                &supervisor->notice_of_pid);
    for (size_t i = 0; !err && i < run->nr_idle; i++)
        if (is_there(run->idle[i].pid) && !add_left(supervisor, run->idle[i].pid))
            err = seep_error_no_memory();
    return err;
}

// How long to sleep: until a look is due, or it is time to say who is waited for, or to see those that cannot
// be polled for.
static int pause_ms(const struct supervisor *supervisor, int64_t look_ns, int64_t say_ns) {
    int left_ms = until(SEEP_MIN(look_ns, say_ns));
    bool all_polled = supervisor->nr_left_fds == supervisor->nr_left;
    return all_polled || (left_ms >= 0 && left_ms < LOOK_AGAIN_MS) ? left_ms : LOOK_AGAIN_MS;
}

// Until no descendant is left, or a signal asks for the report.
static struct seep_error *wait_for_left(struct supervisor *supervisor) {
    int64_t say_ns = supervisor->events->waiting ? seep_monotonic_ns() + SAY_WAITING_NS : INT64_MAX;
    int64_t look_ns = supervisor->events->look_on ? 0 : INT64_MAX;
    struct seep_error *err = take_signals(supervisor);
    while (!err && !supervisor->stopped) {
        int ready;
        err = read_listener(supervisor);
        if (!err)
            err = find_left(supervisor);
        if (err || !supervisor->nr_left)
            break;
        if (seep_monotonic_ns() >= say_ns) {
            say_ns = INT64_MAX;
            supervisor->events->waiting(supervisor->events->data, supervisor->left, supervisor->nr_left);
        }
        look_on(supervisor, &look_ns);
        err = poll_once(supervisor, pause_ms(supervisor, look_ns, say_ns), &ready);
        read_signals(supervisor);
    }
    forget_left(supervisor);
    return err;
}

// Hellos that were under way when the program ended.
static struct seep_error *last_words(struct supervisor *supervisor) {
    int64_t end = seep_monotonic_ns() + LAST_WORDS_MS * INT64_C(1000000);
    struct seep_error *err = read_listener(supervisor);
    while (!err && supervisor->listener.nr_peers) {
        int64_t left = (end - seep_monotonic_ns()) / 1000000;
        int ready;
        if (left <= 0)
            break;
        err = poll_once(supervisor, (int)left, &ready);
        if (!err)
            err = read_listener(supervisor);
    }
    return err;
}

// The path is a process's word: a file that only comes when its file system likes is not looked into.
static bool is_at_hand(const char *path) {
    int fd = strchr(path, '/') ? seep_open_regular(-1, path) : -1;
    bool is = fd >= 0 ? !seep_is_handle(fd) : errno != ETIMEDOUT;
    if (fd >= 0)
        close(fd);
    return is;
}

// What nothing came of: why.
static struct seep_error *finish_notices(struct supervisor *supervisor, const char *library) {
    struct seep_run *run = supervisor->run;
    for (size_t i = 0; i < run->nr_notices; i++) {
        struct seep_run_notice *notice = &run->notices[i];
        if (notice->answered)
            continue;
        struct seep_program program = {NULL};
        int status;
        struct seep_error *err = NULL;
        if (*notice->path && is_at_hand(notice->path))
            err = seep_program_find(notice->path, &program, &status);
        if (!err && program.path)
            err = seep_program_inspect(&program, library);
        if (!err) {
            notice->why = program.why_untraced;
            program.why_untraced = NULL;
        }
        seep_error_destroy(err); // it may be gone: then nothing is known of it
        seep_program_deinit(&program);
    }
    return NULL;
}

static void mark_main(struct seep_run *run) {
    for (size_t i = run->nr_images; i-- > 0;) {
        if (run->images[i].pid == run->main_pid) {
            run->images[i].is_main = true;
            return;
        }
    }
}

// Between the start of the program and its end; *ret_status is set where it cannot be run.
static struct seep_error *supervise(struct supervisor *supervisor, const struct seep_run_options *options,
                                    const struct seep_program *program, const char *library,
                                    char *const *environment, int *ret_status) {
    int trouble = 0;
    struct seep_error *err = start(supervisor, program->path, options->argv, environment, &trouble);
    if (err)
        return err;
    if (trouble)
        return seep_program_exec_error(program, trouble, ret_status);
    raise_own_limit();
    err = watch(supervisor);
    supervisor->run->duration_ns = seep_monotonic_ns() - supervisor->run->start_ns;
    if (!err && options->wait && !supervisor->ignore_children)
        err = wait_for_left(supervisor);
    supervisor->run->nr_idle = 0;
    supervisor->run->watched_ns = seep_monotonic_ns() - supervisor->run->start_ns;
    if (!err)
        err = last_words(supervisor);
    if (!err)
        err = finish_notices(supervisor, library);
    if (!err && !supervisor->ignore_children)
        err = seep_run_find_idle(supervisor->run, supervisor->listener.path, &supervisor->last_of_pid,
                                 &supervisor->notice_of_pid);
    supervisor->run->nr_refused = supervisor->listener.nr_refused;
    supervisor->run->descriptors_ran_out |= supervisor->listener.lost_a_file;
    mark_main(supervisor->run);
    return err;
}

static struct seep_error *run_prepared(struct seep_run *run, const struct seep_run_options *options,
                                       const struct seep_program *program, const char *library,
                                       const struct seep_run_events *events, int *ret_status) {
    struct supervisor supervisor = {
        .run = run, .events = events, .sweep_at = IMAGES_HELD, .ignore_children = options->ignore_children};
    struct seep_error *err = signals_init(&supervisor.signals);
    if (err)
        return err;
    err = seep_listener_init(&supervisor.listener);
    supervisor.listener.is_known = is_known;
    supervisor.listener.data = &supervisor;
    if (!err) {
        struct seep_environment environment;
        err = seep_environment_init(options,
                                    program->cannot_preload ? NULL
                                    : program->library      ? program->library
                                                            : library,
                                    program->is_emulator, supervisor.listener.path, &environment);
        if (!err) {
            err = supervise(&supervisor, options, program, library, environment.items, ret_status);
            seep_environment_deinit(&environment);
        }
        seep_listener_deinit(&supervisor.listener);
    }
    signals_restore(&supervisor.signals);
    close(supervisor.signals.fd);
    seep_map_deinit(&supervisor.last_of_pid);
    seep_map_deinit(&supervisor.notice_of_pid);
    free(supervisor.polls);
    free(supervisor.left);
    return err;
}

struct seep_error *seep_run_program(const struct seep_run_options *options,
                                    const struct seep_run_events *events, struct seep_run **ret_run,
                                    int *ret_status) {
    struct seep_program program = {NULL};
    char *library = NULL;
    struct seep_run *run = calloc(1, sizeof(*run));
    if (!run)
        return seep_error_no_memory();
    struct seep_error *err = seep_program_find(options->argv[0], &program, ret_status);
    if (!err) {
        *ret_status = 1;
        err = seep_library_find(options->mode && strcmp(options->mode, "live") != 0, &library);
    }
    if (!err)
        err = seep_program_inspect(&program, library);
    if (!err)
        err = run_prepared(run, options, &program, library, events, ret_status);
    free(library);
    run->path = program.path;
    run->why_untraced = program.why_untraced;
    program.path = program.why_untraced = NULL;
    seep_program_deinit(&program);
    if (err) {
        seep_run_destroy(run);
        return err;
    }
    *ret_run = run;
    return NULL;
}
