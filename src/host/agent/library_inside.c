// SPDX-License-Identifier: BSD-2-Clause
// See library_inside.h; this is seep_library_find() of source/run/program.h.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/library_inside.h"
#include "agent/seep_library.h"
#include "agent/stale_folders.h"
#include "agent/unlzma.h"
#include "base/own_folder.h"
#include "source/run/program.h"

// Where the whole agent is packed, it has the library as it is.
enum { IS_PACKED = sizeof(seep_library) < seep_library_bytes };

static char folder[300]; // "": there is none
static char library[320];
static int held = -1; // the folder

void seep_library_inside_remove(void) {
    if (!*folder)
        return;
    unlink(library);
    rmdir(folder);
    *folder = 0;
    if (held >= 0)
        close(held);
    held = -1;
}

const char *seep_library_inside_folder(void) {
    return *folder ? folder : NULL;
}

static bool write_all(int fd, const unsigned char *bytes, size_t nr) {
    while (nr) {
        ssize_t done = write(fd, bytes, nr);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        nr -= (size_t)done;
    }
    return true;
}

// Only this user may write to the folder: a library that another user puts there would run with our rights. A
// daemon that root starts must be able to read it after it has become another user.
static bool write_below(const char *place, const unsigned char *bytes, size_t nr) {
    struct statvfs system;
    if (!place || place[0] != '/' || strpbrk(place, " :") || !seep_place_is_safe(place) ||
        statvfs(place, &system) != 0 || (system.f_flag & (ST_NOEXEC | ST_RDONLY)))
        return false;
    int length = snprintf(folder, sizeof(folder), "%s/seep-agent-XXXXXX", place);
    if (length >= (int)sizeof(folder) || !mkdtemp(folder)) {
        *folder = 0;
        return false;
    }
    bool is_root = geteuid() == 0;
    held = seep_agent_folder_hold(folder);
    snprintf(library, sizeof(library), "%s/libseep.so", folder);
    int fd = open(library, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool written = fd >= 0 && write_all(fd, bytes, nr) && fchmod(fd, is_root ? 0555 : 0500) == 0 &&
                   (!is_root || chmod(folder, 0711) == 0);
    if (fd >= 0)
        close(fd);
    if (!written)
        seep_library_inside_remove();
    return written;
}

static bool write_somewhere(const unsigned char *bytes, size_t nr) {
    const char *const places[] = {getenv("TMPDIR"), geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR"),
                                  "/tmp", "/dev/shm", "/data/local/tmp"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(places); i++)
        seep_agent_stale_folders_remove(places[i]);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(places); i++)
        if (write_below(places[i], bytes, nr))
            return true;
    return false;
}

// The memory file lasts as long as this process.
static bool keep_in_memory(const unsigned char *bytes, size_t nr) {
    int fd = memfd_create("libseep.so", MFD_CLOEXEC);
    if (fd < 0 || !write_all(fd, bytes, nr))
        return false;
    snprintf(library, sizeof(library), "/proc/%d/fd/%d", (int)getpid(), fd);
    return true;
}

struct seep_error *seep_library_find(bool modes, char **ret_path) {
    const char *named = getenv("SEEP_LIBRARY");
    if (modes)
        return seep_error_create(SEEP_E_UNSUPPORTED, "the agent has no library for that mode");
    if (named && *named) {
        *ret_path = strdup(named);
        return *ret_path ? NULL : seep_error_no_memory();
    }
    unsigned char *unpacked = NULL;
    const unsigned char *bytes = seep_library;
    if (IS_PACKED) {
        bytes = unpacked = malloc(seep_library_bytes);
        struct seep_unlzma *work = malloc(sizeof(*work));
        bool good = work && unpacked &&
                    seep_unlzma(work, unpacked, seep_library_bytes, seep_library, sizeof(seep_library));
        bool no_memory = !work || !unpacked;
        free(work);
        if (!good) {
            free(unpacked);
            if (no_memory)
                return seep_error_no_memory();
            return seep_error_create(SEEP_E_FORMAT, "the library in this program is damaged");
        }
    }
    bool there = write_somewhere(bytes, seep_library_bytes) || keep_in_memory(bytes, seep_library_bytes);
    int trouble = errno;
    free(unpacked);
    if (!there)
        return seep_error_hint(seep_error_system(trouble, "no place for the library"),
                               "name a folder that programs may be loaded from in TMPDIR");
    *ret_path = strdup(library);
    return *ret_path ? NULL : seep_error_no_memory();
}
