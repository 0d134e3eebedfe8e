// SPDX-License-Identifier: BSD-2-Clause
//
// The parts of attaching (attach_heap.h) among themselves: objects, probes, processes, events.
// Invariant: objects are never taken away, so their indices stay.
#ifndef SEEP_SOURCE_ATTACH_ATTACH_PARTS_H
#define SEEP_SOURCE_ATTACH_ATTACH_PARTS_H

#include "process/process_group.h"
#include "source/attach/allocator_file.h"
#include "source/attach/bpf_program.h"
#include "source/attach/bpf_tables.h"
#include "source/attach/attach_heap.h"
#include "source/attach/held_program.h"
#include "source/attach/object_contents.h"

struct seep_code_area;
struct seep_exec_gate;

// A file that some process has mapped as code.
struct seep_attach_object {
    uint64_t device;
    uint64_t inode;
    char *path;
    int fd;                         // kept where there is something to probe; else -1
    struct seep_elf_file elf;       // its segments; reads nothing any more
    struct seep_unwind_table table; // until it is in the kernel's
    struct seep_bpf_table_place place;
    uint64_t base; // of the table
    struct seep_allocator_file allocator;
    uint8_t build_id[44];
    uint32_t build_id_bytes;
    bool unreadable;
    const char *trouble; // why, where it was opened; static text
    bool is_refused;     // the kernel puts no probes on it
    bool is_cut;         // only a part of it was looked at: see OBJECT_STEPS
    bool left_out;       // stands for all that were not looked at: see OWNER_FILES_MAX
    bool probed;         // for all processes
};

// Probes of one object in one process.
struct seep_attach_attachment {
    size_t object;
    pid_t pid;                    // 0: all
    int links[SEEP_PROBE_NR + 1]; // descriptors, or -1; the last: returns
    struct bpf_link **old_links;  // one for each place, on kernels without uprobe.multi
    size_t nr_old_links;
};

// Where an operator new returns to in a process.
struct seep_attach_landing {
    uint64_t address;
    pid_t pid;
    int link; // of its probe, which others may share: then -1
};

struct seep_attached {
    struct seep_attach_options options;
    enum seep_bpf_scope scope;
    int cgroup; // descriptor of its folder, or -1
    struct seep_bpf_features features;
    struct seep_heap_bpf *bpf;
    struct ring_buffer *ring;
    struct seep_bpf_tables tables;
    struct seep_object_reader reader;
    struct seep_attach_object **objects;
    size_t nr_objects;
    size_t objects_capacity;
    struct seep_attach_attachment *attachments;
    size_t nr_attachments;
    size_t attachments_capacity;
    struct seep_traced_process **processes;
    size_t nr_processes;
    size_t processes_capacity;
    struct seep_map process_ids; // by pid: the latest that has not ended, as a pointer
    struct seep_map lenders;     // by pid of a child that shares its parent's memory: the parent's pid
    struct seep_attach_landing *landings;
    size_t nr_landings;
    size_t landings_capacity;
    size_t nr_landings_placed; // those before have their probe, or cannot
    uint64_t nr_forgotten;
    char **private_paths; // that were copied, or could not be
    size_t nr_private_paths;
    size_t private_paths_capacity;
    uint64_t nr_ignored;
    int pidfd;
    struct seep_held_program held; // with options.argv
    struct seep_exec_gate *gate;   // of what that one starts; NULL: there is none
    int64_t start_ns;              // CLOCK_MONOTONIC
    int64_t now_ns;                // since then, when the latest events were taken
    int64_t until_ns;              // CLOCK_MONOTONIC: until then events are taken
    uint64_t nr_taken_bytes;       // of the ring, since then
    int64_t taken_us;              // CLOCK_MONOTONIC: all events until then were taken
    uint32_t generation;
    uint32_t nr_usdt;            // places of otel_memory that the programs know
    uint64_t nr_without_table;   // objects for which the tables had no room
    uint64_t nr_probed;          // attachments with functions that allocate
    struct seep_error *refused;  // why there is none on the first file of those that have none; or NULL
    struct seep_map steps;       // by pid: how much work its files were so far
    struct seep_map owner_steps; // the same by the owner of the files
    struct seep_map owner_files; // by the owner: how many
    size_t left_out;             // 1 + the object that stands for what is beyond; 0: nothing is
    uint64_t nr_left_out;
    struct seep_error *failed; // what stopped taking events
};

// ---- attach_objects.c ----

// The object of this area, read now where it is new.
SEEP_MUST_CHECK struct seep_error *seep_attach_find_object(struct seep_attached *attached, pid_t pid,
                                                           const struct seep_code_area *area,
                                                           size_t *ret_index);
// Reads a program that was gone before its mappings could be: the next time its stacks are complete.
SEEP_MUST_CHECK struct seep_error *seep_attach_learn(struct seep_attached *attached, const char *path);
// Forgets the places that the source has no use for, once it is known which one it is.
void seep_attach_keep_source(const struct seep_attached *attached, struct seep_attach_object *object);
// Gives the unwinder its table, once the programs are loaded.
void seep_attach_place_table(struct seep_attached *attached, struct seep_attach_object *object);
void seep_attach_object_destroy(struct seep_attach_object *object); // takes NULL

// ---- attach_probes.c ----

// Puts the probes of an object on a process, unless they are there.
SEEP_MUST_CHECK struct seep_error *seep_attach_probes(struct seep_attached *attached, size_t object,
                                                      pid_t pid);
// What was refused, where nothing that allocates has probes.
SEEP_MUST_CHECK struct seep_error *seep_attach_check_probed(struct seep_attached *attached);
void seep_attach_attachment_deinit(struct seep_attach_attachment *attachment);

// ---- attach_layout.c ----

// Looks at what the process has mapped, and makes tables, probes and modules agree with it. One that has
// ended stays as it was known.
SEEP_MUST_CHECK struct seep_error *seep_attach_update_process(struct seep_attached *attached,
                                                              struct seep_traced_process *process);
// A stack that was cut in a file which the tool had not seen mapped. `nr_bytes` of the record are there.
SEEP_MUST_CHECK struct seep_error *seep_attach_took_unread(struct seep_attached *attached,
                                                           struct seep_traced_process *process,
                                                           const struct seep_bpf_unread *unread,
                                                           size_t nr_bytes);
// The path of the program that a process executes, even if the process has ended; NULL: out of memory.
const char *seep_attach_program_of(struct seep_traced_process *process, const struct seep_bpf_exec *exec);
// Code that the kernel found for a stack.
SEEP_MUST_CHECK struct seep_error *seep_attach_took_code(struct seep_attached *attached,
                                                         struct seep_traced_process *process,
                                                         const struct seep_bpf_code *code);

// ---- attach_rest.c ----

// All code that the process has mapped, in these generations of it.
SEEP_MUST_CHECK struct seep_error *seep_attach_set_code(struct seep_traced_process *process,
                                                        const struct seep_bpf_mapping *mappings, size_t nr,
                                                        const uint32_t generations[2]);
// One mapping more.
SEEP_MUST_CHECK struct seep_error *seep_attach_add_code(struct seep_traced_process *process,
                                                        const struct seep_bpf_mapping *mapping);
// What is known now is what its loader mapped at its start.
SEEP_MUST_CHECK struct seep_error *seep_attach_keep_code(struct seep_traced_process *process);
// Its loader has changed what is mapped.
void seep_attach_forget_code(struct seep_traced_process *process);
// The memory of a stack that was cut.
SEEP_MUST_CHECK struct seep_error *seep_attach_took_rest(struct seep_traced_process *process,
                                                         const struct seep_bpf_rest *rest, size_t nr_bytes);
// Walks on from the last of `nr` frames, if the memory of this stack was sent. `frames` has room for
// SEEP_BPF_FRAMES_MAX. Returns how many there are then.
uint32_t seep_attach_walk_rest(const struct seep_attached *attached, struct seep_traced_process *process,
                               uint64_t id, uint64_t *frames, uint32_t nr, uint32_t *end);

// ---- attach_processes.c ----

// The latest of this pid; NULL: not traced.
struct seep_traced_process *seep_attach_process_of(const struct seep_attached *attached, uint32_t pid);
// Adds a process without events. From now on it is the latest process of its pid. It belongs to `attached`.
SEEP_MUST_CHECK struct seep_error *seep_attach_add_process(struct seep_attached *attached, pid_t pid,
                                                           struct seep_traced_process **ret);
// Notes of an emulator that its program cannot be traced.
SEEP_MUST_CHECK struct seep_error *seep_attach_note_emulator(struct seep_traced_process *process);
// What the event says of a life that begins.
struct seep_attach_birth {
    int64_t at_ns;                    // since the tracing began
    uint32_t parent;                  // pid; 0: not known
    uint64_t stack_rt;                // where the stack of its main thread begins; 0: not known
    const char *args;                 // each ends with NUL; borrowed
    size_t nr_args_bytes;             // 0: they are not known
    const struct seep_bpf_exec *exec; // NULL: it did not begin by exec; borrowed
};
// A process that was not known. `program`: it began just now by exec of this; NULL: some time ago.
SEEP_MUST_CHECK struct seep_error *seep_attach_took_new(struct seep_attached *attached, pid_t pid,
                                                        const char *program,
                                                        const struct seep_attach_birth *birth);
// The process executed `program`: its life ends, and a new life begins with no blocks.
SEEP_MUST_CHECK struct seep_error *seep_attach_took_exec(struct seep_attached *attached,
                                                         struct seep_traced_process *process,
                                                         const char *program,
                                                         const struct seep_attach_birth *birth);
// A child with a copy of the blocks of its parent. `at_ns` since the tracing began. A child that cannot be
// traced is counted as lost (SEEP_LOST_FORK).
SEEP_MUST_CHECK struct seep_error *seep_attach_took_fork(struct seep_attached *attached,
                                                         struct seep_traced_process *parent, pid_t pid,
                                                         int64_t at_ns);
// Its last event; status as of wait(2). Frees it where those that have ended are of no interest.
void seep_attach_took_exit(struct seep_attached *attached, struct seep_traced_process *process, int64_t at_ns,
                           int status);
// Those whose last event was lost.
void seep_attach_forget_ended(struct seep_attached *attached);

// ---- attach_landings.c ----

// An operator new that throws returns there.
SEEP_MUST_CHECK struct seep_error *seep_attach_took_landing(struct seep_attached *attached,
                                                            const struct seep_traced_process *process,
                                                            uint64_t address);
// Puts the probes that were asked for.
SEEP_MUST_CHECK struct seep_error *seep_attach_place_landings(struct seep_attached *attached);
// Removes the probes of a process that has ended or executed another program.
void seep_attach_forget_landings(struct seep_attached *attached, pid_t pid);
// Removes all probes and frees their list, at the end of `attached`.
void seep_attach_close_landings(struct seep_attached *attached);

// ---- attach_private.c ----

// For struct seep_held_program_visitor: gives the program a copy of its own of a file that gets probes, and
// of its loader.
void seep_attach_opens(void *context, pid_t pid, const char *path);

// ---- attach_exec.c ----

// Whether this file can have code that is traced: scripts are executed, too.
bool seep_attach_is_traced_kind(int fd);
// Reads the programs that wait to be executed, and lets them go.
SEEP_MUST_CHECK struct seep_error *seep_attach_look_at_waiting(struct seep_attached *attached);

// ---- attach_scope.c ----

// The processes that are in the scope now, but for ourselves.
SEEP_MUST_CHECK struct seep_error *seep_attach_members(const struct seep_attached *attached,
                                                       struct seep_pids *ret_pids);
// Opens the control group. SEEP_E_NOT_FOUND, SEEP_E_UNSUPPORTED: none of version 2.
SEEP_MUST_CHECK struct seep_error *seep_attach_open_cgroup(struct seep_attached *attached);

// ---- attach_events.c ----

// For the ring buffer: takes one event of `context`.
int seep_attach_take(void *context, void *data, size_t nr_bytes);
// Takes the events that there are. After `until_ns` (CLOCK_MONOTONIC) it begins no event that takes long.
SEEP_MUST_CHECK struct seep_error *seep_attach_drain(struct seep_attached *attached, int64_t until_ns);

// ---- attach_ring.c ----

// Takes all events that were written until now. *ret_nr_left: those that could not be taken.
SEEP_MUST_CHECK struct seep_error *seep_attach_drain_whole(struct seep_attached *attached,
                                                           uint64_t *ret_nr_left);
// How many events lie between two positions of a ring. `data` holds the ring.
uint64_t seep_attach_ring_events(const unsigned char *data, uint64_t ring_bytes, uint64_t from, uint64_t to);

// ---- attach_load.c ----

// What this kernel can do, and so which kind of probes.
SEEP_MUST_CHECK struct seep_error *seep_attach_choose_probes(struct seep_attached *attached);
// With room for the objects known by now, whose tables it places. Follows forks and execs from then on.
SEEP_MUST_CHECK struct seep_error *seep_attach_load(struct seep_attached *attached);

#endif
