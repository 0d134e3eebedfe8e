// SPDX-License-Identifier: BSD-2-Clause
// Finds the files that are installed with the tool, see program.h. The agent has its library inside
// (agent/library_inside.c).
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/own_folder.h"
#include "source/run/library_place.h"
#include "source/run/program.h"

static struct seep_error *check_library(const char *path, char **ret_path) {
    char *real = realpath(path, NULL);
    if (!real || access(real, R_OK)) {
        struct seep_error *err = seep_error_system(errno, "cannot use the library '%s'", path);
        free(real);
        return seep_error_hint(err, "SEEP_LIBRARY names libseep.so");
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

struct seep_error *seep_library_place(bool modes, char **ret_path) {
    const char *named = getenv("SEEP_LIBRARY");
    if (named && *named)
        return check_library(named, ret_path);
    char path[PATH_MAX * 2];
    struct seep_error *err = find_beside_tool(modes ? "libseep-record.so" : "libseep.so",
                                              "../tracee/preload/", R_OK, path, sizeof(path));
    return err ? seep_error_hint(err, "install it there, or name it with SEEP_LIBRARY")
               : check_library(path, ret_path);
}

// The name is the same for each run from that folder, because programs may use the link long after this run
// has ended.
static bool link_in(const char *place, const char *folder, char *ret_link, size_t link_room) {
    if (!place || place[0] != '/' || !seep_library_can_be_named(place) || !seep_place_is_safe(place))
        return false;
    int length = snprintf(ret_link, link_room, "%s/seep-library-%016llx", place,
                          (unsigned long long)(seep_hash_bytes(folder, strlen(folder)) + geteuid()));
    if (length < 0 || (size_t)length >= link_room)
        return false;
    if (symlink(folder, ret_link) == 0)
        return true;
    char there[PATH_MAX];
    struct stat about;
    ssize_t bytes = errno == EEXIST ? readlink(ret_link, there, sizeof(there)) : -1;
    return bytes == (ssize_t)strlen(folder) && memcmp(there, folder, (size_t)bytes) == 0 &&
           lstat(ret_link, &about) == 0 && about.st_uid == geteuid();
}

bool seep_library_can_be_named(const char *path) {
    return !strpbrk(path, " :");
}

struct seep_error *seep_library_find(bool modes, char **ret_path) {
    const char *const places[] = {geteuid() ? getenv("XDG_RUNTIME_DIR") : "/run", getenv("TMPDIR"), "/tmp"};
    char *library, *named = NULL, link[PATH_MAX];
    struct seep_error *err = seep_library_place(modes, &library);
    if (err)
        return err;
    if (seep_library_can_be_named(library)) {
        *ret_path = library;
        return NULL;
    }
    char *name = strrchr(library, '/');
    *name = 0;
    for (size_t i = 0; !err && !named && i < SEEP_ARRAY_SIZE(places); i++)
        if (link_in(places[i], library, link, sizeof(link)) && asprintf(&named, "%s/%s", link, name + 1) < 0)
            err = seep_error_no_memory();
    *name = '/';
    if (!err && (!named || !seep_library_can_be_named(named)))
        err = seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                "cannot preload '%s': its path has a space or a colon",
                                                library),
                              "copy it elsewhere and name it with SEEP_LIBRARY");
    free(library);
    if (err)
        free(named);
    else
        *ret_path = named;
    return err;
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
