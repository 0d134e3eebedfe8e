// SPDX-License-Identifier: BSD-2-Clause
//
// A core file of the kernel or of gcore: memory, mapped files, and the registers of all threads, as they were
// when it was made. 64-bit, of this machine's CPU. Hostile input: everything is checked against the file's
// length. Source: ELF, "Program Header"; core(5); the notes as fs/binfmt_elf.c of Linux writes them.
#ifndef SEEP_SCAN_CORE_FILE_H
#define SEEP_SCAN_CORE_FILE_H

#include "base/arena.h"
#include "scan/stop.h"

struct seep_core_segment {
    uint64_t start;
    uint64_t end;        // start + the bytes in memory
    uint64_t file_off;   // in the core
    uint64_t file_bytes; // that it has of them; 0: they were left out
    uint32_t flags;      // PF_*
};

struct seep_core_mapping { // a file that was mapped
    uint64_t start;
    uint64_t end;
    uint64_t file_off;
    const char *path;
};

struct seep_core {
    int fd;
    uint64_t nr_bytes;
    struct seep_core_segment *segments; // sorted, none overlaps another
    size_t nr_segments;
    struct seep_core_mapping *files; // sorted
    size_t nr_files;
    struct seep_stopped_thread *threads;
    size_t nr_threads;
    size_t threads_capacity;
    pid_t pid;              // 0: it does not say
    char name[17];          // of the program
    uint64_t in_stack_rt;   // an address on the first thread's stack; 0: not known
    uint64_t missing_bytes; // that its segments should have and the file does not: it was cut
    struct seep_arena arena;
};

// Whether the file begins as a core does.
bool seep_core_is_one(const char *path);

// Takes `fd` in any case. SEEP_E_FORMAT where it is no core, or a damaged one; SEEP_E_UNSUPPORTED of another
// CPU.
SEEP_MUST_CHECK struct seep_error *seep_core_open_fd(int fd, const char *name, struct seep_core **ret_core);
// The same by path.
SEEP_MUST_CHECK struct seep_error *seep_core_open(const char *path, struct seep_core **ret_core);
void seep_core_close(struct seep_core *core); // takes NULL

// The segment that has the address, or NULL.
const struct seep_core_segment *seep_core_find(const struct seep_core *core, uint64_t address);
// The file that was mapped at the address, or NULL.
const struct seep_core_mapping *seep_core_file_at(const struct seep_core *core, uint64_t address);
// How many of nr_bytes from `address` on the file has, up to the end of the segment; 0: none.
size_t seep_core_there(const struct seep_core *core, uint64_t address, size_t nr_bytes);
// false: not all of it is there.
SEEP_MUST_CHECK bool seep_core_read(const struct seep_core *core, uint64_t address, void *ret_bytes,
                                    size_t nr_bytes);

#endif
