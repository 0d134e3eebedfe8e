// SPDX-License-Identifier: BSD-2-Clause
//
// A process without rights that reads what strangers wrote, for a tool that has many. It is a child of the
// tool: user and groups of nobody (where the tool is root), no capabilities, no network, no files but those
// that it is given, and a filter of system calls that lets it read those, have memory, and answer.
//
// The tool asks, and takes answers as what a stranger says: their length is bounded and each reader of one
// checks what it takes. A worker that dies, does not answer in time or takes too much memory is ended; that
// costs what it was asked.
// Proof: tests/unit/test_worker.c.
#ifndef SEEP_CONFINE_WORKER_H
#define SEEP_CONFINE_WORKER_H

#include <signal.h>

#include "base/error.h"
#include "base/records.h"

struct seep_worker;     // as the tool has it
struct seep_worker_end; // as the worker has it

// In the worker: answers one question. `file` came with it, or is -1, and stays the caller's. false: it
// cannot, and the worker ends.
typedef bool seep_worker_serve_function(void *context, struct seep_worker_end *end,
                                        struct seep_take *question, int file, struct seep_put *answer);

// In the tool: what the worker wishes while it answers. Returns a descriptor that the worker gets, which is
// closed here then, or -1.
typedef int seep_worker_give_function(void *context, struct seep_take *wish, struct seep_put *reply);

// Starts a worker, which sees the memory of the tool as it is now. An error says what could not be taken
// from it: then there is none.
SEEP_MUST_CHECK struct seep_error *seep_worker_start(seep_worker_serve_function *serve, void *context,
                                                     struct seep_worker **ret_worker);
void seep_worker_destroy(struct seep_worker *worker); // takes NULL; ends it

struct seep_worker_question {
    const struct seep_put *words;
    int file; // goes along, and stays the caller's; -1: none
    size_t answer_max;
    unsigned cpu_s;      // that it may take; 0: two minutes
    uint64_t memory_max; // bytes that it may have; 0: half of the machine's memory
    const volatile sig_atomic_t
        *stop;                       // set by a signal: do not wait any longer; NULL: it is not asked to stop
    seep_worker_give_function *give; // NULL: it gets nothing
    void *context;
};

enum seep_worker_verdict {
    SEEP_WORKER_ANSWERED,
    SEEP_WORKER_ENDED,   // it died, or said what is no answer
    SEEP_WORKER_SLOW,    // it took more time than it may
    SEEP_WORKER_LARGE,   // more memory
    SEEP_WORKER_STOPPED, // it is not waited for any more
};

// After anything but an answer the worker is ended, and every later question gets the same verdict.
// `ret_answer` must be empty, and is the caller's to free.
SEEP_MUST_CHECK enum seep_worker_verdict seep_worker_ask(struct seep_worker *worker,
                                                         const struct seep_worker_question *question,
                                                         struct seep_put *ret_answer);
// "its reader died": static text, for what is said of the file.
const char *seep_worker_verdict_words(enum seep_worker_verdict verdict);

// In the worker: asks the tool for something. Returns the descriptor that came, the caller's, or -1.
int seep_worker_wish(struct seep_worker_end *end, const struct seep_put *wish, struct seep_put *ret_reply);

#endif
