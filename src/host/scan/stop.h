// SPDX-License-Identifier: BSD-2-Clause
//
// Stops all threads of a process, and gives them back as they were.
//
// PTRACE_SEIZE and PTRACE_INTERRUPT: no signal is sent and none is lost. When the tool dies, the
// kernel detaches and the threads go on. A process that was stopped by job control stays so. A
// system call that was interrupted begins again, as after any stop without a handler; those few that
// the kernel would let fail with EINTR (signal(7), "Interruption of system calls and library
// functions by stop signals") are told to begin again on x86-64, where a time limit that they have
// then begins anew. Proof: tests/live/test_scan_places.py.
#ifndef SEEP_SCAN_STOP_H
#define SEEP_SCAN_STOP_H

#include <sys/types.h>

#include "base/error.h"
#include "core/attr.h"

#define SEEP_REGISTER_WORDS_MAX 2048u // general and vector registers

#define SEEP_GENERAL_REGISTERS 33u

struct seep_stopped_thread {
    pid_t tid;
    pid_t own_tid; // in the innermost PID namespace, as the process itself knows it
    int signal;    // the thread was about to take it when it stopped; resume passes it on
    uint64_t sp;
    uint64_t stack_from_rt; // the used part of its stack begins here, at the lower end of the red zone
    uint64_t tls;           // thread pointer; 0: not known
    uint64_t *words;        // malloc'ed: what its registers hold
    size_t nr_words;
    size_t nr_general_words; // of them, the first: all but vector registers
    bool in_system_call;     // known on x86-64, and of threads left asleep
    uint64_t pc;
    uint64_t registers[SEEP_GENERAL_REGISTERS]; // by DWARF number
    uint64_t known_registers;                   // bits
    bool lost;                                  // it could not be detached
    bool left_asleep;                           // it was not stopped
    long nr_sleeps;                             // of one left asleep: how often it has gone to sleep
    bool sleeps;                                // it was stopped in a wait on a futex
};

struct seep_stopped {
    pid_t pid;
    bool leaving; // seep_stop_leaving()
    struct seep_stopped_thread *threads;
    size_t nr_threads;
    size_t capacity;
    int64_t first_ns;  // when the first thread was seized; 0: none was
    pid_t other_seep;  // that has a thread of it; 0: none
    int64_t waited_ns; // for another seep, before any thread was stopped for good
    bool is_replaced;  // another program runs in it by now
    bool released;     // they run again; what is here is as it was
    pid_t *unburied;   // threads that ended while they were being stopped, and have not been waited for
    size_t nr_unburied, unburied_capacity;
    bool one_woke;   // a thread left asleep ran before it was released
    bool was_killed; // before it was released: what was read of its memory may be nothing
};

// Errors: no such process, no right (the hint says which), held by a debugger, a thread that does not
// stop within some seconds. On failure every thread has been detached. Where another seep reads the
// process, that one is waited for, some seconds.
SEEP_MUST_CHECK struct seep_error *seep_stop_process(pid_t pid, struct seep_stopped **ret_stopped);
// The same for a process that leaves and waits for us with one of its threads. Memory that other threads wait
// for may have died; a wait on a futex that is interrupted begins anew, and ends at once where its word is
// another by then. So a thread whose word is another already is left asleep in the kernel, where it cannot
// touch anything, and the others sleep again before any thread goes on. A thread in a call that may have done
// a part of its work (write to a pipe, send, io_uring_enter) is left asleep too, because the interrupted call
// would return that part. It may wake meanwhile, which is noticed.
SEEP_MUST_CHECK struct seep_error *seep_stop_leaving(pid_t pid, struct seep_stopped **ret_stopped);
// As the first, without waiting for another seep.
SEEP_MUST_CHECK struct seep_error *seep_stop_process_now(pid_t pid, struct seep_stopped **ret_stopped);
// The thread whose stack has sp_rt is in libseep.so: below is no memory of the program's, and nothing of
// it in the registers.
void seep_stopped_parked(struct seep_stopped *stopped, uint64_t sp_rt);
void seep_stopped_release(
    struct seep_stopped *stopped); // lets the threads go on, and keeps what is known of them
void seep_resume_process(struct seep_stopped *stopped); // takes NULL; releases and frees
// Whether this thread of the tool still traces threads that did not stop in time. Detaches those that have
// stopped since. The caller calls it again until it returns false, or ends.
bool seep_stop_holds(void);
#define SEEP_STOP_HOLDS_MS 100 // between two of these calls

#endif
