// SPDX-License-Identifier: BSD-2-Clause
//
// The folder that traces of a service go to, and its bound. It is the watcher's (root's, for services of the
// system); its subfolder "exit" is the service's, where the library alone leaves what there was at the end.
#ifndef SEEP_SERVICE_OUTPUT_FOLDER_H
#define SEEP_SERVICE_OUTPUT_FOLDER_H

#include "service/unit.h"

// "/var/lib/seep/nginx.service", "~/.local/state/seep/nginx.service"; malloc'ed.
SEEP_MUST_CHECK struct seep_error *seep_output_folder_name(const struct seep_unit *unit, char **ret_folder);

// Makes both for the user that the service runs as.
SEEP_MUST_CHECK struct seep_error *seep_output_folder_make(const struct seep_unit *unit, const char *folder);
// Removes both where nothing is in them.
void seep_output_folder_drop(const char *folder);

struct seep_output_folder_sum {
    uint64_t nr_files;
    uint64_t nr_bytes;
};
// Traces in both. Where they come to more than `keep_bytes` (0: no bound), the oldest are removed, never the
// newest one. Only regular files named *.seep count; what the service may have put there is not followed.
SEEP_MUST_CHECK struct seep_error *seep_output_folder_trim(const char *folder, uint64_t keep_bytes,
                                                           struct seep_output_folder_sum *ret_sum);

#endif
