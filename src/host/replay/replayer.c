// SPDX-License-Identifier: BSD-2-Clause
// Starts the replayer and waits for its end, see replayer.h.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/numbers.h"
#include "base/read_at.h"
#include "replay/replayer.h"
#include "source/run/program.h"

enum {
    STREAM_FD = 100,
    RESULTS_FD,
    ENVIRONMENT_MAX = 4,
    ERRORS_BYTES = 4096,
    LOOK_MS = 100, // how far each thread is
};

// ---- what both have mapped ----

// It cannot grow: an allocator that prints without end fills no memory. Nor can one make the results short,
// which we have mapped.
static struct seep_error *make_file(const char *name, uint64_t nr_bytes, int *ret_fd) {
    *ret_fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*ret_fd < 0 || !seep_size_memory_file(*ret_fd, nr_bytes) ||
        fcntl(*ret_fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)
        return seep_error_system(errno, "cannot make a memory file");
    return NULL;
}

struct seep_error *seep_replayer_init(struct seep_replayer *replayer, uint32_t nr_threads,
                                      int64_t patience_ns) {
    *replayer = (struct seep_replayer){.results_fd = -1,
                                       .errors_fd = -1,
                                       .results_bytes = seep_replay_results_bytes(nr_threads),
                                       .patience_ns = patience_ns ? patience_ns : SEEP_REPLAY_PATIENCE_NS};
    struct seep_error *error = seep_replayer_find(&replayer->path);
    if (!error)
        error = make_file("seep-errors", ERRORS_BYTES, &replayer->errors_fd);
    if (!error)
        error = make_file("seep-results", replayer->results_bytes, &replayer->results_fd);
    if (error)
        return error;
    void *at =
        mmap(NULL, replayer->results_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, replayer->results_fd, 0);
    if (at == MAP_FAILED)
        return seep_error_system(errno, "cannot map a memory file");
    replayer->results = at;
    return NULL;
}

void seep_replayer_deinit(struct seep_replayer *replayer) {
    free(replayer->path);
    if (replayer->results)
        munmap(replayer->results, replayer->results_bytes);
    if (replayer->results_fd >= 0)
        close(replayer->results_fd);
    if (replayer->errors_fd >= 0)
        close(replayer->errors_fd);
    *replayer = (struct seep_replayer){.results_fd = -1, .errors_fd = -1};
}

// ---- its start ----

// The environment has none of our own variables. Its size changes with each round, because it moves the
// stack. Standard input and output are /dev/null.
static struct seep_error *spawn(const struct seep_replayer *replayer,
                                const struct seep_allocator_choice *choice, const struct seep_plan *plan,
                                uint32_t round, pid_t *ret_pid) {
    char pad[512] = "PAD=", stream[16], results[16];
    memset(pad + 4, 'x', 1 + (round * 157) % 480);
    char *environment[ENVIRONMENT_MAX] = {pad};
    size_t nr = 1;
    if (choice->preload)
        environment[nr++] = choice->preload;
    if (choice->tunables)
        environment[nr++] = choice->tunables;
    snprintf(stream, sizeof(stream), "%d", STREAM_FD);
    snprintf(results, sizeof(results), "%d", RESULTS_FD);
    char *argv[] = {replayer->path, stream, results, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return seep_error_no_memory();
    int trouble = posix_spawn_file_actions_adddup2(&actions, plan->fd, STREAM_FD);
    if (!trouble)
        trouble = posix_spawn_file_actions_adddup2(&actions, replayer->results_fd, RESULTS_FD);
    if (!trouble)
        trouble = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    if (!trouble)
        trouble = posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
    if (!trouble)
        trouble = posix_spawn_file_actions_adddup2(&actions, replayer->errors_fd, STDERR_FILENO);
    if (!trouble)
        trouble = posix_spawn(ret_pid, replayer->path, &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    return trouble ? seep_error_system(trouble, "cannot start %s", replayer->path) : NULL;
}

static bool forget_last(const struct seep_replayer *replayer) {
    static const char nothing[ERRORS_BYTES];
    memset(replayer->results, 0, replayer->results_bytes);
    return seep_write_memory_file(replayer->errors_fd, 0, nothing, sizeof(nothing)) &&
           lseek(replayer->errors_fd, 0, SEEK_SET) == 0;
}

// ---- an allocator that does not return ----

static uint64_t how_far(const struct seep_replayer *replayer, const struct seep_plan *plan) {
    const struct seep_replay_results *results = replayer->results;
    uint64_t sum = __atomic_load_n(&results->is_on, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < plan->nr_threads; i++)
        sum += __atomic_load_n(&results->progress[i].at, __ATOMIC_RELAXED) +
               __atomic_load_n(&results->progress[i].nr_beats, __ATOMIC_RELAXED);
    return sum;
}

// The first thread that is in a call. Others wait for it, or for the same lock as it does.
static bool find_call(const struct seep_replayer *replayer, const struct seep_plan *plan, uint32_t *ret_index,
                      struct seep_replay_op *ret_op) {
    struct seep_replay_head head;
    if (!seep_read_at(plan->fd, 0, &head, sizeof(head)))
        return false;
    for (uint32_t i = 0; i < plan->nr_threads; i++) {
        struct seep_replay_thread thread;
        uint64_t at = __atomic_load_n(&replayer->results->progress[i].at, __ATOMIC_RELAXED);
        if (!seep_read_at(plan->fd, head.threads_off + i * sizeof(thread), &thread, sizeof(thread)))
            return false;
        if (at >= thread.nr_ops ||
            !seep_read_at(plan->fd, head.ops_off + (thread.first_op + at) * sizeof(*ret_op), ret_op,
                          sizeof(*ret_op)))
            continue;
        *ret_index = i;
        if (ret_op->kind < SEEP_REPLAY_CALLS_NR)
            return true;
    }
    return false;
}

static struct seep_error *stands_still(const struct seep_replayer *replayer,
                                       const struct seep_allocator_choice *choice,
                                       const struct seep_plan *plan) {
    static const char *const names[SEEP_REPLAY_CALLS_NR] = {"malloc", "calloc", "posix_memalign", "realloc",
                                                            "free"};
    struct seep_number patience = seep_format_duration(replayer->patience_ns);
    static const char hint[] = "an allocator that does not return cannot be compared: leave it out, or wait "
                               "longer with --timeout";
    struct seep_replay_op op;
    uint32_t index;
    if (!replayer->results->is_on)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                 "the replay with %s had not begun after %s", choice->name,
                                                 patience.text),
                               hint);
    if (!find_call(replayer, plan, &index, &op))
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "the replay with %s stood still for %s",
                                                 choice->name, patience.text),
                               hint);
    char size[32] = "";
    if (op.kind != SEEP_REPLAY_FREE)
        snprintf(size, sizeof(size), " of %" PRIu64 " bytes", op.value);
    return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                             "the replay with %s stood still for %s: thread %" PRIu32
                                             " is in a %s%s",
                                             choice->name, patience.text, index + 1, names[op.kind], size),
                           hint);
}

// Whether it is alive after LOOK_MS.
static bool wait_a_little(int pidfd) {
    struct timespec pause = {0, LOOK_MS * INT64_C(1000000)};
    if (pidfd >= 0)
        return poll(&(struct pollfd){.fd = pidfd, .events = POLLIN}, 1, LOOK_MS) == 0;
    return nanosleep(&pause, NULL) == 0;
}

// Only time in which we looked counts against `patience`. So none passes while both are stopped.
static struct seep_error *wait_for(const struct seep_replayer *replayer,
                                   const struct seep_allocator_choice *choice, const struct seep_plan *plan,
                                   pid_t pid, int *ret_status) {
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int64_t still_ns = 0;
    uint64_t before = 0;
    struct seep_error *error = NULL;
    for (pid_t ended; (ended = waitpid(pid, ret_status, error || seep_interrupted ? 0 : WNOHANG)) != pid;) {
        if (ended < 0 && errno != EINTR) {
            seep_error_destroy(error);
            error = seep_error_system(errno, "cannot wait for the replayer");
            break;
        }
        if (ended == 0 && !seep_interrupted) {
            bool waited = wait_a_little(pidfd);
            uint64_t now = how_far(replayer, plan);
            still_ns = now != before ? 0 : waited ? still_ns + LOOK_MS * INT64_C(1000000) : still_ns;
            before = now;
            if (still_ns >= replayer->patience_ns)
                error = stands_still(replayer, choice, plan);
        }
        if (error || seep_interrupted)
            kill(pid, SIGKILL);
    }
    if (pidfd >= 0)
        close(pidfd);
    return error;
}

// ---- its end ----

// ": " and the first line of what it said, in characters of ASCII.
static void first_words(const struct seep_replayer *replayer, char *text, size_t room) {
    ssize_t nr = pread(replayer->errors_fd, text + 2, room - 3, 0);
    text[0] = 0;
    if (nr <= 0 || !text[2])
        return;
    memcpy(text, ": ", 2);
    text[2 + nr] = 0;
    text[strcspn(text, "\n")] = 0;
    for (char *at = text; *at; at++)
        *at = *at < ' ' || *at > '~' ? '?' : *at;
    size_t path = strlen(replayer->path);
    if (strncmp(text + 2, replayer->path, path) == 0 && strncmp(text + 2 + path, ": ", 2) == 0)
        memmove(text, text + 2 + path, strlen(text + 2 + path) + 1);
}

static struct seep_error *how_it_ended(const struct seep_replayer *replayer,
                                       const struct seep_allocator_choice *choice,
                                       const struct seep_plan *plan, int status) {
    static const char fails[] = "the allocator fails on what the program does; leave it out";
    const struct seep_replay_results *results = replayer->results;
    char words[256];
    first_words(replayer, words, sizeof(words));
    if (WIFSIGNALED(status))
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "the replay with %s was ended by signal %d (%s)%s",
                              choice->name, WTERMSIG(status), strsignal(WTERMSIG(status)), words),
            WTERMSIG(status) == SIGKILL ? "there was not enough memory for it" : fails);
    if (WEXITSTATUS(status) == SEEP_REPLAY_NO_THREADS)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                 "the replay with %s could not start %" PRIu32 " threads",
                                                 choice->name, plan->nr_threads),
                               "ulimit -u, pids.max of the control group and kernel.threads-max limit them");
    if (strstr(words, "cannot be preloaded") || (WEXITSTATUS(status) != 0 && !results->is_on))
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "%s could not be loaded%s", choice->name, words),
            "LD_PRELOAD of it with another program says the same");
    if (WEXITSTATUS(status) != 0 || !results->is_done)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                 "the replay with %s ended with status %d before its end%s",
                                                 choice->name, WEXITSTATUS(status), words),
                               fails);
    return NULL;
}

struct seep_error *seep_replayer_run(const struct seep_replayer *replayer,
                                     const struct seep_allocator_choice *choice, const struct seep_plan *plan,
                                     struct seep_replay_how how, uint32_t round) {
    if (!forget_last(replayer))
        return seep_error_system(errno, "cannot write to a memory file");
    replayer->results->how = how;
    pid_t pid;
    int status = 0;
    struct seep_error *error = spawn(replayer, choice, plan, round, &pid);
    if (!error)
        error = wait_for(replayer, choice, plan, pid, &status);
    if (error)
        return error;
    if (seep_interrupted)
        return seep_error_create(SEEP_E_IO, "interrupted");
    return how_it_ended(replayer, choice, plan, status);
}
