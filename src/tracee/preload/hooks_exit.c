// SPDX-License-Identifier: BSD-2-Clause
// The life of the process, as far as the image needs to know: leaving.
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/annotation.h"
#include "preload/hooks.h"
#include "preload/loader_lists.h"

// The real one does not return; the system call stands in should it be missing.
// Nothing of the program is live but what lies above `sp`: our own frames hold no block.
static _Noreturn void leave_now(int status, uint64_t sp) {
    seep_at_exit(status);
    seep_park_above(sp);
    seep_filter_leaves();
    if (seep_g.real.exit_now)
        seep_g.real.exit_now(status);
    for (;;)
        sys6_real(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

SEEP_EXPORT _Noreturn void _exit(int status) {
    leave_now(status, CPU_FRAME());
}

SEEP_EXPORT _Noreturn void _Exit(int status) {
    leave_now(status, CPU_FRAME());
}

static bool exit_was_called; // also in a child that is forked then: it calls exit itself

void seep_exit_begins(void *unused) {
    (void)unused;
    if (!seep_g.config.age || exit_was_called)
        return;
    struct seep_thread *thread = thread_enter();
    if (!thread)
        return;
    seep_mark_try(thread, "exit");
    thread_leave(thread);
}

// What atexit() and destructors of C++ are registered with. The constructors of other libraries run before
// ours: the first of them to register a handler finds ours registered. Not by -z initfirst: the runtime of
// AddressSanitizer has to be initialised before us, and only one library of a process has that flag.
// Source: Itanium C++ ABI 3.3.5.3; glibc, stdlib/exit.c (__run_exit_handlers), elf/dl-load.c (l_initfini).
extern int __cxa_atexit(void (*function)(void *), void *argument, void *dso); // no header has it
SEEP_EXPORT int __cxa_atexit(void (*function)(void *), void *argument, void *dso) {
    static int (*_Atomic real)(void (*)(void *), void *, void *);
    int (*known)(void (*)(void *), void *, void *) = atomic_load_explicit(&real, memory_order_relaxed);
    if (!known) {
        // Not by seep_start(), which may be at work: an allocator that it opens has constructors.
        void *found = seep_loader_dlsym(RTLD_NEXT, "__cxa_atexit");
        __builtin_memcpy(&known, &found, sizeof(found));
        if (!known)
            return -1;
        atomic_store_explicit(&real, known, memory_order_relaxed);
        seep_exit_register();
    }
    return known(function, argument, dso);
}

// All is done in the last exit handler (start.c); here, what the program has in its registers is put
// where that is found.
SEEP_EXPORT _Noreturn void exit(int status) {
    seep_start(); // or there is no real function yet
    seep_exit_begins(NULL);
    exit_was_called = true;
    __builtin_unwind_init();
    seep_park_leaving(SEEP_PARK_PLACE());
    if (seep_g.real.exit)
        seep_g.real.exit(status);
    leave_now(status, CPU_FRAME());
}

// at_quick_exit handlers run in the real function and may allocate: the trace ends after them, in a handler
// of our own that was registered before all others.
SEEP_EXPORT _Noreturn void quick_exit(int status) {
    seep_start(); // or there is no real function yet
    if (!seep_quick_exit_begins(status))
        seep_at_exit(status);
    if (seep_g.real.quick_exit)
        seep_g.real.quick_exit(status);
    leave_now(status, CPU_FRAME());
}

// Whether the program has a handler of SIGABRT, which may leave by longjmp: then it goes on.
static bool catches_abort(void) {
    uintptr_t action[32] = {[CPU_HANDLER_WORD] = (uintptr_t)SIG_DFL};
    if (seep_image_is_ours() && seep_calls_seem_free())
        sys6(SYS_rt_sigaction, SIGABRT, 0, (long)action, SYS_SIGSET_BYTES, 0, 0);
    return action[CPU_HANDLER_WORD] != (uintptr_t)SIG_DFL && action[CPU_HANDLER_WORD] != (uintptr_t)SIG_IGN;
}

SEEP_EXPORT _Noreturn void abort(void) {
    seep_at_exit(SEEP_STATUS_UNKNOWN);
    bool goes_on = catches_abort();
    if (goes_on)
        seep_at_exit_after_all();
    seep_park();
    if (goes_on)
        seep_park_again();
    if (seep_g.real.abort)
        seep_g.real.abort();
    for (;;)
        sys6_real(SYS_exit_group, 134, 0, 0, 0, 0, 0);
}
