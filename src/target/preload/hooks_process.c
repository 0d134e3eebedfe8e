// SPDX-License-Identifier: BSD-2-Clause
// The life of the process, as far as the image needs to know: unloading, leaving.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/hooks.h"

SEEP_EXPORT int dlclose(void *handle) {
    seep_start(); // if nothing has been allocated yet, there is no real dlclose yet
    int result = seep_g.real.dlclose(handle);
    if (result == 0 && atomic_load_explicit(&seep_g.entry, memory_order_acquire) == SEEP_ENTRY_READY &&
        atomic_load_explicit(seep_g.alive, memory_order_acquire) == 1)
        seep_modules_check();
    return result;
}

// The real one does not return; the system call stands in should it be missing.
static _Noreturn void leave_now(int status) {
    seep_at_exit(status);
    seep_park();
    if (seep_g.real.exit_now)
        seep_g.real.exit_now(status);
    for (;;)
        sys3(SYS_exit_group, status, 0, 0);
}

SEEP_EXPORT _Noreturn void _exit(int status) {
    leave_now(status);
}

SEEP_EXPORT _Noreturn void _Exit(int status) {
    leave_now(status);
}

// All is done in the last exit handler (start.c); here, what the program has in its registers is put
// where that is found.
SEEP_EXPORT _Noreturn void exit(int status) {
    seep_start(); // or there is no real function yet
    __builtin_unwind_init();
    seep_park_leaving(SEEP_PARK_PLACE());
    if (seep_g.real.exit)
        seep_g.real.exit(status);
    leave_now(status);
}

// at_quick_exit handlers run in the real function and may allocate: the trace ends before them. A
// handler of our own, registered before all others, parks.
SEEP_EXPORT _Noreturn void quick_exit(int status) {
    seep_at_exit(status);
    if (seep_g.real.quick_exit)
        seep_g.real.quick_exit(status);
    leave_now(status);
}

SEEP_EXPORT _Noreturn void abort(void) {
    seep_at_exit(SEEP_STATUS_UNKNOWN);
    seep_park();
    if (seep_g.real.abort)
        seep_g.real.abort();
    for (;;)
        sys3(SYS_exit_group, 134, 0, 0);
}
