// SPDX-License-Identifier: BSD-2-Clause
//
// A unit of systemd, as its manager knows it: what it runs, as whom, within which bounds.
#ifndef SEEP_SERVICE_UNIT_H
#define SEEP_SERVICE_UNIT_H

#include <sys/types.h>

#include "base/error.h"

// Texts are as systemd prints them; "" where it says nothing.
struct seep_unit {
    bool user;                  // of the manager of this user
    char *said;                 // malloc'ed: all texts below lie in it
    const char *id;             // with its suffix: "nginx.service"
    const char *load;           // "loaded", "not-found", "masked"
    const char *active;         // "active", "inactive", "failed"
    const char *group;          // its control group: "/system.slice/nginx.service"
    const char *program;        // path of the first program of ExecStart
    const char *run_as;         // User=
    const char *preload;        // LD_PRELOAD of Environment=, in all but our own libraries; malloc'ed
    const char *variable_files; // EnvironmentFiles=
    const char *root;           // RootDirectory= or RootImage=
    const char *protect_system;
    const char *protect_home;
    const char *private_tmp;
    const char *filter; // SystemCallFilter= and what implies one
    const char *calls;  // SystemCallFilter= alone, with its sets resolved
    char *added;        // what of that our drop-in brought, malloc'ed; NULL: nothing
    const char *apparmor;
    const char *selinux;
    const char *state_time; // when it came into its state
    uint64_t memory_max;    // UINT64_MAX: no bound
    bool dynamic_user;
    bool private_devices;
    bool enabled;   // our drop-in is among those in force
    pid_t main_pid; // 0: it does not run
};

// `name` may lack its suffix. Errors: no such unit, masked, a template, no service: one line that says what
// to do.
SEEP_MUST_CHECK struct seep_error *seep_unit_find(bool user, const char *name, struct seep_unit **ret_unit);
void seep_unit_destroy(struct seep_unit *unit); // takes NULL

// Splits the output of systemctl (`said`) into the line of each property, ended by NUL.
SEEP_MUST_CHECK struct seep_error *seep_unit_take(struct seep_unit *unit);

// The value of a variable in a list as systemd prints one (A=1 "B=2 3"), malloc'ed; NULL: not there, or out
// of memory.
char *seep_unit_variable(const char *list, const char *name);

// The processes of a control group, as cgroup.procs lists them. *ret_pids is malloc'ed. None where the group
// is gone.
SEEP_MUST_CHECK struct seep_error *seep_unit_processes(const char *group, pid_t **ret_pids, size_t *ret_nr);

#endif
