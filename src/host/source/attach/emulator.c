// SPDX-License-Identifier: BSD-2-Clause
//
// Emulators are known by the names of their files, see emulator.h.
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/file_name.h"
#include "source/attach/emulator.h"

// A tool of Valgrind, as /usr/libexec/valgrind/memcheck-amd64-linux.
static bool is_valgrind(const char *path, const char *name) {
    size_t nr = strlen(name), nr_folder = (size_t)(name - path);
    return nr > 6 && strcmp(name + nr - 6, "-linux") == 0 && nr_folder >= 10 &&
           strncmp(name - 10, "/valgrind/", 10) == 0;
}

// qemu-user for this machine's CPU: the libraries of its program are those that have probes.
static bool is_qemu(const char *name) {
    struct utsname machine;
    if (strncmp(name, "qemu-", 5) != 0 || uname(&machine) != 0)
        return false;
    size_t nr = strlen(machine.machine);
    return strncmp(name + 5, machine.machine, nr) == 0 &&
           (!name[5 + nr] || strcmp(name + 5 + nr, "-static") == 0);
}

const char *seep_emulator_name(const char *path) {
    const char *name = seep_file_name(path);
    return is_valgrind(path, name) ? "Valgrind" : is_qemu(name) ? name : NULL;
}
