// SPDX-License-Identifier: BSD-2-Clause
//
// Parking: a process that is leaving waits until the tool has looked at its memory, which is gone
// afterwards. Only where the tool asked for it (SEEP_SCAN) and has our image; never for longer than
// PARK_MS, only FIRST_MS when the tool is stopped, and not at all when it is gone: its end closes the
// connection. System calls only.
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>

#include "image/hello.h"
#include "preload/preload.h"
#include "preload/proc_path.h"

#define PARK_MS 10000
// Most looks are over by then, so the state of the tool is not read before.
#define FIRST_MS 10
// After each slice of that time we look whether the tool has been stopped: it is not waited for then.
#define SLICE_MS 500
// A wait that is interrupted goes on with what is left of its time, but not for ever: where the
// time left is not written back (under an emulator, say), only this ends a storm of signals.
#define SLICE_INTERRUPTIONS_MAX 5000

// How long a thread that leaves gives another one, which was in exit() before it, to come to its look.
#define TURN_MS 200

// The process that has parked already, and its thread that waits for the tool; 0 when that is over.
static _Atomic uint64_t parking; // OF_PROCESS(pid) | tid
#define OF_PROCESS(pid) ((uint64_t)(pid) << 32)

// The letter comes after the name of the process in brackets, which may hold anything.
char seep_process_state(uint32_t pid) {
    struct seep_proc_path path = seep_proc_path("/proc/", pid, "/stat");
    char text[256];
    int fd = sys_open(path.text, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    long got = sys3(SYS_read, fd, text, sizeof(text));
    sys_close(fd);
    for (long i = got - 3; i > 0; i--)
        if (text[i] == ')')
            return text[i + 2];
    return 0;
}

uint32_t seep_peer_pid(int fd) {
    struct ucred peer = {.pid = 0};
    socklen_t size = sizeof(peer);
    bool known = sys6(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&peer, (long)&size, 0) == 0;
    return known && peer.pid > 0 ? (uint32_t)peer.pid : 0;
}

// False: the tool does not move, so there is nothing to wait for. Not known: it does.
static bool moves(int fd) {
    uint32_t pid = seep_peer_pid(fd);
    char state = pid ? seep_process_state(pid) : 0;
    return state != 'T' && state != 't';
}

// True when the tool has answered or is gone, or waiting is not possible.
static bool answered(int fd, long within_ms) {
    struct timespec left = {.tv_nsec = within_ms * 1000000L}; // the kernel writes back what is left of it
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    for (unsigned tries = 0; tries < SLICE_INTERRUPTIONS_MAX; tries++) {
        long result = sys6(SYS_ppoll, (long)&answer, 1, (long)&left, 0, 0, 0);
        if (result != -4 /* EINTR */)
            return result != 0;
    }
    return false;
}

static void await(int fd) {
    bool is_over = answered(fd, FIRST_MS);
    for (unsigned slice = 0; slice < PARK_MS / SLICE_MS && !is_over && moves(fd); slice++)
        is_over = answered(fd, SLICE_MS);
}

static void tell_and_wait_at(uint64_t sp_rt) {
    int fd = seep_handshake_connect();
    if (fd < 0)
        return;
    struct seep_parked parked = {
        .magic = SEEP_PARKED_MAGIC, .version = SEEP_HELLO_VERSION, .pid = sys_getpid(), .sp_rt = sp_rt};
    struct iovec part = {.iov_base = &parked, .iov_len = sizeof(parked)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (sys3(SYS_sendmsg, fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (long)sizeof(parked))
        await(fd);
    sys_close(fd);
}

static void tell_and_wait(uint64_t sp_rt) {
    tell_and_wait_at(sp_rt);
    atomic_store_explicit(&parking, OF_PROCESS(sys_getpid()), memory_order_release);
}

// A look at memory, no system call: a filter may kill.
static bool may_park(void) {
    return seep_g.config.scan && seep_g.handed_over && !seep_g.sample_bytes && seep_calls_seem_free();
}

// Another thread has asked for a look that is not over: who ends the process now would end that too. A
// handler of a signal that interrupted the waiting thread itself does not wait.
static void wait_for_other(void) {
    for (unsigned i = 0; i < PARK_MS; i++) {
        uint32_t tid = (uint32_t)atomic_load_explicit(&parking, memory_order_acquire);
        if (!tid || tid == sys_gettid())
            return;
        sys_nap_us(1000);
    }
}

// True: the caller parks, by tell_and_wait(). Else the look that another thread asked for is over when this
// returns.
static bool wants_to_park(void) {
    bool may = may_park();
    seep_calls_looked(false);
    if (!may || atomic_load_explicit(&seep_g.entry, memory_order_acquire) != SEEP_ENTRY_READY ||
        atomic_load_explicit(seep_g.alive, memory_order_acquire) != 1)
        return false;
    uint32_t pid = sys_getpid();
    if (pid != seep_g.header->pid) // a child of vfork is not the one that leaves
        return false;
    uint64_t before = atomic_load_explicit(&parking, memory_order_acquire);
    if (before >> 32 != pid &&
        atomic_compare_exchange_strong_explicit(&parking, &before, OF_PROCESS(pid) | sys_gettid(),
                                                memory_order_acq_rel, memory_order_acquire))
        return true;
    wait_for_other();
    return false;
}

void seep_park_again(void) {
    uint64_t over = OF_PROCESS(seep_confined.pid);
    atomic_compare_exchange_strong_explicit(&parking, &over, 0, memory_order_acq_rel, memory_order_relaxed);
}

#ifndef __x86_64__
// The address of its own frame: above it is that of the caller.
__attribute__((noinline)) uint64_t seep_park_place(void) {
    return CPU_FRAME();
}
#endif

__attribute__((noinline)) void seep_park(void) {
    if (!wants_to_park())
        return;
    __builtin_unwind_init(); // the program's registers into this frame, which the tool reads
    tell_and_wait(SEEP_PARK_PLACE());
    __asm__ volatile(""); // no tail call: the frame stays
}

void seep_park_above(uint64_t sp) {
    if (wants_to_park())
        tell_and_wait(sp);
}

// Initial stack pointer of the process; of glibc's loader.
extern void *__libc_stack_end __attribute__((weak));

// The thread that was the first in exit(), with its process, and what is in use of its stack. 0: none that
// called it by name.
static _Atomic uint64_t leaver;
static uint64_t leaving_sp; // the leaver's own

// In the program's own process libc knows the id of the thread, so no system call is made. 0: a system call
// is needed, and a filter may not let it pass.
static uint64_t this_thread(void) {
    uint32_t tid = seep_image_is_ours() ? seep_tid_of_libc() : 0;
    return tid          ? OF_PROCESS(seep_confined.pid) | tid
           : may_park() ? OF_PROCESS(sys_getpid()) | sys_gettid()
                        : 0;
}

void seep_park_leaving(uint64_t sp) {
    uint64_t self = this_thread();
    if (!self)
        return;
    uint64_t first = atomic_load_explicit(&leaver, memory_order_acquire);
    // Of the parent of a fork: not here.
    bool is_old = first >> 32 != self >> 32;
    if (is_old && atomic_compare_exchange_strong_explicit(&leaver, &first, self, memory_order_acq_rel,
                                                          memory_order_acquire)) {
        leaving_sp = sp;
        if ((uint32_t)atomic_load_explicit(&parking, memory_order_acquire) && may_park())
            wait_for_other(); // main has returned, say
        return;
    }
    if (first == self) { // its handler calls it again, or a child of vfork was the first, and is gone
        leaving_sp = sp;
        return;
    }
    if (!may_park())
        return;
    // libc lets a second thread in, which finds no handlers left and ends the process. The first one
    // gets some time to come to its look, and all the time that this may take.
    for (unsigned i = 0; i < TURN_MS; i++) {
        if (atomic_load_explicit(&parking, memory_order_acquire) >> 32 == sys_getpid()) {
            wait_for_other();
            return;
        }
        sys_nap_us(1000);
    }
}

void seep_park_at_exit(void) {
    if (!may_park()) // start.c has looked, so nothing is read here
        return;
    uint64_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;
    uint64_t self = this_thread();
    uint64_t first = atomic_load_explicit(&leaver, memory_order_acquire);
    if (first == self) {
        if (wants_to_park())
            tell_and_wait(leaving_sp);
    } else if (end && first >> 32 != self >> 32 && sys_getpid() == sys_gettid() && CPU_FRAME() < end) {
        // main returned: none of its frames are left, though what was in them is.
        if (wants_to_park())
            tell_and_wait(end);
    } else {
        seep_park();
    }
}
