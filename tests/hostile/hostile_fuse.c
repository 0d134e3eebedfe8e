// SPDX-License-Identifier: BSD-2-Clause
//
// A file system with one file, a copy of the named program. It answers the first `n` reads of the file and never
// answers later ones. After SIGUSR1 it answers no request, and prints "asked" at the first one. `hostile-fuse FOLDER
// FILE N`: mounts it, says "ready", and leaves when its input ends. Exit status 77: not possible here. Source: Linux,
// include/uapi/linux/fuse.h.
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static int device;
static struct stat status;
static int contents;
static volatile sig_atomic_t silent;

static void be_silent(int number) {
    (void)number;
    silent = 1;
}

static void answer(const struct fuse_in_header *in, int error, const void *bytes, size_t nr_bytes) {
    static char whole[1 << 18];
    struct fuse_out_header out = {sizeof(out) + (uint32_t)nr_bytes, error, in->unique};
    memcpy(whole, &out, sizeof(out));
    if (nr_bytes)
        memcpy(whole + sizeof(out), bytes, nr_bytes);
    if (write(device, whole, out.len) < 0 && errno != ENOENT)
        perror("answer");
}

static struct fuse_attr attributes(uint64_t node) {
    struct fuse_attr of = {.ino = node, .mode = S_IFDIR | 0755, .nlink = 1, .blksize = 4096};
    if (node == 2) {
        of.mode = S_IFREG | 0755;
        of.size = (uint64_t)status.st_size;
        of.blocks = (of.size + 511) / 512;
    }
    return of; // of root, it says
}

static void serve(const struct fuse_in_header *in, const void *words, int *reads) {
    static char bytes[1 << 17];
    struct fuse_init_out init = {.major = 7, .minor = 31, .max_readahead = 4096, .max_write = 4096};
    struct fuse_entry_out entry = {.nodeid = 2, .attr = attributes(2)};
    struct fuse_attr_out attr = {.attr = attributes(in->nodeid)};
    struct fuse_open_out open = {.fh = 1};
    const struct fuse_read_in *read = words;
    ssize_t got;
    switch (in->opcode) {
    case FUSE_INIT:
        answer(in, 0, &init, sizeof(init));
        break;
    case FUSE_LOOKUP:
        answer(in, 0, &entry, sizeof(entry));
        break;
    case FUSE_GETATTR:
        answer(in, 0, &attr, sizeof(attr));
        break;
    case FUSE_OPEN:
    case FUSE_OPENDIR:
        answer(in, 0, &open, sizeof(open));
        break;
    case FUSE_READ:
        if ((*reads)-- <= 0)
            break; // and nothing comes
        got = pread(contents, bytes, read->size < sizeof(bytes) ? read->size : sizeof(bytes),
                    (off_t)read->offset);
        answer(in, 0, bytes, got > 0 ? (size_t)got : 0);
        break;
    case FUSE_FORGET:
    case FUSE_INTERRUPT:
        break;
    default:
        answer(in, -ENOSYS, NULL, 0);
    }
}

int main(int argc, char **argv) {
    static char request[1 << 18] __attribute__((aligned(8)));
    char options[128];
    int reads = argc > 3 ? atoi(argv[3]) : 0;
    bool told = false;
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    contents = argc > 3 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
    if (device < 0 || contents < 0 || fstat(contents, &status) != 0 ||
        mount("fuse", argv[1], "fuse", 0, options) != 0) {
        perror("fuse");
        return 77;
    }
    signal(SIGUSR1, be_silent);
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct pollfd waits[2] = {{.fd = device, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
        if (poll(waits, 2, -1) < 0)
            continue;
        if (waits[1].revents)
            break;
        ssize_t got = read(device, request, sizeof(request));
        if (got < (ssize_t)sizeof(struct fuse_in_header))
            continue;
        if (!silent) {
            serve((void *)request, request + sizeof(struct fuse_in_header), &reads);
        } else if (!told) {
            told = true;
            puts("asked");
            fflush(stdout);
        }
    }
    return umount2(argv[1], MNT_DETACH) != 0;
}
