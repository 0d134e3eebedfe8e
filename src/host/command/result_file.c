// SPDX-License-Identifier: BSD-2-Clause
// See result_file.h.
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/read_at.h"
#include "base/records.h"
#include "base/text_copy.h"
#include "command/result_file.h"
#include "output/format.h"

void seep_result_drop(const char *path) {
    struct stat status;
    char *real = realpath(path, NULL); // a link stays
    if (real && stat(real, &status) == 0 && S_ISREG(status.st_mode))
        unlink(real);
    free(real);
}

struct seep_error *seep_result_is_no_input(const char *save, const char *const *inputs, int nr) {
    struct stat to, from;
    for (int i = 0; save && stat(save, &to) == 0 && i < nr; i++)
        if (stat(inputs[i], &from) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
            return seep_error_hint(seep_error_create(SEEP_E_USAGE, "-o %s: the file that is read", save),
                                   "name another file");
    return NULL;
}

struct seep_error *seep_result_close(FILE *out, const char *path, const char *what, const char *hint) {
    errno = 0;
    bool failed = fflush(out) != 0 || ferror(out) != 0;
    if (failed && !errno) { // it was an earlier write, and why is forgotten: another one tells
        clearerr(out);
        fputc('\n', out);
        fflush(out);
    }
    int trouble = errno;
    failed |= fclose(out) != 0;
    if (!failed)
        return NULL;
    trouble = trouble ? trouble : errno;
    seep_result_drop(path);
    if (!trouble)
        return seep_error_hint(
            seep_error_create(SEEP_E_IO, "%s: cannot write %s: an earlier write failed", path, what),
            "a write works now: try again");
    return seep_error_hint(seep_error_system(trouble, "%s: cannot write %s", path, what), "%s", hint);
}

// A result does not replace a trace: it may be the one that was read.
static bool is_trace(const char *path) {
    char magic[SEEP_TRACE_MAGIC_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_one = fd >= 0 && seep_read_at(fd, 0, magic, sizeof(magic)) &&
                  memcmp(magic, SEEP_TRACE_MAGIC, sizeof(magic)) == 0;
    if (fd >= 0)
        close(fd);
    return is_one;
}

static const char *hint_of(int trouble) {
    return trouble == ENOENT                       ? "make its folder, or name another file"
           : trouble == EISDIR                     ? "name a file in it"
           : trouble == ENOTDIR                    ? "a part of the path is a file; name another path"
           : trouble == EACCES || trouble == EROFS ? "name a file in a folder of yours"
                                                   : "name another file";
}

struct seep_error *seep_result_begin(const char *path, struct seep_result *ret_result) {
    struct seep_result result = {.path = path};
    struct stat status;
    bool in_place = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    if (!in_place && is_trace(path))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "%s: a trace, which is not written over", path),
            "name another file, or remove it first");
    if (!in_place && !(result.real = realpath(path, NULL)) && !(result.real = strdup(path))) // a link stays
        return seep_error_no_memory();
    int fd = in_place ? open(path, O_WRONLY | O_CLOEXEC)
                      : seep_new_file_create(result.real, 0600, &result.new_file);
    result.out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (result.out) {
        result.buffer = malloc(SEEP_OUTPUT_BUFFER_BYTES);
        if (result.buffer)
            (void)setvbuf(result.out, result.buffer, _IOFBF, SEEP_OUTPUT_BUFFER_BYTES);
        *ret_result = result;
        return NULL;
    }
    int trouble = errno;
    struct seep_error *error =
        seep_error_hint(seep_error_system(trouble, "%s: cannot be written", path), "%s", hint_of(trouble));
    if (fd >= 0)
        close(fd);
    seep_new_file_forget(&result.new_file, false);
    free(result.real);
    return error;
}

struct seep_error *seep_result_end(struct seep_result *result, struct seep_error *error) {
    bool is_write = error && error->code == SEEP_E_IO;
    if (is_write)
        error = seep_error_prefix(error, "%s", result->path);
    if (!error)
        error = seep_stream_check(result->out, result->path);
    if (!error && result->real && !seep_new_file_give_name(&result->new_file, fileno(result->out)))
        error = seep_error_system(errno, "cannot write %s", result->path);
    if (fclose(result->out) != 0 && !error)
        error = seep_error_system(errno, "cannot write %s", result->path);
    free(result->buffer);
    is_write |= error && error->code == SEEP_E_IO;
    if (is_write && !error->hint)
        error = seep_error_hint(error, "nothing is left of it: make room there, or name a file elsewhere");
    if (!error && result->real && rename(result->new_file.path, result->real) != 0)
        error = seep_error_system(errno, "cannot write %s", result->path);
    seep_new_file_forget(&result->new_file, !error);
    free(result->real);
    return error;
}
