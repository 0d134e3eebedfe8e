// SPDX-License-Identifier: BSD-2-Clause
// As fork_descriptors.c, at each moment: the parent stops its child, which has its table of descriptors, at every system
// call once the image's file is there, and puts a file of its own in place of that file's descriptor. The child and a child
// of it allocate. Prints at how many moments it did so; exits with 0 if the file and the children are as ever.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 65536, MOMENTS = 2000 };
static char text[BYTES], now[BYTES];

static void allocate(void) {
    void *volatile block = malloc(10);
    (void)block;
}

static void be_child(void) {
    int status;
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    allocate();
    pid_t child = fork();
    if (child == 0) {
        allocate();
        _exit(0);
    }
    _exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 1);
}

// Whether the moment came. The child's status is what it ended with.
static int put_at(int moment, int file, int *ret_status) {
    int nr = 0, number = -1, image = -1, put = 0, status;
    pid_t child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        be_child();
    waitpid(child, &status, 0);
    ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD);
    for (int sent = 0;;
         sent = WIFSTOPPED(status) && WSTOPSIG(status) != (SIGTRAP | 0x80) ? WSTOPSIG(status) : 0) {
        struct __ptrace_syscall_info info = {0};
        if (ptrace(PTRACE_SYSCALL, child, NULL, (void *)(long)sent) || waitpid(child, &status, 0) != child)
            break;
        if (WIFEXITED(status) || WIFSIGNALED(status))
            break;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80) ||
            ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof(info), &info) <= 0)
            continue;
        if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
            number = (int)info.entry.nr;
            // Between the last look at the descriptor and the call that sizes the file nothing can be seen.
            if (image >= 0 && !put && number != SYS_ftruncate && nr++ == moment)
                put = dup2(file, image);
        } else if (number == SYS_memfd_create && image < 0) {
            image = (int)info.exit.rval;
        }
    }
    if (put)
        close(put);
    *ret_status = status;
    return put != 0;
}

int main(int argc, char **argv) {
    memset(text, 'u', sizeof(text));
    allocate();
    int file = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1, moment = 0, status;
    struct stat about;
    if (write(file, text, sizeof(text)) != sizeof(text))
        return 1;
    for (; moment < MOMENTS && put_at(moment, file, &status); moment++)
        if (status || fstat(file, &about) || about.st_size != BYTES || pread(file, now, BYTES, 0) != BYTES ||
            memcmp(now, text, BYTES) != 0) {
            printf("moment %d: status %x, %ld bytes\n", moment, status, (long)about.st_size);
            return 2;
        }
    printf("%s\n", moment > 10 && moment < MOMENTS ? "put" : "no image");
    return status != 0;
}
