// SPDX-License-Identifier: BSD-2-Clause
// Programs that wait to be executed, see exec_gate.h.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/live_thread.h"
#include "core/attr.h"
#include "source/attach/exec_gate.h"

#define WAITING_MAX    64
#define PATIENCE_NS    INT64_C(500000000)  // of one that is not taken
#define READING_NS     INT64_C(5000000000) // of one that is being read
#define SLICE_MS       50
#define GATE_FANOTIFY  3 // descriptors of the gatekeeper
#define GATE_SOCKET    4
#define FIRST_OF_FILES 5
#define FILES_MAX      (FIRST_OF_FILES + WAITING_MAX + 16)

struct seep_exec_gate {
    pid_t keeper;
    int socket;
    bool has_ended; // the gatekeeper was killed: its end of the socket would wake us for ever
};

// From the tool to the gatekeeper. The number of a descriptor is used again once its program goes on, and a
// word may come after that.
struct word {
    uint64_t serial;
    bool go; // false: it is being read
};

// ---- the gatekeeper, which is a process of its own: it goes on while the tool is stopped ----

struct waiting {
    int fd;
    uint64_t serial;
    int64_t until_ns;
};

struct keeper {
    struct waiting waiting[WAITING_MAX];
    size_t nr_waiting;
    uint64_t nr_told;
    bool is_silent; // the tool has not taken one in time, and has said nothing since
};

// The descriptor is closed first, because the program that goes on may unmount its file at once. The kernel
// knows the event by the number of the descriptor.
static void answer(int fd) {
    struct fanotify_response response = {.fd = fd, .response = FAN_ALLOW};
    close(fd);
    ssize_t nr = write(GATE_FANOTIFY, &response, sizeof(response));
    (void)nr; // one that was killed meanwhile waits no longer
}

static void add(struct keeper *keeper, pid_t pid, int fd) {
    struct seep_exec_waiting told = {.pid = pid, .fd = fd, .serial = ++keeper->nr_told};
    // A process that entered from outside may have no pid for us.
    if (keeper->is_silent || pid <= 0 || keeper->nr_waiting == WAITING_MAX ||
        send(GATE_SOCKET, &told, sizeof(told), MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof(told))
        answer(fd);
    else
        keeper->waiting[keeper->nr_waiting++] =
            (struct waiting){fd, told.serial, seep_monotonic_ns() + PATIENCE_NS};
}

// One by one: the kernel refuses an exec for which it finds no free descriptor here.
static void read_event(struct keeper *keeper) {
    struct fanotify_event_metadata event;
    ssize_t nr = read(GATE_FANOTIFY, &event, sizeof(event));
    if (FAN_EVENT_OK(&event, nr) && event.fd >= 0)
        add(keeper, event.pid, event.fd);
}

static void let_go(struct keeper *keeper, size_t i) {
    answer(keeper->waiting[i].fd);
    keeper->waiting[i] = keeper->waiting[--keeper->nr_waiting];
}

// false: the tool has ended.
static bool hear(struct keeper *keeper) {
    struct word word;
    ssize_t nr = recv(GATE_SOCKET, &word, sizeof(word), MSG_DONTWAIT);
    if (nr < 0)
        return errno == EAGAIN || errno == EINTR;
    keeper->is_silent = false;
    for (size_t i = 0; nr == sizeof(word) && i < keeper->nr_waiting; i++) {
        if (keeper->waiting[i].serial != word.serial)
            continue;
        keeper->waiting[i].until_ns = seep_monotonic_ns() + READING_NS;
        if (word.go) {
            // The tool knows the file now: the kernel asks again only when it has been written. If it takes
            // no mark more, it asks.
            (void)fanotify_mark(GATE_FANOTIFY, FAN_MARK_ADD | FAN_MARK_IGNORED_MASK, FAN_OPEN_EXEC_PERM,
                                keeper->waiting[i].fd, NULL);
            let_go(keeper, i);
        }
        break;
    }
    return nr == sizeof(word);
}

static _Noreturn void keep(void) {
    struct keeper keeper = {.nr_waiting = 0};
    struct pollfd events[] = {{.fd = GATE_FANOTIFY, .events = POLLIN}, {.fd = GATE_SOCKET, .events = POLLIN}};
    for (;;) {
        events[0].revents = events[1].revents = 0;
        poll(events, 2, keeper.nr_waiting ? SLICE_MS : -1);
        // First, because what the tool said before an exec ends its silence.
        if (events[1].revents && !hear(&keeper))
            _exit(0); // the kernel lets all go
        if (events[0].revents & POLLIN)
            read_event(&keeper);
        int64_t now_ns = seep_monotonic_ns();
        for (size_t i = keeper.nr_waiting; i-- > 0;)
            if (now_ns > keeper.waiting[i].until_ns) {
                let_go(&keeper, i);
                keeper.is_silent = true;
            }
    }
}

// Nothing of the tool's stays open in it: probes end with the tool. What stops the tool's process group does
// not stop it.
static _Noreturn void become_keeper(int fanotify, int socket) {
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGPIPE};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(ignored); i++)
        signal(ignored[i], SIG_IGN);
    prctl(PR_SET_NAME, "seep-exec-gate");
    setsid();
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        _exit(1);
    if (limit.rlim_cur < FILES_MAX) {
        limit = (struct rlimit){FILES_MAX, SEEP_MAX(limit.rlim_max, (rlim_t)FILES_MAX)};
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
            _exit(1);
    }
    int high_fanotify = fcntl(fanotify, F_DUPFD, FIRST_OF_FILES),
        high_socket = fcntl(socket, F_DUPFD, FIRST_OF_FILES);
    if (dup2(high_fanotify, GATE_FANOTIFY) < 0 || dup2(high_socket, GATE_SOCKET) < 0)
        _exit(1);
    close_range(FIRST_OF_FILES, UINT32_MAX, 0);
    for (int fd = 0; fd < GATE_FANOTIFY; fd++)
        close(fd);
    keep();
}

// ---- the tool ----

// The kernel opens the file once more for the gatekeeper. A file system that a process or a server serves may
// not answer that, and then no exec goes on; or refuse it to root, and then the exec fails. So only those
// that the kernel serves by itself.
static bool is_served_by_kernel(const char *type) {
    static const char *const types[] = {"bcachefs", "btrfs",   "erofs", "ext2",     "ext3",  "ext4", "f2fs",
                                        "iso9660",  "overlay", "ramfs", "squashfs", "tmpfs", "xfs",  "zfs"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(types); i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

// What is mounted over another mount has the name of both; that of a mount that is out of reach is refused.
// Source: proc_pid_mountinfo(5).
static bool mark_mounts(int fanotify, pid_t pid) {
    char name[64], line[4096], mount[2048], type[64], path[2200];
    snprintf(name, sizeof(name), "/proc/%d/mountinfo", (int)seep_live_thread(pid));
    FILE *file = fopen(name, "re");
    bool marked = false;
    while (file && fgets(line, sizeof(line), file)) {
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(rest, " - %63s", type) != 1 || !is_served_by_kernel(type) ||
            sscanf(line, "%*s %*s %*s %*s %2047s", mount) != 1)
            continue;
        snprintf(path, sizeof(path), "/proc/%d/root%s", (int)seep_live_thread(pid), mount);
        marked |=
            fanotify_mark(fanotify, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN_EXEC_PERM, AT_FDCWD, path) == 0;
    }
    if (file)
        fclose(file);
    return marked;
}

static void close_if_open(int fd) {
    if (fd >= 0)
        close(fd);
}

struct seep_exec_gate *seep_exec_gate_create(pid_t pid) {
    int sockets[2] = {-1, -1};
    struct seep_exec_gate *gate = calloc(1, sizeof(*gate));
    int fanotify =
        fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC | O_LARGEFILE);
    if (gate && fanotify >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0)
        gate->keeper = fork();
    if (gate && gate->keeper == 0 && sockets[0] >= 0)
        become_keeper(fanotify, sockets[1]);
    // The mounts are marked once the gatekeeper is there to answer.
    bool works = gate && gate->keeper > 0 && mark_mounts(fanotify, pid);
    close_if_open(fanotify);
    close_if_open(sockets[1]);
    if (works) {
        gate->socket = sockets[0];
        return gate;
    }
    close_if_open(sockets[0]); // the gatekeeper ends by that
    if (gate && gate->keeper > 0)
        waitpid(gate->keeper, NULL, 0);
    free(gate);
    return NULL;
}

void seep_exec_gate_destroy(struct seep_exec_gate *gate) {
    if (!gate)
        return;
    close(gate->socket);
    // A gatekeeper that is stopped would not notice the closed socket, so it is killed. The kernel then lets
    // all programs go on.
    kill(gate->keeper, SIGKILL);
    while (waitpid(gate->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    free(gate);
}

int seep_exec_gate_fd(const struct seep_exec_gate *gate) {
    return gate && !gate->has_ended ? gate->socket : -1;
}

static void say(const struct seep_exec_gate *gate, uint64_t serial, bool go) {
    struct word word = {.serial = serial, .go = go};
    ssize_t nr = send(gate->socket, &word, sizeof(word), MSG_NOSIGNAL);
    (void)nr; // a gatekeeper that was killed keeps nothing back
}

struct seep_exec_waiting seep_exec_gate_take(struct seep_exec_gate *gate) {
    struct seep_exec_waiting first;
    ssize_t nr = gate->has_ended ? 0 : recv(gate->socket, &first, sizeof(first), MSG_DONTWAIT);
    gate->has_ended = nr == 0 || (nr < 0 && errno != EAGAIN && errno != EINTR);
    if (nr != sizeof(first))
        return (struct seep_exec_waiting){.fd = -1};
    say(gate, first.serial, false);
    return first;
}

void seep_exec_gate_path(const struct seep_exec_gate *gate, const struct seep_exec_waiting *waiting,
                         char ret_path[SEEP_EXEC_GATE_PATH_BYTES]) {
    snprintf(ret_path, SEEP_EXEC_GATE_PATH_BYTES, "/proc/%d/fd/%d", (int)gate->keeper, waiting->fd);
}

void seep_exec_gate_let_go(const struct seep_exec_gate *gate, const struct seep_exec_waiting *waiting) {
    say(gate, waiting->serial, true);
}
