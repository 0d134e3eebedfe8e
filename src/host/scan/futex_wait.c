// SPDX-License-Identifier: BSD-2-Clause
// Threads in waits that a stop may change, see futex_wait.h. Source: proc(5), /proc/PID/syscall; futex(2);
// linux/futex.h; io_uring_enter(2).
#include "scan/futex_wait.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "scan/memory.h"

// Newer than the headers of some systems; one number on every CPU.
enum { NR_IO_URING_ENTER = 426, NR_FUTEX_WAITV = 449, NR_FUTEX_WAIT = 455 };
// Of i386; on x86-64 the first is that of a call that does not wait, and the other of none.
enum { NR_NARROW_FUTEX = 240, NR_NARROW_FUTEX_TIME64 = 422 };
// Of i386 and ARM.
enum { NR_NARROW_WRITE = 4, NR_NARROW_WRITEV = 146 };

static bool is_narrow(const struct seep_futex_wait *wait) {
    return (wait->sp_rt | wait->pc_rt) <= UINT32_MAX;
}

// Interrupted after a part of its work, the call returns that part, which looks like a normal return.
static bool works_in_parts(long number, const struct seep_futex_wait *wait) {
    switch (number) {
    case SYS_write:
    case SYS_writev:
    case SYS_pwritev2:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_vmsplice:
    case SYS_tee:
        return true;
    case SYS_io_getevents:
        return wait->arguments[1] > 1;
    case SYS_recvmmsg: // with MSG_WAITFORONE, it does not wait after the first message
        return !(wait->arguments[3] & MSG_WAITFORONE) || (wait->arguments[3] & MSG_WAITALL);
    case SYS_recvfrom:
        return wait->arguments[3] & MSG_WAITALL;
    case SYS_recvmsg:
        return wait->arguments[2] & MSG_WAITALL;
    default:
        return is_narrow(wait) && (number == NR_NARROW_WRITE || number == NR_NARROW_WRITEV);
    }
}

static bool is_simple_futex(long number, const struct seep_futex_wait *wait) {
    return number == SYS_futex ||
           (is_narrow(wait) && (number == NR_NARROW_FUTEX || number == NR_NARROW_FUTEX_TIME64));
}

static bool is_futex(long number, const struct seep_futex_wait *wait) {
    return is_simple_futex(number, wait) || number == NR_FUTEX_WAITV || number == NR_FUTEX_WAIT;
}

// false: a wait that is not simply for a word that has a value.
static bool waited_value(long number, const struct seep_futex_wait *wait, uint32_t *ret_value) {
    const uint64_t *arguments = wait->arguments;
    unsigned operation = (unsigned)arguments[1] & (unsigned)FUTEX_CMD_MASK;
    bool simple =
        is_simple_futex(number, wait) && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
    *ret_value = (uint32_t)(simple ? arguments[2] : arguments[1]);
    return simple || number == NR_FUTEX_WAIT;
}

bool seep_futex_wait_find(pid_t pid, pid_t tid, struct seep_futex_wait *ret_wait) {
    char path[64];
    char line[256];
    struct seep_futex_wait wait;
    long number = -1;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    bool got = file && fgets(line, sizeof(line), file);
    if (file)
        fclose(file);
    uint64_t *a = wait.arguments;
    if (!got || sscanf(line,
                       "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
                       " %" SCNx64,
                       &number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &wait.sp_rt, &wait.pc_rt) != 9)
        return false;
    // An interrupted io_uring_enter returns the number of submissions, without a completion: a part, too.
    if (works_in_parts(number, &wait) || (number == NR_IO_URING_ENTER && (uint32_t)a[1])) {
        wait.stop_ends_it = true;
        *ret_wait = wait;
        return true;
    }
    uint32_t value = 0, now = 0;
    if (!is_futex(number, &wait))
        return false;
    struct iovec to = {&now, sizeof(now)}, from = {(void *)(uintptr_t)a[0], sizeof(now)};
    wait.stop_ends_it = !waited_value(number, &wait, &value) ||
                        process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof(now) || now != value;
    *ret_wait = wait;
    return true;
}

#if defined(__x86_64__)
enum { PART_BYTES = 1 << 16, PARTS_MAX = 32 };

static bool is_control_block(const char *bytes, uint64_t at, unsigned word) {
    return seep_word_at(bytes, word) == at && seep_word_at(bytes + 2 * word, word) == at;
}

// Its control block says where it is itself: in its first word, and glibc's in its third, too.
// Source: System V ABI AMD64, thread-local storage; tcbhead_t of glibc.
uint64_t seep_thread_pointer_find(pid_t pid, uint64_t sp_rt) {
    static uint64_t words[PART_BYTES / sizeof(uint64_t)];
    const unsigned word = sp_rt <= UINT32_MAX ? 4 : 8;
    uint64_t at = sp_rt & ~UINT64_C(63);
    for (int part = 0; part < PARTS_MAX; part++, at += PART_BYTES) {
        struct iovec to = {words, PART_BYTES}, from = {(void *)(uintptr_t)at, PART_BYTES};
        ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);
        size_t nr = got > 0 ? (size_t)got / sizeof(uint64_t) : 0;
        for (size_t i = 0; i + 2 < nr; i += 8)
            if (is_control_block((const char *)&words[i], at + i * 8, word))
                return at + i * 8;
        if (got < PART_BYTES)
            return 0;
    }
    return 0;
}
#else
uint64_t seep_thread_pointer_find(pid_t pid, uint64_t sp_rt) {
    (void)pid, (void)sp_rt;
    return 0;
}
#endif
