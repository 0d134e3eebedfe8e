// SPDX-License-Identifier: BSD-2-Clause
//
// The least that a forked child can cost under `seep run`: the system calls of the child and the tool, on as
// much memory, and no other work. A subshell of bash is the model. Prints the processor time of both
// processes for each child, with one more step in each line. docs/performance.md has the figures.
//
//     child_floor [CHILDREN]
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE         ((size_t)4096)
#define IMAGE_BYTES  ((size_t)40 << 20) // reserved
#define COPIED_PAGES 20u                // of the parent's image
#define FAULT_PAGES  30u  // of the child that the library writes to: its data, its stack, copies
#define MEMORY_PAGES 100u // of the child that may hold pointers
#define MAPPINGS     40u
#define RECORD_BYTES ((size_t)12 << 10) // of the trace

enum step { FORK, FAULTS, IMAGE, HAND_OVER, LOOK_AT_MAPS, LOOK_AT_SMAPS, NR_STEPS };
static const char *const names[] = {"fork and exit",
                                    "writing to pages that are shared with the parent",
                                    "an image: memfd, mmap, a copy of the parent's",
                                    "the image is handed over, read and stored",
                                    "a look: /proc/PID/maps and the memory",
                                    "the same look by /proc/PID/smaps"};

static char *image, *memory, *record;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double cpu_s(void) {
    double sum = 0;
    for (int who = RUSAGE_CHILDREN; who <= RUSAGE_SELF; who++) {
        struct rusage used;
        getrusage(who, &used);
        sum += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    }
    return sum;
}

static char *map(size_t nr_bytes, int flags, int fd) {
    char *at = mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED)
        fail("mmap");
    return at;
}

static int new_image(char **ret_image) {
    int fd = memfd_create("child-floor", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)IMAGE_BYTES) != 0)
        fail("memfd_create");
    *ret_image = map(IMAGE_BYTES, MAP_SHARED | MAP_NORESERVE, fd);
    return fd;
}

// A message of one byte, with a descriptor where there is one.
static void send_one(int line, int fd) {
    char byte = 0, control[CMSG_SPACE(sizeof(fd))] = {0};
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
    if (sendmsg(line, &message, 0) != 1)
        fail("sendmsg");
}

static int receive_one(int line) {
    int fd;
    char byte, control[CMSG_SPACE(sizeof(fd))];
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    if (recvmsg(line, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
        fail("recvmsg");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
    return fd;
}

static int open_of(pid_t pid, const char *name) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fail(path);
    return fd;
}

static void read_all(int fd) {
    static char text[128 << 10];
    while (read(fd, text, sizeof(text)) > 0)
        continue;
    close(fd);
}

static void child(enum step step, int line) {
    char *own = NULL, byte;
    int fd = -1;
    for (size_t i = 0; step >= FAULTS && i < FAULT_PAGES; i++)
        memory[i * PAGE]++;
    if (step >= IMAGE) {
        fd = new_image(&own);
        memcpy(own, image, COPIED_PAGES * PAGE);
    }
    if (step >= HAND_OVER)
        send_one(line, fd);
    if (step >= LOOK_AT_MAPS && read(line, &byte, 1) != 1)
        _exit(1);
    _exit(0);
}

// What the tool does.
static void take(enum step step, pid_t pid, int line, int trace) {
    int fd = receive_one(line);
    if (pread(fd, record, COPIED_PAGES * PAGE, 0) < 0 || pwrite(trace, record, RECORD_BYTES, 0) < 0)
        fail("the image");
    close(fd);
    if (step < LOOK_AT_MAPS)
        return;
    read_all(open_of(pid, step == LOOK_AT_MAPS ? "maps" : "smaps"));
    int mem = open_of(pid, "mem");
    if (pread(mem, record, MEMORY_PAGES * PAGE, (off_t)(size_t)memory) < 0)
        fail("the memory");
    close(mem);
    if (write(line, "", 1) != 1)
        fail("write");
}

int main(int argc, char **argv) {
    int nr = argc > 1 ? atoi(argv[1]) : 1000, ends[2];
    int trace = memfd_create("trace", MFD_CLOEXEC);
    if (nr <= 0 || trace < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        fail("child_floor [CHILDREN]");
    memory = map(MEMORY_PAGES * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    record = map(MEMORY_PAGES * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    memset(memory, 1, MEMORY_PAGES * PAGE);
    new_image(&image);
    memset(image, 1, COPIED_PAGES * PAGE);
    for (unsigned i = 0; i < MAPPINGS; i++) // that are not joined
        mprotect(map(2 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1), PAGE, PROT_READ);
    double before = 0;
    for (enum step step = FORK; step < NR_STEPS; step++) {
        double start = cpu_s();
        for (int i = 0; i < nr; i++) {
            pid_t pid = fork();
            if (pid < 0)
                fail("fork");
            if (!pid)
                child(step, ends[1]);
            if (step >= HAND_OVER)
                take(step, pid, ends[0], trace);
            waitpid(pid, NULL, 0);
        }
        double each = (cpu_s() - start) * 1e6 / nr;
        printf("%5.0f us a child, %+5.0f us: %s\n", each, each - before, names[step]);
        before = step == LOOK_AT_MAPS ? before : each;
    }
    return 0;
}
