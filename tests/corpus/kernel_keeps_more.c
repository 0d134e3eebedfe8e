// SPDX-License-Identifier: BSD-2-Clause
// Addresses that only the kernel keeps, which it tells to a tracer: the value of a signal that waits, a list
// of robust futexes, an area of restartable sequences, a buffer registered with io_uring. A value whose signal was taken is lost.
#include "corpus.h"
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static void send(int number, void *value) {
    if (sigqueue(getpid(), number, (union sigval){.sival_ptr = value}))
        _exit(3);
}

static void queue_signals(void) {
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGRTMIN + 1);
    if (sigprocmask(SIG_BLOCK, &set, NULL))
        _exit(3);
    send(SIGRTMIN, make(40));     // EXPECT: lost
    send(SIGRTMIN + 1, make(40)); // EXPECT: reachable
    // LSAN: lost: it does not ask the kernel
    // VALGRIND: lost: it does not ask the kernel
    if (sigwaitinfo(&set, &info) != SIGRTMIN)
        _exit(3);
}

static void keep_list(void) {
    struct robust_list_head *head = (void *)make(sizeof(*head)); // EXPECT: reachable
    // LSAN: lost: it does not ask the kernel
    // VALGRIND: lost: it does not ask the kernel
    head->list.next = &head->list;
    if (syscall(SYS_set_robust_list, head, sizeof(*head)))
        _exit(3);
}

static void keep_sequences(void) {
    char *thread = __builtin_thread_pointer();
    void *block = NULL;
    if (__rseq_size && syscall(SYS_rseq, thread + __rseq_offset, 32, RSEQ_FLAG_UNREGISTER, RSEQ_SIG))
        _exit(3);
    if (posix_memalign(&block, 32, 32)) // EXPECT: reachable
        // LSAN: lost: it does not ask the kernel
        // VALGRIND: lost: it does not ask the kernel
        _exit(3);
    memset(block, 0, 32);
    if (syscall(SYS_rseq, block, 32, 0, RSEQ_SIG) && __rseq_size)
        _exit(3);
}

void *refused; // where the kernel is told to have no io_uring

static void register_buffer(void) {
    struct io_uring_params parameters = {0};
    struct iovec buffer = {make(8192), 8192}; // EXPECT: reachable
    // LSAN: lost: it does not ask the kernel
    // VALGRIND: lost: it does not ask the kernel
    long ring = syscall(SYS_io_uring_setup, 4, &parameters);
    if (ring < 0 || syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1))
        refused = buffer.iov_base;
}

int main(void) {
    play(register_buffer);
    play(queue_signals);
    play(keep_list);
    play(keep_sequences);
    park();
}
