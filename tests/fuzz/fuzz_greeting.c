// SPDX-License-Identifier: BSD-2-Clause
//
// The tool's socket: messages of any bytes, with any of a memory file, another file and none. Besides not crashing:
// what is taken has the form that it must have, and no descriptor stays.
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "source/run/listener.h"
#include "fuzz.h"

static struct seep_listener listener;
static int memory, other;

static struct seep_error *take(void *data, const struct seep_listener_message *message) {
    size_t *nr_taken = data;
    (*nr_taken)++;
    MUST((message->fd >= 0) + (message->peer >= 0) + (message->notice != NULL) == 1);
    MUST(message->pid == getpid() && !message->foreign);
    if (message->notice)
        MUST(memchr(message->notice->path, 0, sizeof(message->notice->path)));
    if (message->fd >= 0)
        close(message->fd);
    if (message->peer >= 0)
        close(message->peer);
    return NULL;
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int peer = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    MUST(strlen(path) < sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    MUST(peer >= 0 && connect(peer, (struct sockaddr *)&address, sizeof(address)) == 0);
    return peer;
}

static void say(int peer, const uint8_t *bytes, size_t nr_bytes, const int *files, size_t nr_files) {
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(8 * sizeof(int))];
    } with = {.room = {0}};
    struct iovec piece = {(void *)bytes, nr_bytes};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    if (nr_files) {
        message.msg_control = &with;
        message.msg_controllen = CMSG_SPACE(nr_files * sizeof(int));
        with.head = (struct cmsghdr){CMSG_LEN(nr_files * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&with.head), files, nr_files * sizeof(int));
    }
    (void)!sendmsg(peer, &message, MSG_NOSIGNAL);
}

// The fuzzer has a few of its own, too; no run of it comes near the bound.
static int count_descriptors(void) {
    int nr = 0;
    for (int fd = 0; fd < 64; fd++)
        nr += fcntl(fd, F_GETFD) >= 0;
    return nr;
}

// The first byte says how many files come along, and which.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!memory) {
        struct seep_error *error = seep_listener_init(&listener);
        MUST(!error);
        memory = memfd_create("image", MFD_CLOEXEC);
        other = open("/dev/null", O_RDONLY | O_CLOEXEC);
        MUST(memory > 0 && other > 0);
        seep_error_destroy(seep_listener_read(&listener, take, NULL)); // the spare descriptor is there now
    }
    if (!size)
        return 0;
    int files[8], nr_before = count_descriptors(), peer = connect_to(listener.path);
    for (size_t i = 0; i < 8; i++)
        files[i] = (data[0] >> i & 1) ? memory : other;
    say(peer, data + 1, size - 1, files, data[0] % 7);
    size_t nr_taken = 0;
    uint64_t refused = listener.nr_refused;
    seep_error_destroy(seep_listener_read(&listener, take, &nr_taken));
    MUST(nr_taken <= 1 && nr_taken + (listener.nr_refused - refused) <= 1);
    close(peer);
    seep_error_destroy(seep_listener_read(&listener, take, &nr_taken));
    MUST(listener.nr_peers == 0);
    MUST(count_descriptors() == nr_before);
    return 0;
}
