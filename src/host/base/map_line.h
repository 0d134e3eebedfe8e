// SPDX-License-Identifier: BSD-2-Clause
//
// A line of /proc/PID/maps, or the first one of an area in smaps, by hand: a process waits while all of its
// lines are read.
#ifndef SEEP_BASE_MAP_LINE_H
#define SEEP_BASE_MAP_LINE_H

#include <stdint.h>

#include "core/attr.h"

struct seep_map_line {
    uint64_t start;
    uint64_t end;
    uint64_t file_off;
    uint64_t inode;
    uint32_t device_major;
    uint32_t device_minor;
    char rights[4];   // "rwxp"
    const char *path; // in the line, as far as that goes; "": none
};

// "start-end rights offset major:minor inode   path". false: it is another line. Source: proc(5).
bool seep_map_line_read(const char *line, struct seep_map_line *ret_line);

#endif
