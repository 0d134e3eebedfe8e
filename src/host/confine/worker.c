// SPDX-License-Identifier: BSD-2-Clause
//
// Questions and answers between the tool and a worker, see worker.h. A message is a head and its words; the
// descriptor that goes along comes with the head.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "confine/helpers.h"
#include "confine/opener.h"
#include "confine/worker.h"
#include "confine/worker_rights.h"

#define NS_PER_S    INT64_C(1000000000)
#define SLICE_MS    50
#define CPU_S       120u            // for one question; the largest browsers' debug information takes 20 s
#define STILL_NS    (10 * NS_PER_S) // so long without work: what it reads keeps it waiting
#define REAP_MS     2000u
#define WISHES_MAX  4096u
#define WORDS_MAX   ((size_t)64 << 20) // of a question, a wish or a reply: a copy of a stack
#define MEMORY_MIN  ((uint64_t)512 << 20)
#define PIECE_BYTES ((size_t)64 << 10)

enum kind { QUESTION = 1, ANSWER, WISH, REPLY, READY };

struct head {
    uint32_t kind;
    uint32_t nr_bytes;
};

struct seep_worker {
    pid_t pid;
    int socket;
    clockid_t clock;
    enum seep_worker_verdict verdict; // SEEP_WORKER_ANSWERED: it lives
};

struct seep_worker_end {
    int socket;
};

// ---- messages ----

// What the tool waits for may not keep it: it looks up every SLICE_MS.
struct wait {
    struct seep_worker *worker; // NULL: in the worker, which waits as long as it takes
    const volatile sig_atomic_t *stop;
    uint64_t memory_max;
    int64_t cpu_end_ns;
    int64_t cpu_ns;
    int64_t still_end_ns;
};

// Resident memory that is no file's.
static uint64_t memory_of(pid_t pid) {
    char name[32];
    unsigned long size = 0, resident = 0, of_files = 0;
    snprintf(name, sizeof(name), "/proc/%d/statm", (int)pid);
    FILE *file = fopen(name, "re");
    if (!file)
        return 0;
    int nr = fscanf(file, "%lu %lu %lu", &size, &resident, &of_files);
    fclose(file);
    return nr == 3 && resident > of_files ? (resident - of_files) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static enum seep_worker_verdict judge(struct wait *wait) {
    int64_t cpu_ns = seep_clock_ns(wait->worker->clock), now_ns = seep_monotonic_ns();
    if (cpu_ns != wait->cpu_ns)
        wait->still_end_ns = now_ns + STILL_NS;
    wait->cpu_ns = cpu_ns;
    if (wait->stop && *wait->stop)
        return SEEP_WORKER_STOPPED;
    if (cpu_ns > wait->cpu_end_ns || now_ns > wait->still_end_ns)
        return SEEP_WORKER_SLOW;
    return memory_of(wait->worker->pid) > wait->memory_max ? SEEP_WORKER_LARGE : SEEP_WORKER_ANSWERED;
}

static enum seep_worker_verdict wait_for(int socket, short event, struct wait *wait) {
    while (wait->worker) { // the other side waits in the call itself
        struct pollfd ready = {.fd = socket, .events = event};
        int nr = poll(&ready, 1, SLICE_MS);
        if (nr > 0)
            return SEEP_WORKER_ANSWERED;
        if (nr < 0 && errno != EINTR)
            return SEEP_WORKER_ENDED;
        enum seep_worker_verdict verdict = judge(wait);
        if (verdict != SEEP_WORKER_ANSWERED)
            return verdict;
    }
    return SEEP_WORKER_ANSWERED;
}

// `file`: goes with the first byte; -1: none.
static enum seep_worker_verdict send_bytes(int socket, const void *bytes, size_t nr_bytes, int file,
                                           struct wait *wait) {
    const char *at = bytes;
    while (nr_bytes) {
        union {
            struct cmsghdr head;
            char room[CMSG_SPACE(sizeof(int))];
        } with = {.room = {0}};
        struct iovec piece = {(char *)at, nr_bytes};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
        if (file >= 0) {
            message.msg_control = &with;
            message.msg_controllen = sizeof(with.room);
            with.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
            memcpy(CMSG_DATA(&with.head), &file, sizeof(file));
        }
        enum seep_worker_verdict verdict = wait_for(socket, POLLOUT, wait);
        if (verdict != SEEP_WORKER_ANSWERED)
            return verdict;
        if (file >= 0 && seep_is_handle(file)) {
            if (!seep_give_handle(file, socket, bytes, nr_bytes))
                return errno == EINTR ? SEEP_WORKER_STOPPED : SEEP_WORKER_SLOW;
            return SEEP_WORKER_ANSWERED;
        }
        ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | (wait->worker ? MSG_DONTWAIT : 0));
        if (sent < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (sent <= 0)
            return SEEP_WORKER_ENDED;
        file = -1;
        at += sent;
        nr_bytes -= (size_t)sent;
    }
    return SEEP_WORKER_ANSWERED;
}

// `file`: where to put a descriptor that came along. NULL: one that comes is closed.
static enum seep_worker_verdict receive_bytes(int socket, void *bytes, size_t nr_bytes, int *file,
                                              struct wait *wait) {
    char *at = bytes;
    while (nr_bytes) {
        union {
            struct cmsghdr head;
            char room[CMSG_SPACE(sizeof(int))];
        } with;
        struct iovec piece = {at, nr_bytes};
        struct msghdr message = {
            .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &with, .msg_controllen = sizeof(with.room)};
        enum seep_worker_verdict verdict = wait_for(socket, POLLIN, wait);
        if (verdict != SEEP_WORKER_ANSWERED)
            return verdict;
        // The tool takes no descriptor from a worker: without room for one the kernel closes it.
        if (!file)
            message.msg_control = NULL, message.msg_controllen = 0;
        ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait->worker ? MSG_DONTWAIT : 0));
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return SEEP_WORKER_ENDED;
        const struct cmsghdr *came = file ? CMSG_FIRSTHDR(&message) : NULL;
        if (came && came->cmsg_type == SCM_RIGHTS && came->cmsg_len == CMSG_LEN(sizeof(int)) && *file < 0)
            memcpy(file, CMSG_DATA(came), sizeof(*file));
        at += got;
        nr_bytes -= (size_t)got;
    }
    return SEEP_WORKER_ANSWERED;
}

static enum seep_worker_verdict send_message(int socket, enum kind kind, const struct seep_put *words,
                                             int file, struct wait *wait) {
    if (words->failed || words->used > WORDS_MAX * 4)
        return SEEP_WORKER_LARGE;
    const struct head head = {kind, (uint32_t)words->used};
    enum seep_worker_verdict verdict = send_bytes(socket, &head, sizeof(head), file, wait);
    return verdict == SEEP_WORKER_ANSWERED ? send_bytes(socket, words->bytes, words->used, -1, wait)
                                           : verdict;
}

// Memory is taken as the words come, not as they are announced.
static enum seep_worker_verdict receive_words(int socket, size_t nr_bytes, struct seep_put *words,
                                              struct wait *wait) {
    enum seep_worker_verdict verdict = SEEP_WORKER_ANSWERED;
    while (nr_bytes && verdict == SEEP_WORKER_ANSWERED) {
        size_t piece = SEEP_MIN(nr_bytes, SEEP_MAX(PIECE_BYTES, words->used));
        if (!seep_put_room(words, piece))
            return SEEP_WORKER_LARGE;
        verdict = receive_bytes(socket, words->bytes + words->used, piece, NULL, wait);
        words->used += piece;
        nr_bytes -= piece;
    }
    return verdict;
}

// ---- the worker's side ----

int seep_worker_wish(struct seep_worker_end *end, const struct seep_put *wish, struct seep_put *ret_reply) {
    struct wait wait = {NULL};
    struct head head;
    int file = -1;
    if (send_message(end->socket, WISH, wish, -1, &wait) != SEEP_WORKER_ANSWERED ||
        receive_bytes(end->socket, &head, sizeof(head), &file, &wait) != SEEP_WORKER_ANSWERED ||
        head.kind != REPLY ||
        receive_words(end->socket, head.nr_bytes, ret_reply, &wait) != SEEP_WORKER_ANSWERED)
        _exit(1); // the tool is gone
    return file;
}

static void serve_all(seep_worker_serve_function *serve, void *context) {
    struct seep_worker_end end = {SEEP_WORKER_SOCKET};
    struct wait wait = {NULL};
    const struct seep_put nothing = {NULL};
    bool goes_on = send_message(end.socket, READY, &nothing, -1, &wait) == SEEP_WORKER_ANSWERED;
    while (goes_on) {
        struct seep_put words = {NULL}, answer = {NULL};
        struct head head;
        int file = -1;
        if (receive_bytes(end.socket, &head, sizeof(head), &file, &wait) != SEEP_WORKER_ANSWERED ||
            head.kind != QUESTION ||
            receive_words(end.socket, head.nr_bytes, &words, &wait) != SEEP_WORKER_ANSWERED)
            return;
        struct seep_take question = seep_take_of(&words);
        goes_on = serve(context, &end, &question, file, &answer) &&
                  send_message(end.socket, ANSWER, &answer, -1, &wait) == SEEP_WORKER_ANSWERED;
        if (file >= 0)
            close(file);
        seep_put_deinit(&words);
        seep_put_deinit(&answer);
    }
}

// ---- the tool's side ----

// One that waits for a file system that a user's program makes (FUSE) dies when that answers: it is left to
// whom the tool leaves its children.
static void reap(pid_t pid) {
    const struct timespec pause = {0, NS_PER_S / 1000};
    for (unsigned i = 0; i < REAP_MS; i++) {
        pid_t found = waitpid(pid, NULL, WNOHANG);
        if (found == pid || (found < 0 && errno != EINTR)) {
            seep_helper_remove(pid);
            return;
        }
        nanosleep(&pause, NULL);
    }
}

static void end_worker(struct seep_worker *worker, enum seep_worker_verdict verdict) {
    if (worker->pid > 0) {
        kill(worker->pid, SIGKILL);
        reap(worker->pid);
    }
    if (worker->socket >= 0)
        close(worker->socket);
    worker->pid = -1;
    worker->socket = -1;
    worker->verdict = verdict;
}

void seep_worker_destroy(struct seep_worker *worker) {
    if (!worker)
        return;
    end_worker(worker, SEEP_WORKER_ENDED);
    free(worker);
}

static uint64_t usual_memory(void) {
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    return SEEP_MAX(memory / 2, MEMORY_MIN);
}

static struct wait wait_of(struct seep_worker *worker, const struct seep_worker_question *question) {
    int64_t cpu_ns = seep_clock_ns(worker->clock);
    return (struct wait){.worker = worker,
                         .stop = question->stop,
                         .memory_max = question->memory_max ? question->memory_max : usual_memory(),
                         .cpu_ns = cpu_ns,
                         .cpu_end_ns = cpu_ns + (question->cpu_s ? question->cpu_s : CPU_S) * NS_PER_S,
                         .still_end_ns = seep_monotonic_ns() + STILL_NS};
}

// Its first word: all rights are gone. What it could not give up comes as the words of it.
static struct seep_error *take_ready(struct seep_worker *worker) {
    const struct seep_worker_question usual = {.file = -1};
    struct wait wait = wait_of(worker, &usual);
    struct seep_put words = {NULL};
    struct head head = {0, 0};
    enum seep_worker_verdict verdict = receive_bytes(worker->socket, &head, sizeof(head), NULL, &wait);
    bool is_ready = verdict == SEEP_WORKER_ANSWERED && head.kind == READY && head.nr_bytes == 0;
    if (!is_ready && verdict == SEEP_WORKER_ANSWERED && head.nr_bytes && head.nr_bytes < PIECE_BYTES)
        verdict = receive_words(worker->socket, head.nr_bytes, &words, &wait);
    struct seep_error *error = NULL;
    if (!is_ready)
        error = seep_error_create(SEEP_E_UNSUPPORTED, "files of other users cannot be read safely here: %.*s",
                                  words.used ? (int)words.used : 17,
                                  words.used ? (const char *)words.bytes : "the reader ended");
    seep_put_deinit(&words);
    return error;
}

static void be_worker(int socket, pid_t parent, seep_worker_serve_function *serve, void *context) {
    const char *kept = seep_worker_drop_rights(socket, parent);
    if (!kept) {
        serve_all(serve, context);
        return;
    }
    char words[128];
    struct wait wait = {NULL};
    snprintf(words, sizeof(words), "cannot %s: %s", kept, strerror(errno));
    struct seep_put put = {.bytes = (unsigned char *)words, .used = strlen(words)};
    if (send_message(SEEP_WORKER_SOCKET, READY, &put, -1, &wait) != SEEP_WORKER_ANSWERED)
        _exit(1);
}

struct seep_error *seep_worker_start(seep_worker_serve_function *serve, void *context,
                                     struct seep_worker **ret_worker) {
    int sockets[2];
    struct seep_worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return seep_error_no_memory();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
        free(worker);
        return seep_error_system(errno, "cannot talk with a reader of files of other users");
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        be_worker(sockets[1], parent, serve, context);
        _exit(0);
    }
    int fork_errno = errno;
    if (pid > 0)
        seep_helper_add(pid);
    close(sockets[1]);
    *worker = (struct seep_worker){.pid = pid, .socket = sockets[0]};
    struct seep_error *error = NULL;
    if (pid < 0)
        error = seep_error_system(fork_errno, "cannot start a reader of files of other users");
    else if (clock_getcpuclockid(pid, &worker->clock) != 0)
        error =
            seep_error_create(SEEP_E_UNSUPPORTED, "the time that a reader of files takes is not known here");
    if (!error)
        error = take_ready(worker);
    if (error) {
        seep_worker_destroy(worker);
        return error;
    }
    *ret_worker = worker;
    return NULL;
}

static enum seep_worker_verdict grant(struct seep_worker *worker, const struct seep_worker_question *question,
                                      size_t nr_bytes, struct wait *wait) {
    struct seep_put wish = {NULL}, reply = {NULL};
    int file = -1;
    enum seep_worker_verdict verdict =
        nr_bytes <= PIECE_BYTES ? receive_words(worker->socket, nr_bytes, &wish, wait) : SEEP_WORKER_ENDED;
    if (verdict == SEEP_WORKER_ANSWERED) {
        struct seep_take take = seep_take_of(&wish);
        if (question->give)
            file = question->give(question->context, &take, &reply);
        verdict = take.failed ? SEEP_WORKER_ENDED : send_message(worker->socket, REPLY, &reply, file, wait);
    }
    if (file >= 0)
        close(file);
    seep_put_deinit(&wish);
    seep_put_deinit(&reply);
    return verdict;
}

static enum seep_worker_verdict ask(struct seep_worker *worker, const struct seep_worker_question *question,
                                    struct seep_put *answer) {
    struct wait wait = wait_of(worker, question);
    enum seep_worker_verdict verdict =
        send_message(worker->socket, QUESTION, question->words, question->file, &wait);
    for (uint32_t wishes = 0; verdict == SEEP_WORKER_ANSWERED; wishes++) {
        struct head head;
        verdict = receive_bytes(worker->socket, &head, sizeof(head), NULL, &wait);
        if (verdict != SEEP_WORKER_ANSWERED)
            break;
        if (head.kind == ANSWER && head.nr_bytes <= question->answer_max)
            return receive_words(worker->socket, head.nr_bytes, answer, &wait);
        verdict = head.kind == WISH && wishes < WISHES_MAX ? grant(worker, question, head.nr_bytes, &wait)
                                                           : SEEP_WORKER_ENDED;
    }
    return verdict;
}

enum seep_worker_verdict seep_worker_ask(struct seep_worker *worker,
                                         const struct seep_worker_question *question,
                                         struct seep_put *ret_answer) {
    if (worker->verdict != SEEP_WORKER_ANSWERED)
        return worker->verdict;
    enum seep_worker_verdict verdict = ask(worker, question, ret_answer);
    if (verdict != SEEP_WORKER_ANSWERED)
        end_worker(worker, verdict);
    return verdict;
}

const char *seep_worker_verdict_words(enum seep_worker_verdict verdict) {
    switch (verdict) {
    case SEEP_WORKER_SLOW:
        return "reading it took too long";
    case SEEP_WORKER_LARGE:
        return "reading it took too much memory";
    case SEEP_WORKER_STOPPED:
        return "reading it was stopped";
    case SEEP_WORKER_ENDED:
    case SEEP_WORKER_ANSWERED:
        break;
    }
    return "its reader died of it";
}
