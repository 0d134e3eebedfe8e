// SPDX-License-Identifier: BSD-2-Clause
//
// The folder from where GitHub, GitLab and readers of SARIF name a file, see check_report.h. A check often
// runs in a folder below it: CTest runs tests in the folder of the build.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/check_report.h"

// The length of `folder` without slashes at its end, if `path` is `folder` or within it. 0: `path` is
// neither, or `folder` is the root.
static size_t in_front(const char *path, const char *folder) {
    size_t nr = strlen(folder);
    while (nr && folder[nr - 1] == '/')
        nr--;
    return strncmp(path, folder, nr) == 0 && (path[nr] == '/' || !path[nr]) ? nr : 0;
}

static bool has_git(const char *folder) {
    char path[4096 + sizeof("/.git")];
    struct stat stat;
    snprintf(path, sizeof(path), "%s/.git", folder);
    return lstat(path, &stat) == 0;
}

// `root` has room for `here`.
static void find_root(char *root, const char *here) {
    static const char *const servers[] = {"GITHUB_WORKSPACE", "CI_PROJECT_DIR"};
    strcpy(root, here);
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        const char *folder = getenv(servers[i]);
        size_t nr = folder ? in_front(here, folder) : 0;
        if (nr) {
            root[nr] = '\0';
            return;
        }
    }
    char *end;
    while (!has_git(root) && (end = strrchr(root, '/')) && end != root)
        *end = '\0';
    if (!has_git(root)) // not within a work tree
        strcpy(root, here);
}

const char *seep_source_root(void) {
    static char root[4096];
    char here[sizeof(root)];
    if (!root[0] && getcwd(here, sizeof(here)))
        find_root(root, here);
    return root;
}

const char *seep_path_from_root(const char *path) {
    size_t nr = in_front(path, seep_source_root());
    return nr && path[nr] && path[nr + 1] ? path + nr + 1 : path;
}
