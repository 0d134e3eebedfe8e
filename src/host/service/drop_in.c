// SPDX-License-Identifier: BSD-2-Clause
// Writes, reads and removes the drop-in, see drop_in.h.
// Source: systemd.unit(5), systemd.syntax(7), systemd.service(5) on quoting, specifiers and the prefixes of
// commands.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text_copy.h"
#include "base/text_file.h"
#include "service/drop_in.h"

#define NAME "50-seep.conf"
#define TEMP ".50-seep.conf.new"

enum { TEXT_MAX = 64 << 10 };
enum { LOCK_TRIES = 500, LOCK_STEP_NS = 10000000 };

struct seep_error *seep_drop_in_path(const struct seep_unit *unit, char **ret_path) {
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    bool from_home = unit->user && (!config || *config != '/');
    if (from_home && (!home || *home != '/'))
        return seep_error_create(SEEP_E_NOT_FOUND, "HOME is not set: the units of this user have no folder");
    int nr = !unit->user ? asprintf(ret_path, "/etc/systemd/system/%s.d/" NAME, unit->id)
             : from_home ? asprintf(ret_path, "%s/.config/systemd/user/%s.d/" NAME, home, unit->id)
                         : asprintf(ret_path, "%s/systemd/user/%s.d/" NAME, config, unit->id);
    return nr < 0 ? seep_error_no_memory() : NULL;
}

// ---- its text ----

// A word as systemd reads it: in quotes, with % as %%; in a command $ as $$ too.
static void put_word(FILE *out, const char *word, bool of_command) {
    fputc('"', out);
    for (; *word; word++) {
        if (*word == '"' || *word == '\\')
            fputc('\\', out);
        if (*word == '%' || (*word == '$' && of_command))
            fputc(*word, out);
        fputc(*word, out);
    }
    fputc('"', out);
}

static SEEP_PRINTF(2, 3) bool put_variable(FILE *out, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *item;
    int nr = vasprintf(&item, format, args);
    va_end(args);
    if (nr < 0)
        return false;
    fputs("Environment=", out);
    put_word(out, item, false);
    fputc('\n', out);
    free(item);
    return true;
}

static bool put_variables(FILE *out, const struct seep_unit *unit,
                          const struct seep_service_options *options) {
    bool good =
        put_variable(out, "LD_PRELOAD=%s%s%s", options->library, *unit->preload ? ":" : "", unit->preload);
    good &= put_variable(out, "SEEP_OUT=%s/exit/%%e.%%p.seep", options->folder);
    if (options->mode)
        good &= put_variable(out, "SEEP_MODE=%s", options->mode);
    if (options->sample_bytes)
        good &= put_variable(out, "SEEP_SAMPLE=%" PRIu64, options->sample_bytes);
    if (options->depth)
        good &= put_variable(out, "SEEP_DEPTH=%" PRIu64, options->depth);
    if (options->age)
        good &= put_variable(out, "SEEP_AGE=yes");
    if (options->signal)
        good &= put_variable(out, "SEEP_SIGNAL=%s", options->signal);
    if (options->nr_filters)
        good &= put_variable(out, "SEEP_FILTERS=%u", options->nr_filters);
    return good;
}

// With -, so that nothing of it can fail the service; with +, outside of its sandbox; itself not traced.
static void put_watcher(FILE *out, const struct seep_unit *unit, const struct seep_service_options *options) {
    fprintf(out, "ExecStartPost=-%s/usr/bin/env -u LD_PRELOAD -u SEEP_OUT ", unit->user ? "" : "+");
    put_word(out, options->tool, true);
    fputs(" service watch --folder ", out);
    put_word(out, options->folder, true);
    fprintf(out, " --keep %" PRIu64, options->keep_bytes);
    if (options->every_ns)
        fprintf(out, " --every %" PRId64 "ns", options->every_ns);
    if (options->at_bytes)
        fprintf(out, " --snap-at %" PRIu64, options->at_bytes);
    if (options->at_percent)
        fprintf(out, " --snap-at %u%%%%", options->at_percent);
    fputc(' ', out);
    put_word(out, unit->id, true);
    fputc('\n', out);
}

struct seep_error *seep_drop_in_text(const struct seep_unit *unit, const struct seep_service_options *options,
                                     char **ret_text) {
    char *text = NULL;
    size_t nr_bytes = 0;
    FILE *out = open_memstream(&text, &nr_bytes);
    if (!out)
        return seep_error_no_memory();
    fprintf(out,
            "# Made by 'seep service enable %s'; 'seep service disable %s' removes it.\n"
            "# seep-folder: %" PRIu64 " %s\n"
            "[Service]\n",
            unit->id, unit->id, options->keep_bytes, options->folder);
    bool good = put_variables(out, unit, options);
    if (strcmp(unit->protect_system, "strict") == 0) {
        char *exits;
        good &= asprintf(&exits, "-%s/exit", options->folder) >= 0;
        if (good) {
            fputs("ReadWritePaths=", out);
            put_word(out, exits, false);
            fputc('\n', out);
            free(exits);
        }
    }
    if (*options->calls)
        fprintf(out, "SystemCallFilter=%s\n", options->calls);
    put_watcher(out, unit, options);
    good &= fclose(out) == 0;
    if (!good) {
        free(text);
        return seep_error_no_memory();
    }
    *ret_text = text;
    return NULL;
}

// ---- the file ----

static struct seep_error *cannot(int trouble, const char *path, const char *what) {
    struct seep_error *error = seep_error_system(trouble, "%s: cannot be %s", path, what);
    if (trouble == EROFS)
        return seep_error_hint(error,
                               "'seep service enable --dry-run' prints it: put it into /run/systemd/system, "
                               "in a folder of the same name");
    if (trouble == EACCES || trouble == EPERM)
        return seep_error_hint(error,
                               "units of the system are root's; --user takes those of your own manager");
    return error;
}

// Any user can open the folder and hold its lock, so it is not awaited for ever.
static struct seep_error *lock(int fd, const char *folder) {
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return NULL;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return cannot(errno, folder, "locked");
        nanosleep(&(struct timespec){.tv_nsec = LOCK_STEP_NS}, NULL);
    }
    return seep_error_hint(
        seep_error_create(SEEP_E_IO, "%s: another process has held its lock for five seconds", folder),
        "'fuser -v %s' says which: end it, and try again", folder);
}

// The folder of the file, made where it is not there, open and locked: of two tools one comes after the
// other.
static struct seep_error *open_folder(const char *path, bool make, int *ret_fd) {
    char folder[PATH_MAX];
    size_t length = (size_t)(strrchr(path, '/') - path);
    if (length >= sizeof(folder))
        return seep_error_system(ENAMETOOLONG, "%s", path);
    memcpy(folder, path, length);
    folder[length] = 0;
    for (char *at = folder + 1; make && (at = strchr(at, '/')); at++) {
        *at = 0;
        bool failed = mkdir(folder, 0755) != 0 && errno != EEXIST;
        int trouble = errno;
        *at = '/';
        if (failed)
            return cannot(trouble, folder, "made");
    }
    if (make && mkdir(folder, 0755) != 0 && errno != EEXIST)
        return cannot(errno, folder, "made");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return cannot(errno, folder, "opened");
    struct seep_error *error = lock(fd, folder);
    if (error)
        close(fd);
    else
        *ret_fd = fd;
    return error;
}

static bool write_all(int fd, const char *text) {
    for (size_t left = strlen(text); left;) {
        ssize_t nr = write(fd, text, left);
        if (nr < 0 && errno == EINTR)
            continue;
        if (nr <= 0)
            return false;
        text += nr;
        left -= (size_t)nr;
    }
    return fsync(fd) == 0;
}

struct seep_error *seep_drop_in_write(const char *path, const char *text) {
    int folder = -1;
    struct seep_error *error = open_folder(path, true, &folder);
    if (error)
        return error;
    unlinkat(folder, TEMP, 0); // of a tool that was killed
    int fd = openat(folder, TEMP, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || fchmod(fd, 0644) != 0 || !write_all(fd, text) ||
        renameat(folder, TEMP, folder, NAME) != 0) {
        error = cannot(errno, path, "written");
        unlinkat(folder, TEMP, 0);
    }
    if (fd >= 0)
        close(fd);
    close(folder);
    return error;
}

struct seep_error *seep_drop_in_remove(const char *path, bool *ret_was) {
    *ret_was = false;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return NULL;
    int folder = -1;
    struct seep_error *error = open_folder(path, false, &folder);
    if (error)
        return error;
    if (unlinkat(folder, NAME, 0) == 0)
        *ret_was = true;
    else if (errno != ENOENT)
        error = cannot(errno, path, "removed");
    close(folder);
    if (*ret_was) {
        char *name = seep_text_copy(path, (size_t)(strrchr(path, '/') - path));
        if (name)
            (void)rmdir(name); // others' drop-ins keep it
        free(name);
    }
    return error;
}

char *seep_drop_in_calls(const char *path) {
    static const char key[] = "\nSystemCallFilter=";
    char *text = NULL, *calls = NULL;
    size_t nr_bytes = 0;
    struct seep_error *error = seep_text_file_read(path, "the drop-in", TEXT_MAX, &text, &nr_bytes);
    char *at = error ? NULL : memmem(text, nr_bytes, key, sizeof(key) - 1);
    if (at) {
        at += sizeof(key) - 1;
        const char *end = memchr(at, '\n', nr_bytes - (size_t)(at - text));
        calls = seep_text_copy(at, (end ? (size_t)(end - at) : nr_bytes - (size_t)(at - text)));
    }
    free(text);
    seep_error_destroy(error); // none is there yet
    return calls;
}

struct seep_error *seep_drop_in_read(const char *path, char **ret_folder, uint64_t *ret_keep_bytes) {
    static const char key[] = "\n# seep-folder: ";
    *ret_folder = NULL;
    *ret_keep_bytes = 0;
    if (access(path, F_OK) != 0)
        return errno == ENOENT ? NULL : cannot(errno, path, "read");
    char *text = NULL;
    size_t nr_bytes = 0;
    struct seep_error *error = seep_text_file_read(path, "the drop-in", TEXT_MAX, &text, &nr_bytes);
    if (error)
        return error;
    char *at = memmem(text, nr_bytes, key, sizeof(key) - 1), *end = NULL;
    if (at && (end = memchr(at + 1, '\n', nr_bytes - (size_t)(at + 1 - text)))) {
        *end = 0;
        *ret_keep_bytes = strtoull(at + sizeof(key) - 1, &at, 10);
        *ret_folder = *at == ' ' && at[1] == '/' ? strdup(at + 1) : NULL;
        if (!*ret_folder)
            error = seep_error_create(SEEP_E_FORMAT, "%s: its line '# seep-folder:' is damaged", path);
    } else {
        error = seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s is not of seep service", path),
                                "look at it, and remove it by hand");
    }
    free(text);
    return error;
}
