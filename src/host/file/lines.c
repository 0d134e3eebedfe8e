// SPDX-License-Identifier: BSD-2-Clause
// Reads text files line by line, see lines.h.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/gunzip.h"
#include "file/lines.h"

enum { ROOM = 1 << 16 };

struct seep_lines {
    const char *name;
    int fd;
    ZSTD_DStream *zstd;       // NULL: not packed so
    struct seep_gunzip *gzip; // the same
    unsigned char *packed;    // of zstd
    ZSTD_inBuffer in;
    char *bytes; // unpacked: [at, end)
    size_t at;
    size_t end;
    size_t capacity;
    bool over;
    bool is_cut; // the latest line
    uint64_t number;
};

void seep_lines_close(struct seep_lines *lines) {
    if (!lines)
        return;
    if (lines->fd > STDIN_FILENO)
        close(lines->fd);
    ZSTD_freeDStream(lines->zstd);
    seep_gunzip_destroy(lines->gzip);
    free(lines->packed);
    free(lines->bytes);
    free(lines);
}

#define HINT "name the file that the other tool has written"

static struct seep_error *broken(const struct seep_lines *lines, const char *what) {
    return seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: cannot be unpacked: %s", lines->name, what),
                           "the file is damaged: copy it again from where it was made");
}

static struct seep_error *read_some(struct seep_lines *lines, void *to, size_t room, size_t *ret_nr) {
    ssize_t nr;
    do
        nr = read(lines->fd, to, room);
    while (nr < 0 && errno == EINTR);
    if (nr < 0)
        return seep_error_hint(seep_error_system(errno, "%s: cannot read", lines->name), HINT);
    *ret_nr = (size_t)nr;
    return NULL;
}

// At most `room` bytes more; 0: the end.
static struct seep_error *unpack(struct seep_lines *lines, char *to, size_t room, size_t *ret_nr) {
    *ret_nr = 0;
    if (lines->gzip)
        return seep_gunzip_read(lines->gzip, to, room, ret_nr) ? NULL : broken(lines, "gzip");
    if (!lines->zstd)
        return read_some(lines, to, room, ret_nr);
    ZSTD_outBuffer out = {to, room, 0};
    while (!out.pos) {
        if (lines->in.pos == lines->in.size) {
            size_t nr;
            struct seep_error *error = read_some(lines, lines->packed, ROOM, &nr);
            if (error || !nr)
                return error;
            lines->in = (ZSTD_inBuffer){lines->packed, nr, 0};
        }
        size_t code = ZSTD_decompressStream(lines->zstd, &out, &lines->in);
        if (ZSTD_isError(code))
            return broken(lines, ZSTD_getErrorName(code));
    }
    *ret_nr = out.pos;
    return NULL;
}

static struct seep_error *fill(struct seep_lines *lines) {
    if (lines->at) {
        memmove(lines->bytes, lines->bytes + lines->at, lines->end - lines->at);
        lines->end -= lines->at;
        lines->at = 0;
    }
    if (lines->capacity - lines->end < ROOM) {
        char *larger = realloc(lines->bytes, lines->capacity + ROOM);
        if (!larger)
            return seep_error_no_memory();
        lines->bytes = larger;
        lines->capacity += ROOM;
    }
    size_t nr;
    struct seep_error *error =
        unpack(lines, lines->bytes + lines->end, lines->capacity - lines->end - 1, &nr);
    lines->end += error ? 0 : nr;
    lines->over = !error && !nr;
    return error;
}

struct seep_error *seep_lines_next(struct seep_lines *lines, char **ret_line) {
    *ret_line = NULL;
    for (size_t seen = 0;;) {
        char *begin = lines->bytes + lines->at;
        char *stop =
            lines->end > lines->at + seen ? memchr(begin + seen, '\n', lines->end - lines->at - seen) : NULL;
        size_t there = lines->end - lines->at;
        if (stop || there >= SEEP_LINE_MAX || (lines->over && there)) {
            size_t length = stop ? (size_t)(stop - begin) : there;
            begin[length] = 0; // there is a byte left behind the last
            lines->at += length + (stop != NULL);
            lines->number++;
            lines->is_cut = !stop && lines->over;
            *ret_line = begin;
            return NULL;
        }
        if (lines->over)
            return NULL;
        seen = there;
        struct seep_error *error = fill(lines);
        if (error)
            return error;
    }
}

uint64_t seep_lines_number(const struct seep_lines *lines) {
    return lines->number;
}

bool seep_lines_is_cut(const struct seep_lines *lines) {
    return lines->is_cut;
}

// By what the file begins with, which stays to be read.
static struct seep_error *find_packing(struct seep_lines *lines) {
    size_t nr = 0;
    lines->packed = malloc(ROOM);
    lines->bytes = malloc(2 * ROOM);
    if (!lines->packed || !lines->bytes)
        return seep_error_no_memory();
    lines->capacity = 2 * ROOM;
    struct seep_error *error = read_some(lines, lines->packed, ROOM, &nr);
    if (error)
        return error;
    if (nr >= 4 && memcmp(lines->packed, "\x28\xb5\x2f\xfd", 4) == 0) {
        lines->zstd = ZSTD_createDStream();
        lines->in = (ZSTD_inBuffer){lines->packed, nr, 0};
        return lines->zstd ? NULL : seep_error_no_memory();
    }
    if (nr >= 2 && memcmp(lines->packed, "\x1f\x8b", 2) == 0) {
        if (lseek(lines->fd, 0, SEEK_SET) != 0)
            return seep_error_hint(
                seep_error_create(SEEP_E_UNSUPPORTED, "%s: packed by gzip, and no file", lines->name),
                "unpack it first: gunzip");
        return seep_gunzip_create(lines->fd, &lines->gzip) ? NULL : seep_error_no_memory();
    }
    memcpy(lines->bytes, lines->packed, nr);
    lines->end = nr;
    lines->over = !nr;
    return NULL;
}

struct seep_error *seep_lines_open(const char *path, struct seep_lines **ret_lines) {
    struct seep_lines *lines = calloc(1, sizeof(*lines));
    if (!lines)
        return seep_error_no_memory();
    bool is_stdin = strcmp(path, "-") == 0;
    lines->name = is_stdin ? "standard input" : path;
    lines->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    struct seep_error *error = lines->fd < 0
                                   ? seep_error_hint(seep_error_system(errno, "%s: cannot open", path), HINT)
                                   : find_packing(lines);
    if (error)
        seep_lines_close(lines);
    else
        *ret_lines = lines;
    return error;
}
