// SPDX-License-Identifier: BSD-2-Clause
//
// What systemctl says of a unit, and a drop-in, of any bytes. Besides not crashing: the drop-in that is made of a unit
// is read again as what went into it, and no name in it brings a line of its own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "service/drop_in.h"
#include "service/obstacles.h"
#include "fuzz.h"

static const char folder[] = "/var/lib/seep/a b%c\"d\\e$f";

// A file of these bytes, by its path in /proc.
static int make_file(const void *bytes, size_t size, char *ret_path, size_t room) {
    int fd = memfd_create("drop-in", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    snprintf(ret_path, room, "/proc/self/fd/%d", fd);
    return fd;
}

static void read_drop_in(const char *path) {
    char *found, *calls = seep_drop_in_calls(path);
    uint64_t keep_bytes;
    free(calls);
    struct seep_error *error = seep_drop_in_read(path, &found, &keep_bytes);
    MUST(!error || (!found && !strchr(error->message, '\n')));
    MUST(!found || found[0] == '/');
    seep_error_destroy(error);
    free(found);
}

static void go_round(const struct seep_unit *unit, const struct seep_service_options *options) {
    char *text = NULL, *found = NULL, path[64];
    uint64_t keep_bytes = 0;
    struct seep_error *error = seep_drop_in_text(unit, options, &text);
    MUST(!error);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1)
        MUST(strchr("#[ERS", *line) && strchr(line, '\n')); // [Service], Environment=, ExecStartPost=, ...
    int fd = make_file(text, strlen(text), path, sizeof(path));
    error = seep_drop_in_read(path, &found, &keep_bytes);
    MUST(!error && found && strcmp(found, folder) == 0 && keep_bytes == options->keep_bytes);
    char *calls = seep_drop_in_calls(path);
    MUST(!*options->calls == !calls && (!calls || strcmp(calls, options->calls) == 0));
    free(calls);
    free(found);
    free(text);
    close(fd);
}

static void read_unit(const uint8_t *data, size_t size) {
    struct seep_unit *unit = calloc(1, sizeof(*unit));
    MUST(unit);
    unit->said = malloc(size + 1);
    MUST(unit->said);
    memcpy(unit->said, data, size);
    unit->said[size] = 0;
    struct seep_error *error = seep_unit_take(unit);
    MUST(!error);
    struct seep_service_options options = {
        .tool = "/usr/bin/seep", .library = "/usr/lib/libseep.so", .folder = folder, .keep_bytes = size};
    seep_filter_missing(unit, options.calls, sizeof(options.calls));
    go_round(unit, &options);
    options.mode = "record";
    options.every_ns = INT64_MAX;
    options.at_percent = 80;
    unit->user = true;
    go_round(unit, &options);
    free(seep_unit_variable(unit->variable_files, "LD_PRELOAD"));
    seep_unit_destroy(unit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    read_unit(data, size);
    int fd = make_file(data, size, path, sizeof(path));
    read_drop_in(path);
    close(fd);
    return 0;
}
