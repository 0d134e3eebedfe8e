// SPDX-License-Identifier: BSD-2-Clause
//
// What would keep a service from being traced, known before anything is written.
#ifndef SEEP_SERVICE_OBSTACLES_H
#define SEEP_SERVICE_OBSTACLES_H

#include "service/drop_in.h"

#define SEEP_OBSTACLES_MAX 12

struct seep_obstacles {
    struct {
        char text[512];
        bool fatal; // the service would run as ever, and nothing would be traced
    } items[SEEP_OBSTACLES_MAX];
    size_t nr_items;
};

// All of them, the fatal ones among them; those beyond SEEP_OBSTACLES_MAX are left out.
void seep_obstacles_find(const struct seep_unit *unit, const struct seep_service_options *options,
                         struct seep_obstacles *ret_obstacles);

// The system calls that tracing needs and SystemCallFilter= of the unit forbids, with spaces between; "":
// none.
void seep_filter_missing(const struct seep_unit *unit, char *ret_calls, size_t room);

// Filters of system calls that a process is under; 0: none, or not known.
uint32_t seep_process_filters(pid_t pid);

#endif
