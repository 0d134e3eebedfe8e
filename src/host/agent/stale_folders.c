// SPDX-License-Identifier: BSD-2-Clause
// Folders of agents that were killed, see stale_folders.h.
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/stale_folders.h"
#include "base/own_folder.h"

enum { LEAST_AGE_S = 60 }; // an agent makes its folder before it holds it

int seep_agent_folder_hold(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

// By the folder's name, which is by chance: the process may see it at another path.
static bool maps_from(const char *pid, const char *name) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%.20s/maps", pid);
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    while (file && !found && getline(&line, &room, file) > 0)
        found = strstr(line, name) != NULL;
    free(line);
    if (file)
        fclose(file);
    return found;
}

static bool is_used(const char *name) {
    DIR *processes = opendir("/proc");
    bool found = !processes; // it cannot be told
    for (struct dirent *entry; !found && processes && (entry = readdir(processes));)
        found = isdigit((unsigned char)entry->d_name[0]) && maps_from(entry->d_name, name);
    if (processes)
        closedir(processes);
    return found;
}

static void remove_stale(int place, const char *name) {
    struct stat about;
    int fd = openat(place, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    bool is_stale = fstat(fd, &about) == 0 && about.st_uid == geteuid() && !(about.st_mode & 022) &&
                    about.st_mtime < time(NULL) - LEAST_AGE_S && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
                    !is_used(name);
    // One that has anything else in it stays.
    if (is_stale) {
        unlinkat(fd, "libseep.so", 0);
        unlinkat(place, name, AT_REMOVEDIR);
    }
    close(fd);
}

void seep_agent_stale_folders_remove(const char *place) {
    static const char start[] = "seep-agent-";
    DIR *folder = place && place[0] == '/' ? opendir(place) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (strncmp(entry->d_name, start, sizeof(start) - 1) == 0 &&
            strlen(entry->d_name) == sizeof(start) - 1 + 6 &&
            seep_is_own_folder(dirfd(folder), entry->d_name))
            remove_stale(dirfd(folder), entry->d_name);
    if (folder)
        closedir(folder);
}
