// SPDX-License-Identifier: BSD-2-Clause
// The place of the socket for images: its folder, its name, and what tools that were killed left. See
// listener.h.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/own_folder.h"
#include "source/image/image_copy.h"
#include "source/run/listener.h"

#define BACKLOG 4096 // the kernel cuts it to net.core.somaxconn

static bool socket_address(const char *path, struct sockaddr_un *ret_address) {
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof(ret_address->sun_path))
        return false;
    memcpy(ret_address->sun_path, path, length + 1);
    return true;
}

// What root starts may go on as any user.
static mode_t folder_mode(void) {
    return geteuid() == 0 ? 0711 : 0700;
}

// The name of the socket. A folder that is open to every user cannot be listed, and the kernel tells the name
// that a socket was bound to: it is given another afterwards. So it is known by the environment of our
// descendants only.
#define BOUND_NAME "/socket"
#define START_S    30 // no tool takes so long from binding to listening
enum { NAME_BYTES = sizeof("/0123456789abcdef") };

static bool make_name(char ret_name[NAME_BYTES]) {
    uint64_t random;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return false;
    snprintf(ret_name, NAME_BYTES, "/%016llx", (unsigned long long)random);
    return true;
}

// The first name in a folder, at most NAME_BYTES with its slash. "": there is none.
static void name_in(const char *folder, char ret_name[NAME_BYTES]) {
    DIR *all = opendir(folder);
    *ret_name = 0;
    for (struct dirent *entry; all && !*ret_name && (entry = readdir(all));)
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < NAME_BYTES - 1)
            snprintf(ret_name, NAME_BYTES, "/%.*s", NAME_BYTES - 2, entry->d_name);
    if (all)
        closedir(all);
}

// A socket that has its first name still is most likely one of a tool that starts now: it is bound, and does
// not listen yet.
static bool is_being_made(const char *path, const struct stat *status) {
    const char *name = strrchr(path, '/');
    return strcmp(name, BOUND_NAME) == 0 && time(NULL) - status->st_mtim.tv_sec < START_S;
}

// Whether a folder of this name was left by a tool that was killed: its socket is there, and no process
// listens. (Without a socket it may be one that is being made.)
static bool is_left_over(const char *folder, const char *path) {
    struct stat status;
    struct sockaddr_un address;
    if (lstat(folder, &status) || !S_ISDIR(status.st_mode) || status.st_uid != geteuid() ||
        (status.st_mode & 0777) != folder_mode() || lstat(path, &status) || !S_ISSOCK(status.st_mode) ||
        status.st_uid != geteuid() || is_being_made(path, &status) || !socket_address(path, &address))
        return false;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    bool refused = connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

// SIGKILL leaves a tool no time to tidy up: the next one does.
static void remove_left_overs(const char *place) {
    DIR *all = opendir(place);
    for (struct dirent *entry; all && (entry = readdir(all));) {
        char folder[sizeof(((struct seep_listener *)0)->folder)];
        char name[NAME_BYTES];
        char path[sizeof(folder) + sizeof(name)];
        if (strncmp(entry->d_name, "seep-", 5) != 0 || strlen(entry->d_name) != sizeof("seep-XXXXXX") - 1 ||
            !seep_is_own_folder(dirfd(all), entry->d_name) ||
            snprintf(folder, sizeof(folder), "%s/%s", place, entry->d_name) >= (int)sizeof(folder))
            continue;
        name_in(folder, name);
        snprintf(path, sizeof(path), "%s%s", folder, name);
        if (*name && is_left_over(folder, path) && unlink(path) == 0)
            rmdir(folder);
    }
    if (all)
        closedir(all);
}

// A folder of our own under the first of the usual places where the socket's name fits. In a place where
// another user can exchange the folder, that user could listen, and would get the images.
static struct seep_error *make_folder(struct seep_listener *listener) {
    // The first is its user's alone; the last two are for systems on which /tmp is read-only.
    const char *places[] = {geteuid() ? getenv("XDG_RUNTIME_DIR") : NULL, getenv("TMPDIR"), "/tmp",
                            "/var/tmp", "/dev/shm"};
    int first_trouble = 0; // of `place`
    const char *place = "/tmp";
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(places); i++) {
        if (!places[i] || places[i][0] != '/')
            continue;
        int trouble;
        int length = snprintf(listener->folder, sizeof(listener->folder), "%s/seep-XXXXXX", places[i]);
        if (length < 0 || (size_t)length + NAME_BYTES > sizeof(listener->path)) {
            trouble = ENAMETOOLONG;
        } else if (!seep_place_is_safe(places[i])) {
            trouble = EACCES;
        } else if (mkdtemp(listener->folder) && chmod(listener->folder, folder_mode()) == 0) {
            remove_left_overs(places[i]);
            memcpy(listener->path, listener->folder, (size_t)length);
            memcpy(listener->path + length, BOUND_NAME, sizeof(BOUND_NAME));
            return NULL;
        } else {
            trouble = errno;
        }
        if (!first_trouble) {
            first_trouble = trouble;
            place = places[i];
        }
    }
    listener->folder[0] = 0;
    return seep_error_hint(
        seep_error_system(first_trouble, "cannot make a folder for the socket in %s", place),
        "set TMPDIR to a folder that can be written");
}

static struct seep_error *open_socket(struct seep_listener *listener) {
    struct sockaddr_un address;
    if (!socket_address(listener->path, &address)) // make_folder has seen to it
        return seep_error_system(ENAMETOOLONG, "cannot listen at %s", listener->path);
    listener->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0)
        return seep_error_hint(seep_error_system(errno, "cannot make a socket"),
                               "if there are too many open files, raise the limit (ulimit -n)");
    if (bind(listener->fd, (struct sockaddr *)&address, sizeof(address)) || listen(listener->fd, BACKLOG))
        return seep_error_system(errno, "cannot listen at %s", listener->path);
    if (geteuid() == 0 && chmod(listener->path, 0666))
        return seep_error_system(errno, "cannot let other users reach %s", listener->path);
    char bound[sizeof(listener->path)];
    strcpy(bound, listener->path);
    if (!make_name(listener->path + strlen(listener->folder)) || rename(bound, listener->path)) {
        int trouble = errno;
        strcpy(listener->path, bound);
        return seep_error_system(trouble, "cannot name the socket in %s", listener->folder);
    }
    return NULL;
}

struct seep_error *seep_listener_init(struct seep_listener *ret_listener) {
    struct seep_listener listener = {.fd = -1, .spare = -1};
    struct seep_error *err = make_folder(&listener);
    if (!err)
        err = open_socket(&listener);
    if (err) {
        seep_listener_deinit(&listener);
        return err;
    }
    (void)seep_image_is_memory_file(listener.fd); // from now on it takes no descriptor
    *ret_listener = listener;
    return NULL;
}

void seep_listener_deinit(struct seep_listener *listener) {
    for (size_t i = 0; i < listener->nr_peers; i++)
        close(listener->peers[i].fd);
    free(listener->peers);
    if (listener->fd >= 0)
        close(listener->fd);
    if (listener->spare >= 0)
        close(listener->spare);
    if (listener->folder[0]) {
        unlink(listener->path);
        rmdir(listener->folder);
    }
    *listener = (struct seep_listener){.fd = -1, .spare = -1};
}
