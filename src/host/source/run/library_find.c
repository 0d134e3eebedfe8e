// SPDX-License-Identifier: BSD-2-Clause
// Finds the files that are installed with the tool, see program.h. The agent has its library inside
// (agent/library_inside.c).
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/run/library_place.h"
#include "source/run/program.h"

static struct seep_error *check_library(const char *path, char **ret_path) {
    char *real = realpath(path, NULL);
    if (!real || access(real, R_OK)) {
        struct seep_error *err = seep_error_system(errno, "cannot use the library '%s'", path);
        free(real);
        return seep_error_hint(err, "SEEP_LIBRARY names libseep.so");
    }
    // ld.so separates LD_PRELOAD at these.
    if (strpbrk(real, " :")) {
        struct seep_error *err = seep_error_create(
            SEEP_E_UNSUPPORTED, "cannot preload '%s': its path has a space or a colon", real);
        free(real);
        return seep_error_hint(err, "copy it elsewhere and name it with SEEP_LIBRARY");
    }
    *ret_path = real;
    return NULL;
}

// A file that is installed with the tool: beside it, in the build tree, under lib/ of the prefix.
static struct seep_error *find_beside_tool(const char *name, const char *room, int access_mode,
                                           char *ret_path, size_t path_room) {
    const char *const places[] = {"", room, "../lib/seep/", "../lib/", SEEP_LIBRARY_PLACE};
    char tool[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", tool, sizeof(tool) - 1);
    if (length < 0)
        return seep_error_system(errno, "cannot read /proc/self/exe");
    tool[length] = 0;
    *strrchr(tool, '/') = 0;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(places); i++) {
        bool whole = places[i][0] == '/';
        snprintf(ret_path, path_room, "%s%s%s%s", whole ? "" : tool, whole ? "" : "/", places[i], name);
        if (access(ret_path, access_mode) == 0)
            return NULL;
    }
    return seep_error_create(SEEP_E_NOT_FOUND, "%s is neither beside %s/seep nor in ../lib of it", name,
                             tool);
}

struct seep_error *seep_library_find(bool modes, char **ret_path) {
    const char *named = getenv("SEEP_LIBRARY");
    if (named && *named)
        return check_library(named, ret_path);
    char path[PATH_MAX * 2];
    struct seep_error *err = find_beside_tool(modes ? "libseep-record.so" : "libseep.so",
                                              "../tracee/preload/", R_OK, path, sizeof(path));
    return err ? seep_error_hint(err, "install it there, or name it with SEEP_LIBRARY")
               : check_library(path, ret_path);
}

struct seep_error *seep_replayer_find(char **ret_path) {
    char path[PATH_MAX * 2];
    struct seep_error *err =
        find_beside_tool("seep-replayer", "../tracee/replayer/", X_OK, path, sizeof(path));
    if (err)
        return seep_error_hint(err, "install it there");
    *ret_path = realpath(path, NULL);
    return *ret_path ? NULL : seep_error_system(errno, "%s", path);
}
