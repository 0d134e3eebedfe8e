// SPDX-License-Identifier: BSD-2-Clause
//
// The drop-in of a unit that makes systemd trace it: one file, 50-seep.conf, which is all that a service gets
// of us.
#ifndef SEEP_SERVICE_DROP_IN_H
#define SEEP_SERVICE_DROP_IN_H

#include "service/unit.h"

// What `seep service enable` was asked for. All borrowed.
struct seep_service_options {
    const char *tool;    // absolute path of seep
    const char *library; // absolute path of the library that is preloaded
    const char *folder;  // absolute: where traces go
    const char *mode;    // NULL: live
    const char *signal;  // NULL: none
    char calls[512];     // system calls to allow beside those of its filter, with spaces between
    uint64_t sample_bytes;
    uint64_t depth;
    uint64_t keep_bytes; // of the folder; 0: no bound
    uint64_t at_bytes;   // 0: no snapshot by memory
    uint32_t at_percent;
    uint32_t nr_filters; // filters of system calls that the manager puts on the service
    int64_t every_ns;    // 0: no snapshots by time
    bool age;
};

// "/etc/systemd/system/nginx.service.d/50-seep.conf"; *ret_path is malloc'ed.
SEEP_MUST_CHECK struct seep_error *seep_drop_in_path(const struct seep_unit *unit, char **ret_path);

// The whole text of the file; malloc'ed.
SEEP_MUST_CHECK struct seep_error *seep_drop_in_text(const struct seep_unit *unit,
                                                     const struct seep_service_options *options,
                                                     char **ret_text);

// Replaces the file as a whole, or leaves all as it was. Errors: what to do where /etc cannot be written.
SEEP_MUST_CHECK struct seep_error *seep_drop_in_write(const char *path, const char *text);
// Removes it, and its folder where nothing else is in it. *ret_was: it was there.
SEEP_MUST_CHECK struct seep_error *seep_drop_in_remove(const char *path, bool *ret_was);

// The value of SystemCallFilter= in a drop-in that is there, malloc'ed; NULL: none, or out of memory. What
// systemd says of the unit has it already.
char *seep_drop_in_calls(const char *path);

// The folder and the bound that a drop-in names, as _text wrote them; *ret_folder is malloc'ed, NULL where
// there is no drop-in of ours.
SEEP_MUST_CHECK struct seep_error *seep_drop_in_read(const char *path, char **ret_folder,
                                                     uint64_t *ret_keep_bytes);

#endif
