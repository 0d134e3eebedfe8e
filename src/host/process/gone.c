// SPDX-License-Identifier: BSD-2-Clause
// See gone.h.
#include <stdio.h>
#include <string.h>

#include "process/gone.h"

// Source: proc_pid_status(5).
bool seep_process_is_zombie(pid_t pid) {
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof(line), file))
        found = strncmp(line, "State:\tZ", 8) == 0;
    if (file)
        fclose(file);
    return found;
}

struct seep_error *seep_process_gone(pid_t pid, const char *hint) {
    if (!seep_process_is_zombie(pid))
        return seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "no process %d", (int)pid), "%s", hint);
    return seep_error_hint(
        seep_error_create(SEEP_E_NOT_FOUND,
                          "process %d has ended, and its parent has not taken note of it yet", (int)pid),
        "its memory is gone; what 'seep run' saved of it, 'seep report FILE' shows");
}
