// SPDX-License-Identifier: BSD-2-Clause
//
// The code that a process has mapped, as /proc/PID/maps tells. The owner of the process may have named
// its files in any way.
#ifndef SEEP_PROCESS_PROCESS_MAP_H
#define SEEP_PROCESS_PROCESS_MAP_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/map_line.h"

struct seep_code_area {
    uint64_t start; // run-time addresses
    uint64_t end;
    uint64_t file_off;
    uint64_t device; // with inode: which file; see seep_kernel_device()
    uint64_t inode;  // 0: no file
    char *path;      // malloc'ed; "[vdso]"; "" for code without a file; as the process sees it
};

// As the kernel numbers devices (MKDEV); the number in a struct stat is another.
static inline uint64_t seep_kernel_device(uint64_t device_major, uint64_t device_minor) {
    return device_major << 20 | device_minor;
}

// Of a file that is not mapped. The path stays the caller's.
struct seep_code_area seep_code_area_of_file(const struct stat *status, char *path);

// Of code: a browser has some hundreds. A process may make itself as many as it has mappings, of which those
// beyond are not looked at.
#define SEEP_CODE_AREAS_MAX 8192u

struct seep_process_map {
    struct seep_code_area *areas; // sorted by start; executable ones only
    size_t nr_areas;
    size_t capacity;
    uint64_t stack_start_rt; // of the main thread
    uint64_t stack_end_rt;   // 0: there is none
};

// SEEP_E_NOT_FOUND: the process has ended. _deinit frees the map.
SEEP_MUST_CHECK struct seep_error *seep_process_map_init(pid_t pid, struct seep_process_map *ret_map);
void seep_process_map_deinit(struct seep_process_map *map);

// Adds the mapping of a line where it is of code. The lines come in order.
SEEP_MUST_CHECK struct seep_error *seep_process_map_add(struct seep_process_map *map,
                                                        const struct seep_map_line *line);

// A descriptor of the very file that is mapped, also where its name is gone or means another file now;
// for the vdso a copy in memory. -1: there is no way to it.
int seep_code_area_open(pid_t pid, const struct seep_code_area *area);

// Whether libseep.so is in that process already: then its image is better than anything a tracer could see.
bool seep_process_has_library(pid_t pid);

#endif
