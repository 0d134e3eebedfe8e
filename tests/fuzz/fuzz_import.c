// SPDX-License-Identifier: BSD-2-Clause
//
// A file of another tool, of any bytes behind one that chooses the format. Besides not crashing: there are not more
// events than bytes allow, and what comes out is a recording.
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file/import.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t nr_formats = 0;
    while (seep_import_formats[nr_formats])
        nr_formats++;
    if (!size)
        return 0;
    int fd = memfd_create("input", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct seep_import_options options = {.maps = NULL};
    struct seep_imported imported;
    struct seep_error *error =
        seep_import(path, seep_import_formats[data[0] % nr_formats], &options, "/dev/null", &imported);
    if (!error)
        MUST(imported.nr_events);
    seep_error_destroy(error);
    close(fd);
    return 0;
}
