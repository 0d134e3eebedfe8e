// SPDX-License-Identifier: BSD-2-Clause
// One traced process: who it is. Private to this room.
#ifndef SEEP_SOURCE_ATTACH_TRACED_PROCESS_H
#define SEEP_SOURCE_ATTACH_TRACED_PROCESS_H

#include "image/bpf_events.h"
#include "source/attach/attach_heap.h"

// Code that is mapped and where its rows are, as last told: for stacks that are walked here.
struct seep_traced_code {
    struct seep_bpf_mapping *mappings; // malloc'ed; of those that hold an address the last is right
    size_t nr_mappings;
    size_t capacity;
    size_t nr_read;                   // of them; what follows was told by stacks since
    uint32_t generations[2];          // of the process, in which those that were read are right; 0: none
    struct seep_bpf_mapping *lasting; // malloc'ed: mapped at its start, which its loader never unmaps
    size_t nr_lasting;
};

// Reads exe and arguments; what is not to be known is empty.
SEEP_MUST_CHECK struct seep_error *seep_traced_process_create(pid_t pid,
                                                              struct seep_traced_process **ret_process);
// The arguments as the kernel told them: each ends with NUL.
SEEP_MUST_CHECK struct seep_error *seep_traced_process_tell_args(struct seep_traced_process *process,
                                                                 const char *text, size_t nr_bytes);
void seep_traced_process_destroy(struct seep_traced_process *process); // takes NULL
// Adds a note, which goes into the profiles of the process.
SEEP_MUST_CHECK SEEP_PRINTF(3, 4) struct seep_error *seep_traced_process_note(
    struct seep_traced_process *process, enum seep_note_code code, const char *format, ...);

#endif
