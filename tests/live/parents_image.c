// SPDX-License-Identifier: BSD-2-Clause
//
// parents_image HOW: what a child that has dropped its rights can do to memory that it shares with its parent.
// HOW: fork, clone, or filter (fork under a filter that makes the child go without an image). The child looks for
// mappings of an image before it uses its heap and after, tries to make each one writable, and fills what it can write.
// Then the parent works on: a parent that trusts what lies there crashes.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[20000];

static void work(int nr) {
    for (int i = 0; i < nr; i++)
        kept[i] = malloc((size_t)(i % 700 + 1));
    for (int i = 0; i < nr; i++)
        free(kept[i]);
}

static uint64_t inode_before; // of the parent's image

struct area {
    uint64_t start, end, inode;
    int writable;
};

// Not through stdio: the heap is not to be used yet. Returns how many mappings of images there are.
static int images(struct area *areas, int room) {
    static char text[1 << 16];
    size_t length = 0;
    int nr = 0, fd = open("/proc/self/maps", O_RDONLY);
    for (ssize_t got; (got = read(fd, text + length, sizeof(text) - 1 - length)) > 0;)
        length += (size_t)got;
    close(fd);
    text[length] = 0;
    for (char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char *end = strchr(line, '\n'), *name = strstr(line, "/memfd:seep-image");
        unsigned long start, stop, inode;
        char rights[8];
        if (!end || !name || name > end || nr == room ||
            sscanf(line, "%lx-%lx %7s %*x %*x:%*x %lu", &start, &stop, rights, &inode) != 4)
            continue;
        areas[nr++] = (struct area){start, stop, inode, rights[1] == 'w'};
    }
    return nr;
}

// Of the parent's image only; a child may have one of its own by then.
static int writable_now(int *ret_made) {
    static struct area areas[200];
    int nr = images(areas, 200), writable = 0;
    *ret_made = 0;
    for (int i = 0; i < nr; i++) {
        if (areas[i].inode != inode_before)
            continue;
        size_t bytes = areas[i].end - areas[i].start;
        writable += areas[i].writable;
        // By syscall(): what libc's functions map the library notes, and that is a use of the heap.
        long copy = syscall(SYS_mremap, areas[i].start, 0, 4096, MREMAP_MAYMOVE);
        if ((copy > 0 && syscall(SYS_mprotect, copy, 4096, PROT_READ | PROT_WRITE) == 0) ||
            syscall(SYS_mprotect, areas[i].start, bytes, PROT_READ | PROT_WRITE) == 0)
            ++*ret_made;
        if (areas[i].writable || *ret_made)
            for (uint64_t at = areas[i].start; at < areas[i].end && at < areas[i].start + (1 << 20); at += 8)
                *(volatile uint64_t *)at = UINT64_C(0x4141414141414141);
    }
    return writable;
}

static int child(void) {
    int made, made_after;
    if (getuid() == 0 && (setgid(65534) || setuid(65534)))
        return 10;
    int before = writable_now(&made);
    work(100);
    int after = writable_now(&made_after);
    return before || made ? 11 : after || made_after ? 12 : 3;
}

static void forbid_memory_files(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(20);
}

int main(int argc, char **argv) {
    static struct area areas[200];
    work(1000);
    if (images(areas, 200))
        inode_before = areas[0].inode;
    if (!strcmp(argv[1], "filter"))
        forbid_memory_files();
    int status = -1;
    pid_t pid = !strcmp(argv[1], "clone") ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (pid == 0)
        _exit(child());
    if (waitpid(pid, &status, 0) != pid)
        return 2;
    work(20000);
    printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    return 0;
}
