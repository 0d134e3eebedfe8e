// SPDX-License-Identifier: BSD-2-Clause
// Where the files of a module are, see module_file.h.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>

#include "base/file_name.h"
#include "base/text_copy.h"
#include "confine/opener.h"
#include "confine/untrusted.h"
#include "names/module_file.h"
#include "names/names.h"

#define DEBUG_DIR     "/usr/lib/debug"
#define BUILD_ID_KEPT 44u // bytes of a build-id that the image keeps: struct seep_image_module

struct seep_error *seep_file_search_init(struct seep_file_search *search, const char *sysroot,
                                         const char *debug_dir, const struct seep_file_giver *giver) {
    *search = (struct seep_file_search){.sysroot_fd = -1, .giver = giver};
    if (debug_dir && !(search->debug_dir = strdup(debug_dir)))
        return seep_error_no_memory();
    if (!sysroot || !strcmp(sysroot, "/"))
        return NULL;
    search->sysroot = giver ? strdup(sysroot) : realpath(sysroot, NULL);
    if (giver)
        return search->sysroot ? NULL : seep_error_no_memory();
    // By the name that was given: that of a process's root (/proc/PID/root) leads to it, its target to ours.
    if (search->sysroot)
        search->sysroot_fd = open(sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (search->sysroot_fd >= 0)
        return NULL;
    struct seep_error *error =
        seep_error_system(errno, "cannot use %s as the root of the traced system", sysroot);
    seep_file_search_deinit(search);
    return seep_error_hint(error, "give --sysroot the directory that holds the target's /usr and /lib");
}

void seep_file_search_deinit(struct seep_file_search *search) {
    seep_debug_server_deinit(&search->server);
    if (search->sysroot_fd >= 0)
        close(search->sysroot_fd);
    free(search->sysroot);
    free(search->debug_dir);
    *search = (struct seep_file_search){.sysroot_fd = -1};
}

static const char *trouble_of_errno(int sys_errno) {
    switch (sys_errno) {
    case ENOENT:
    case ENOTDIR:
        return "file is gone";
    case EACCES:
    case EPERM:
        return "file may not be read";
    case EWOULDBLOCK: // not waited for: its holder may keep us for 45 s, and for each file again
        return "another process holds a lease on the file";
    case EMEDIUMTYPE:
        return "not a regular file";
    case ETIMEDOUT:
        return "its file system does not answer";
    case EMFILE:
    case ENFILE:
        return "too many files are open";
    default:
        return "file cannot be opened";
    }
}

int seep_file_search_open(const struct seep_file_search *search, bool in_sysroot, const char *path,
                          const char **ret_trouble) {
    int fd = seep_open_regular(in_sysroot ? search->sysroot_fd : -1, path);
    if (fd < 0)
        *ret_trouble = trouble_of_errno(errno);
    return fd;
}

bool seep_file_search_is_untrusted(const struct seep_file_search *search, bool in_sysroot, int fd) {
    return (in_sysroot && search->sysroot_fd >= 0) || seep_file_is_untrusted(fd);
}

bool seep_module_file_is_public(const struct seep_file_search *search, const char *path) {
    const char *trouble;
    struct stat status;
    int fd = path[0] == '/' ? seep_file_search_open(search, true, path, &trouble) : -1;
    bool is = fd >= 0 && seep_file_status(fd, &status) &&
              ((status.st_mode & S_IROTH) || seep_file_search_is_untrusted(search, true, fd));
    if (fd >= 0)
        close(fd);
    return is;
}

static struct seep_error *open_file(struct seep_file_search *search, bool in_sysroot, const char *path,
                                    struct seep_symbol_file **ret_file, const char **ret_trouble) {
    const struct seep_file_giver *giver = search->giver;
    char *directory = NULL;
    *ret_file = NULL;
    int fd = giver ? giver->open(giver->context, in_sysroot, path, ret_trouble, &directory)
                   : seep_file_search_open(search, in_sysroot, path, ret_trouble);
    struct seep_error *error = NULL;
    if (fd >= 0 && !giver && seep_file_search_is_untrusted(search, in_sysroot, fd)) {
        search->met_untrusted = true;
        *ret_trouble = "file is another user's";
    } else if (fd >= 0) {
        error = seep_symbol_file_open(fd, &search->copied_bytes, ret_file, ret_trouble);
    }
    if (!error && *ret_file && !(*ret_file)->directory) {
        (*ret_file)->directory = directory;
        directory = NULL;
    }
    free(directory);
    if (fd >= 0)
        close(fd);
    return error;
}

// The build-id of the traced module may have been cut by the image.
static bool same_build(struct seep_build_id wanted, struct seep_build_id found) {
    bool fits = wanted.nr_bytes == found.nr_bytes ||
                (wanted.nr_bytes == BUILD_ID_KEPT && found.nr_bytes > BUILD_ID_KEPT);
    return fits && !memcmp(wanted.bytes, found.bytes, wanted.nr_bytes);
}

// What a file must have to count as the debug information of a module.
struct wanted {
    struct seep_build_id id;
    bool has_crc;
    uint32_t crc;
};

static bool is_wanted(const struct wanted *wanted, const struct seep_symbol_file *file) {
    if (!seep_symbol_file_has_debug_info(file) && !seep_symbol_file_has_symbols(file))
        return false;
    struct seep_build_id id = seep_symbol_file_build_id(file);
    if (wanted->id.nr_bytes && id.nr_bytes)
        return same_build(wanted->id, id);
    return wanted->has_crc && seep_symbol_file_crc(file) == wanted->crc;
}

// Does nothing where *file is found already, so that places can be tried one after the other.
static struct seep_symbol_file *keep_wanted(const struct wanted *wanted, struct seep_symbol_file *found) {
    if (!found || is_wanted(wanted, found))
        return found;
    seep_symbol_file_close(found);
    return NULL;
}

static SEEP_PRINTF(5, 6) struct seep_error *try_path(struct seep_file_search *search,
                                                     const struct wanted *wanted, bool in_sysroot,
                                                     struct seep_symbol_file **file, const char *format,
                                                     ...) {
    if (*file)
        return NULL;
    va_list args;
    va_start(args, format);
    char *path;
    int length = vasprintf(&path, format, args);
    va_end(args);
    if (length < 0)
        return seep_error_no_memory();
    struct seep_symbol_file *found;
    const char *trouble;
    struct seep_error *error = open_file(search, in_sysroot, path, &found, &trouble);
    free(path);
    if (error)
        return error;
    *file = keep_wanted(wanted, found);
    return NULL;
}

const char *seep_debug_dir_of_user(void) {
    const char *named = getenv("SEEP_DEBUG_DIR");
    return named && named[0] == '/' ? named : NULL;
}

const char *seep_file_search_debug_dir(const struct seep_file_search *search) {
    return search->debug_dir ? search->debug_dir : DEBUG_DIR;
}

static struct seep_error *try_build_id(struct seep_file_search *search, const struct wanted *wanted,
                                       struct seep_symbol_file **file) {
    char hex[2 * 64 + 1];
    size_t nr_bytes = wanted->id.nr_bytes;
    if (nr_bytes < 2 || nr_bytes > 64)
        return NULL;
    for (size_t i = 0; i < nr_bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", wanted->id.bytes[i]);
    const char *root = seep_file_search_debug_dir(search);
    struct seep_error *error =
        try_path(search, wanted, !search->debug_dir, file, "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2);
    // The name says which build it is, so that of this machine will do.
    if (!error && search->sysroot && !search->debug_dir)
        error = try_path(search, wanted, false, file, "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2);
    return error;
}

static struct seep_error *try_server(struct seep_file_search *search, const struct wanted *wanted,
                                     struct seep_symbol_file **file) {
    const struct seep_file_giver *giver = search->giver;
    if (*file || (giver && search->server.off))
        return NULL;
    int fd = giver ? giver->ask_server(giver->context, wanted->id.bytes, wanted->id.nr_bytes)
                   : seep_debug_server_find(&search->server, wanted->id.bytes, wanted->id.nr_bytes);
    if (fd < 0)
        return NULL;
    if (!giver) { // who answers is a stranger too
        search->met_untrusted = true;
        close(fd);
        return NULL;
    }
    const char *trouble;
    struct seep_symbol_file *found;
    struct seep_error *error = seep_symbol_file_open(fd, &search->copied_bytes, &found, &trouble);
    close(fd);
    if (error)
        return error;
    *file = keep_wanted(wanted, found);
    return NULL;
}

// The file's directory as the traced system names it.
static const char *target_directory(const struct seep_file_search *search,
                                    const struct seep_symbol_file *file) {
    const char *directory = file->directory;
    size_t length = search->sysroot ? strlen(search->sysroot) : 0;
    if (directory && length && !strncmp(directory, search->sysroot, length) &&
        (directory[length] == '/' || !directory[length]))
        directory += length;
    return directory;
}

// The places that go by name: beside the loaded file, and under the debug directory.
static struct seep_error *try_names(struct seep_file_search *search, const struct wanted *wanted,
                                    const struct seep_symbol_file *main, const char *path, const char *link,
                                    struct seep_symbol_file **file) {
    const char *directory = target_directory(search, main), *root = seep_file_search_debug_dir(search);
    const char *base = seep_file_name(path);
    bool in_sysroot = !search->debug_dir;
    struct seep_error *error = NULL;
    if (directory && link && !strchr(link, '/')) {
        if (!error)
            error = try_path(search, wanted, true, file, "%s/%s", directory, link);
        if (!error)
            error = try_path(search, wanted, true, file, "%s/.debug/%s", directory, link);
        if (!error)
            error = try_path(search, wanted, in_sysroot, file, "%s%s/%s", root, directory, link);
    }
    if (!error && path[0] == '/')
        error = try_path(search, wanted, in_sysroot, file, "%s%s.debug", root, path);
    if (!error && path[0] == '/')
        error = try_path(search, wanted, in_sysroot, file, "%s%s", root, path);
    if (!error && directory)
        error = try_path(search, wanted, in_sysroot, file, "%s%s/%s.debug", root, directory, base);
    if (!error && directory)
        error = try_path(search, wanted, in_sysroot, file, "%s%s/%s", root, directory, base);
    return error;
}

static struct seep_error *find_debug(struct seep_file_search *search, const char *path,
                                     struct seep_build_id id, struct seep_module_files *files) {
    struct wanted wanted = {.id = id};
    struct seep_error *error = NULL;
    if (files->main) {
        GElf_Word crc;
        const char *link = dwelf_elf_gnu_debuglink(files->main->elf, &crc);
        wanted.has_crc = link != NULL;
        wanted.crc = link ? crc : 0;
        if (link || wanted.id.nr_bytes)
            error = try_names(search, &wanted, files->main, path, link, &files->debug);
    }
    if (!error)
        error = try_build_id(search, &wanted, &files->debug);
    if (!error && path[0] != '[')
        error = try_server(search, &wanted, &files->debug);
    return error;
}

static const char another_build[] = "file is another build";

// Opens a file under the root that is of this build; *ret_trouble says why there is none.
static struct seep_error *open_build(struct seep_file_search *search, bool in_sysroot, const char *path,
                                     struct seep_build_id id, struct seep_symbol_file **ret_file,
                                     const char **ret_trouble) {
    struct seep_error *error = open_file(search, in_sysroot, path, ret_file, ret_trouble);
    if (error || !*ret_file || !id.nr_bytes || same_build(id, seep_symbol_file_build_id(*ret_file)))
        return error;
    seep_symbol_file_close(*ret_file);
    *ret_file = NULL;
    *ret_trouble = another_build;
    return NULL;
}

// A root may have a part of the target's folders only, as what a build has left: without the leading ones. Of
// what is not there at all this machine may have the same build.
static struct seep_error *open_elsewhere(struct seep_file_search *search, const char *path,
                                         struct seep_build_id id, struct seep_module_files *files) {
    struct seep_error *error = NULL;
    for (const char *rest = strchr(path + 1, '/'); rest && !files->main && !error;
         rest = strchr(rest + 1, '/')) {
        const char *trouble;
        error = open_build(search, true, rest, id, &files->main, &trouble);
    }
    const char *trouble;
    if (!error && !files->main)
        error = open_build(search, false, path, id, &files->main, &trouble);
    return error;
}

// The loaded file itself. Sets trouble where it is not to be had.
static struct seep_error *find_main(struct seep_file_search *search, const char *path,
                                    struct seep_build_id id, struct seep_module_files *files) {
    if (path[0] == '[' || !path[0]) {
        files->trouble = "mapped by the kernel, not from a file";
        return NULL;
    }
    struct seep_error *error = open_build(search, true, path, id, &files->main, &files->trouble);
    if (!error && !files->main && search->sysroot && id.nr_bytes && path[0] == '/')
        error = open_elsewhere(search, path, id, files);
    size_t length = strlen(path), suffix = strlen(SEEP_DELETED_SUFFIX);
    if (!error && !files->main && length > suffix && !strcmp(path + length - suffix, SEEP_DELETED_SUFFIX)) {
        files->trouble = "file was deleted while it was in use";
        if (!id.nr_bytes)
            return NULL; // what has the name now is most likely another build
        char *name = seep_text_copy(path, length - suffix);
        if (!name)
            return seep_error_no_memory();
        const char *trouble;
        error = open_build(search, true, name, id, &files->main, &trouble);
        if (!error && !files->main && trouble == another_build)
            files->trouble = trouble;
        free(name);
    }
    return error;
}

struct seep_error *seep_module_files_find(struct seep_file_search *search, const char *path,
                                          struct seep_build_id id, struct seep_module_files *ret_files) {
    struct seep_module_files files = {NULL};
    struct seep_error *error = find_main(search, path, id, &files);
    bool complete = !error && files.main && seep_symbol_file_has_debug_info(files.main);
    if (!error && !complete) {
        // The file's own id is whole, the one from the image may have been cut.
        struct seep_build_id own = {NULL, 0};
        if (files.main)
            own = seep_symbol_file_build_id(files.main);
        error = find_debug(search, path, own.nr_bytes ? own : id, &files);
    }
    bool has_symbols = (files.main && seep_symbol_file_has_symbols(files.main)) ||
                       (files.debug && seep_symbol_file_has_symbols(files.debug));
    if (!error && files.main && !has_symbols)
        error = seep_symbol_file_open_mini(files.main, &files.mini);
    if (error) {
        seep_module_files_close(&files);
        return error;
    }
    *ret_files = files;
    return NULL;
}

void seep_module_files_close(struct seep_module_files *files) {
    seep_symbol_file_close(files->main);
    seep_symbol_file_close(files->debug);
    seep_symbol_file_close(files->mini);
    *files = (struct seep_module_files){NULL};
}

// Without "..": a reader of untrusted files gets none by such a path.
static struct seep_error *try_relative(struct seep_file_search *search, const struct wanted *wanted,
                                       const char *directory, const char *name,
                                       struct seep_symbol_file **file) {
    char *path;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return seep_error_no_memory();
    seep_names_normalise(path);
    struct seep_error *error = try_path(search, wanted, false, file, "%s", path);
    free(path);
    return error;
}

struct seep_error *seep_alt_file_find(struct seep_file_search *search, const struct seep_symbol_file *from,
                                      const char *name, struct seep_build_id id,
                                      struct seep_symbol_file **ret_file) {
    struct wanted wanted = {.id = id};
    struct seep_symbol_file *file = NULL;
    struct seep_error *error = NULL;
    if (name[0] == '/')
        error = try_path(search, &wanted, true, &file, "%s", name);
    else if (from->directory)
        error = try_relative(search, &wanted, from->directory, name, &file);
    if (!error)
        error = try_build_id(search, &wanted, &file);
    if (!error)
        error = try_server(search, &wanted, &file);
    if (error) {
        seep_symbol_file_close(file);
        return error;
    }
    *ret_file = file;
    return NULL;
}
