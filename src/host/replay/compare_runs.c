// SPDX-License-Identifier: BSD-2-Clause
// Runs a program in rounds and makes figures of what the kernel says of it, see compare_runs.h.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/numbers.h"
#include "replay/allocator_choice.h"
#include "replay/compare_runs.h"
#include "source/run/program.h"

enum { SAMPLES_MAX = 512, EVERY_LEAST_NS = 1000000, SPOOL_BYTES = 65536 };

#define LIMIT_LEAST_NS INT64_C(10000000000)

struct run_allocator {
    struct seep_allocator_choice choice;
    double *wall_ns; // by round
    double *cpu_ns;
    double *faults;
    double *peak_bytes;
};

struct running {
    const struct seep_compare_runs_options *options;
    struct seep_program program;
    struct run_allocator *allocators;
    int input_fd;     // what each run reads from the same place; -1: our own standard input
    off_t input_at;   // where it begins
    int nothing_fd;   // /dev/null
    int first_status; // as wait() has it
    bool has_run;     // there is a first_status
    int64_t limit_ns; // of later runs: a program that waits for its allocator for ever ends here
    sigset_t ignored; // what was ignored before we caught it
    int *ret_status;
};

// ---- standard input ----

// A pipe is read once, into memory: its end is where each run's input ends.
static struct seep_error *spool(int *ret_fd) {
    int fd = memfd_create("seep-input", MFD_CLOEXEC);
    char *buffer = fd < 0 ? NULL : malloc(SPOOL_BYTES);
    ssize_t nr = buffer ? 1 : -1;
    while (nr > 0 && !seep_interrupted) {
        nr = read(STDIN_FILENO, buffer, SPOOL_BYTES);
        for (ssize_t done = 0, wrote; done < nr; done += wrote)
            if ((wrote = write(fd, buffer + done, (size_t)(nr - done))) < 0) {
                nr = -1;
                break;
            }
    }
    int trouble = errno;
    free(buffer);
    *ret_fd = fd;
    if (nr < 0)
        return seep_error_system(trouble, "cannot keep standard input for each run");
    return NULL;
}

static struct seep_error *take_input(struct running *running) {
    struct stat status;
    running->input_fd = -1;
    if (fstat(STDIN_FILENO, &status) != 0)
        return NULL; // it is closed, and stays so
    if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))
        return spool(&running->input_fd);
    if (!S_ISREG(status.st_mode))
        return NULL;
    running->input_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
    running->input_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    return running->input_fd < 0 ? seep_error_system(errno, "cannot keep standard input for each run") : NULL;
}

// An open file of its own, so that no run moves the place at which another one reads.
static int open_input(const struct running *running) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", running->input_fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && lseek(fd, running->input_at, SEEK_SET) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

// ---- one run ----

// "NAME=ours", with what the user has behind it.
static bool add_variable(const char *assignment) {
    const char *equals = strchr(assignment, '=');
    char *name = strdup(assignment), *value = NULL;
    if (name)
        name[equals - assignment] = 0;
    const char *before = name ? getenv(name) : NULL;
    bool good = name &&
                asprintf(&value, "%s%s%s", equals + 1, before ? ":" : "", before ? before : "") >= 0 &&
                setenv(name, value, 1) == 0;
    free(name);
    free(value);
    return good;
}

static void become(const struct running *running, const struct seep_allocator_choice *choice, bool silent,
                   int report_fd) {
    int input = running->input_fd < 0 ? -1 : open_input(running);
    bool good = running->input_fd < 0 || (input >= 0 && dup2(input, STDIN_FILENO) >= 0);
    if (good && silent)
        good = dup2(running->nothing_fd, STDOUT_FILENO) >= 0 && dup2(running->nothing_fd, STDERR_FILENO) >= 0;
    if (good && choice->preload)
        good = add_variable(choice->preload);
    if (good && choice->tunables)
        good = add_variable(choice->tunables);
    for (int signal = SIGINT; signal <= SIGTERM; signal += SIGTERM - SIGINT)
        sigaction(signal,
                  &(struct sigaction){.sa_handler =
                                          sigismember(&running->ignored, signal) == 1 ? SIG_IGN : SIG_DFL},
                  NULL);
    if (good)
        execv(running->program.path, running->options->argv);
    int trouble = errno;
    ssize_t wrote = write(report_fd, &trouble, sizeof(trouble));
    _exit(wrote == sizeof(trouble) ? 127 : 126);
}

struct samples {
    uint64_t rss[SAMPLES_MAX];
    uint32_t nr;
    int64_t every_ns;
};

static uint64_t resident_bytes(pid_t pid) {
    char path[64], text[128];
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t nr = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (nr <= 0)
        return 0;
    text[nr] = 0;
    const char *space = strchr(text, ' ');
    return space ? strtoull(space + 1, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

// Twice the time between two, and half as many, whenever there is no more room.
static void take_sample(struct samples *samples, pid_t pid) {
    if (samples->nr == SAMPLES_MAX) {
        for (uint32_t i = 0; i < SAMPLES_MAX / 2; i++)
            samples->rss[i] = samples->rss[2 * i + 1];
        samples->nr = SAMPLES_MAX / 2;
        samples->every_ns *= 2;
    }
    samples->rss[samples->nr++] = resident_bytes(pid);
    struct timespec pause = seep_timespec(samples->every_ns);
    nanosleep(&pause, NULL);
}

struct outcome {
    int status;
    int64_t wall_ns;
    bool is_late; // it was ended
    struct rusage usage;
};

// How long it waited: while both are stopped, no time counts.
static int64_t wait_a_little(int pidfd, struct samples *samples, pid_t pid) {
    enum { LOOK_MS = 100 };
    if (samples) {
        take_sample(samples, pid);
        return samples->every_ns;
    }
    bool lives = poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, LOOK_MS) == 0;
    return lives ? LOOK_MS * INT64_C(1000000) : 0;
}

static struct seep_error *wait_for(const struct running *running, pid_t pid, struct samples *samples,
                                   struct outcome *ret_outcome) {
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    bool looks = samples || pidfd >= 0, told = false;
    int64_t waited_ns = 0;
    struct seep_error *error = NULL;
    for (;;) {
        bool at_once = looks && !seep_interrupted && !ret_outcome->is_late;
        pid_t ended = wait4(pid, &ret_outcome->status, at_once ? WNOHANG : 0, &ret_outcome->usage);
        if (ended == pid)
            break;
        if (ended < 0 && errno != EINTR) {
            error = seep_error_system(errno, "cannot wait for the program");
            break;
        }
        if (seep_interrupted && !told)
            told = kill(pid, SIGTERM) == 0;
        if (ended == 0 && !seep_interrupted)
            waited_ns += wait_a_little(pidfd, samples, pid);
        if (running->limit_ns && waited_ns > running->limit_ns)
            ret_outcome->is_late = kill(pid, SIGKILL) == 0;
    }
    if (pidfd >= 0)
        close(pidfd);
    return error;
}

static struct seep_error *run_once(struct running *running, const struct seep_allocator_choice *choice,
                                   struct samples *samples, struct outcome *ret_outcome) {
    int report[2], trouble = 0;
    if (pipe2(report, O_CLOEXEC) != 0)
        return seep_error_system(errno, "cannot make a pipe");
    int64_t start_ns = seep_monotonic_ns();
    // By fork, not by posix_spawn: a process that shares our memory until its exec would have our peak as its
    // own.
    pid_t pid = fork();
    if (pid == 0)
        become(running, choice, running->has_run, report[1]);
    int failed = errno;
    close(report[1]);
    ssize_t nr = pid < 0 ? 0 : read(report[0], &trouble, sizeof(trouble));
    close(report[0]);
    if (pid < 0)
        return seep_error_system(failed, "cannot start a process");
    ret_outcome->is_late = false;
    struct seep_error *error = wait_for(running, pid, samples, ret_outcome);
    ret_outcome->wall_ns = seep_monotonic_ns() - start_ns;
    if (!error && nr == sizeof(trouble))
        error = seep_program_exec_error(&running->program, trouble, running->ret_status);
    if (!error && seep_interrupted)
        error = seep_error_create(SEEP_E_IO, "interrupted");
    return error;
}

static struct seep_error *ended_otherwise(const struct running *running, const char *name, int status) {
    const char *first = running->options->names[0];
    struct seep_error *error;
    if (WIFSIGNALED(status))
        error = seep_error_create(SEEP_E_UNSUPPORTED, "with %s the program was ended by signal %d (%s)", name,
                                  WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        error = seep_error_create(SEEP_E_UNSUPPORTED, "with %s the program ended with status %d", name,
                                  WEXITSTATUS(status));
    if (strcmp(name, first) == 0)
        return seep_error_hint(error, "and its first run in another way: such runs cannot be compared");
    return seep_error_hint(error, "and otherwise with %s: leave it out, or see why with LD_PRELOAD", first);
}

static struct seep_error *ended_late(const struct running *running, const char *name,
                                     const struct outcome *outcome) {
    return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                             "with %s the program had not ended after %s, and was ended",
                                             name, seep_format_duration(outcome->wall_ns).text),
                           "the limit is ten times the time with %s plus 10 s: leave the allocator out, or "
                           "see why with LD_PRELOAD",
                           running->options->names[0]);
}

// The first run decides how all of them have to end.
static struct seep_error *check_end(struct running *running, const char *name, int status) {
    if (running->has_run)
        return status == running->first_status ? NULL : ended_otherwise(running, name, status);
    running->has_run = true;
    running->first_status = status;
    *running->ret_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return NULL;
}

static struct seep_error *run_checked(struct running *running, size_t index, struct samples *samples,
                                      struct outcome *ret_outcome) {
    const struct seep_allocator_choice *choice = &running->allocators[index].choice;
    struct seep_error *error = run_once(running, choice, samples, ret_outcome);
    if (error)
        return error;
    if (ret_outcome->is_late)
        return ended_late(running, choice->name, ret_outcome);
    if (!running->has_run)
        running->limit_ns = ret_outcome->wall_ns * 10 + LIMIT_LEAST_NS;
    return check_end(running, choice->name, ret_outcome->status);
}

// ---- rounds ----

static double ns_of(struct timeval time) {
    return (double)time.tv_sec * 1e9 + (double)time.tv_usec * 1e3;
}

static void take_outcome(struct run_allocator *allocator, uint32_t index, const struct outcome *outcome) {
    const struct rusage *usage = &outcome->usage;
    allocator->wall_ns[index] = (double)outcome->wall_ns;
    allocator->cpu_ns[index] = ns_of(usage->ru_utime) + ns_of(usage->ru_stime);
    allocator->faults[index] = (double)(usage->ru_minflt + usage->ru_majflt);
    allocator->peak_bytes[index] = (double)usage->ru_maxrss * 1024;
}

static struct seep_error *sample_memory(struct running *running, size_t index,
                                        struct seep_replay_figures *row) {
    struct samples samples = {.every_ns = EVERY_LEAST_NS};
    struct outcome outcome;
    struct seep_error *error = run_checked(running, index, &samples, &outcome);
    if (error)
        return error;
    row->rss = malloc((samples.nr + (size_t)1) * sizeof(*row->rss));
    if (!row->rss)
        return seep_error_no_memory();
    memcpy(row->rss, samples.rss, samples.nr * sizeof(*row->rss));
    row->nr_rss = samples.nr;
    row->rss_every_ns = samples.every_ns;
    return NULL;
}

static struct seep_error *run_rounds(struct running *running, struct seep_comparison *comparison) {
    const struct seep_compare_runs_options *options = running->options;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < options->nr_names; i++)
        error = sample_memory(running, i, &comparison->rows[i]);
    for (uint32_t round = 0; !error && round <= options->nr_rounds; round++) {
        if (options->progress)
            options->progress(options->data, round, options->nr_rounds, options->nr_rounds);
        for (size_t k = 0; !error && k < options->nr_names; k++) {
            size_t i = round % 2 ? options->nr_names - 1 - k : k;
            struct outcome outcome;
            error = run_checked(running, i, NULL, &outcome);
            if (!error && round) // the one before warms the caches
                take_outcome(&running->allocators[i], round - 1, &outcome);
        }
    }
    if (options->progress)
        options->progress(options->data, options->nr_rounds + 1, options->nr_rounds, options->nr_rounds);
    return error;
}

static void fill_row(const struct running *running, size_t index, struct seep_replay_figures *row) {
    const struct run_allocator *own = &running->allocators[index], *first = &running->allocators[0];
    uint32_t nr = running->options->nr_rounds;
    row->name = own->choice.name;
    row->wall_ns = seep_median(own->wall_ns, nr);
    row->cpu_ns = seep_median(own->cpu_ns, nr);
    row->faults = seep_median(own->faults, nr);
    row->peak_rss_bytes = (uint64_t)seep_median(own->peak_bytes, nr);
    row->rss_over_live = row->mean_rss_over_live = NAN;
    row->against = index ? seep_ratio_interval(own->wall_ns, first->wall_ns, nr)
                         : (struct seep_interval){1, 1, 1, false};
    row->is_known = true;
    row->differs = row->against.differs;
    for (size_t k = 0; k < SEEP_REPLAY_CALLS_NR; k++)
        for (size_t s = 0; s < SEEP_ARRAY_SIZE(row->latency_ns[k]); s++)
            row->latency_ns[k][s] = NAN;
}

static struct seep_error *prepare(struct running *running, struct seep_comparison *comparison) {
    const struct seep_compare_runs_options *options = running->options;
    running->allocators = calloc(options->nr_names, sizeof(*running->allocators));
    comparison->rows = calloc(options->nr_names, sizeof(*comparison->rows));
    if (!running->allocators || !comparison->rows)
        return seep_error_no_memory();
    comparison->nr_rows = options->nr_names;
    comparison->nr_rounds = options->nr_rounds;
    for (size_t i = 0; i < options->nr_names; i++) {
        struct run_allocator *allocator = &running->allocators[i];
        struct seep_error *error = seep_allocator_choose(options->names[i], true, &allocator->choice);
        if (error)
            return error;
        double *all = calloc((size_t)options->nr_rounds * 4, sizeof(double));
        if (!all)
            return seep_error_no_memory();
        allocator->wall_ns = all;
        allocator->cpu_ns = all + options->nr_rounds;
        allocator->faults = all + (size_t)options->nr_rounds * 2;
        allocator->peak_bytes = all + (size_t)options->nr_rounds * 3;
    }
    running->nothing_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    return running->nothing_fd < 0 ? seep_error_system(errno, "cannot open /dev/null") : NULL;
}

static struct seep_error *find_program(struct running *running) {
    char *library = NULL;
    int status;
    struct seep_error *error = seep_program_find(running->options->argv[0], &running->program, &status);
    if (error)
        *running->ret_status = status;
    if (!error)
        error = seep_library_place(false, &library);
    if (!error)
        error = seep_program_inspect(&running->program, library);
    if (!error && running->program.why_untraced)
        error = seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "--allocator: %s", running->program.why_untraced),
            "nothing can be preloaded into it, and it was not started");
    free(library);
    return error;
}

static void running_deinit(struct running *running) {
    for (size_t i = 0; running->allocators && i < running->options->nr_names; i++) {
        seep_allocator_choice_deinit(&running->allocators[i].choice);
        free(running->allocators[i].wall_ns);
    }
    free(running->allocators);
    seep_program_deinit(&running->program);
    if (running->input_fd >= 0)
        close(running->input_fd);
    if (running->nothing_fd >= 0)
        close(running->nothing_fd);
}

struct seep_error *seep_compare_runs(const struct seep_compare_runs_options *options,
                                     struct seep_comparison *ret_comparison, int *ret_status) {
    struct running running = {.options = options, .input_fd = -1, .nothing_fd = -1, .ret_status = ret_status};
    struct seep_comparison comparison = {NULL, 0, 0};
    struct seep_error *error = prepare(&running, &comparison);
    if (!error)
        error = find_program(&running);
    sigemptyset(&running.ignored);
    seep_interrupt_catch(&running.ignored);
    if (!error)
        error = take_input(&running);
    if (!error)
        error = run_rounds(&running, &comparison);
    for (size_t i = 0; !error && i < options->nr_names; i++)
        fill_row(&running, i, &comparison.rows[i]);
    running_deinit(&running);
    if (error)
        seep_comparison_deinit(&comparison);
    else
        *ret_comparison = comparison;
    return error;
}
