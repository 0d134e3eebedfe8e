// SPDX-License-Identifier: BSD-2-Clause
// Names of code that was made at run time, see jit_names.h.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "confine/opener.h"
#include "names/jit_names.h"
#include "names/ranges.h"

#define TEXT_BYTES_MAX (INT64_C(256) << 20)

struct seep_jit_names {
    char *text; // names end with NUL in it
    struct seep_ranges ranges;
    struct seep_arena arena; // of what resolve gives
};

// A number in hexadecimal and the blank behind it, before `end`.
static bool read_number(char **at, const char *end, uint64_t *ret_value) {
    const char *start = *at;
    uint64_t value = 0;
    if (end - *at > 2 && (*at)[0] == '0' && (*at)[1] == 'x')
        start = *at += 2;
    for (; *at < end && **at != ' '; (*at)++) {
        int digit = **at >= '0' && **at <= '9'   ? **at - '0'
                    : **at >= 'a' && **at <= 'f' ? **at - 'a' + 10
                    : **at >= 'A' && **at <= 'F' ? **at - 'A' + 10
                                                 : -1;
        if (digit < 0 || value >> 60)
            return false;
        value = value << 4 | (uint64_t)digit;
    }
    *ret_value = value;
    return *at > start && *at < end && *(*at)++ == ' ';
}

// false: out of memory.
static bool add_line(struct seep_jit_names *names, char *at, char *end, uint32_t line) {
    uint64_t start, nr_bytes, high;
    if (!read_number(&at, end, &start) || !read_number(&at, end, &nr_bytes) || at == end ||
        __builtin_add_overflow(start, nr_bytes, &high))
        return true;
    return seep_ranges_add(&names->ranges, start, high, (uintptr_t)at, line);
}

struct seep_error *seep_jit_names_create(const char *text, size_t nr_bytes,
                                         struct seep_jit_names **ret_names) {
    struct seep_jit_names *names = calloc(1, sizeof(*names));
    if (names)
        names->text = malloc(nr_bytes + 1);
    bool fits = names && names->text;
    uint32_t line = 0;
    if (fits && nr_bytes)
        memcpy(names->text, text, nr_bytes);
    for (size_t at = 0; fits && at < nr_bytes; line++) {
        char *start = names->text + at;
        char *end = memchr(start, '\n', nr_bytes - at);
        if (!end)
            end = names->text + nr_bytes;
        *end = 0;
        fits = add_line(names, start, end, line);
        at = (size_t)(end - names->text) + 1;
    }
    if (!fits) {
        seep_jit_names_destroy(names);
        return seep_error_no_memory();
    }
    seep_ranges_seal(&names->ranges);
    *ret_names = names;
    return NULL;
}

void seep_jit_names_destroy(struct seep_jit_names *names) {
    if (!names)
        return;
    seep_ranges_deinit(&names->ranges);
    seep_arena_deinit(&names->arena);
    free(names->text);
    free(names);
}

static bool is_usable(int fd, int64_t since_ns, int64_t until_ns, size_t *ret_nr_bytes) {
    struct stat status;
    if (seep_is_handle(fd) || fstat(fd, &status) || status.st_size > TEXT_BYTES_MAX ||
        (status.st_uid != geteuid() && status.st_uid != 0))
        return false;
    int64_t written_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    *ret_nr_bytes = (size_t)status.st_size;
    return written_ns >= since_ns && written_ns <= until_ns;
}

struct seep_error *seep_jit_names_open(uint32_t pid, int64_t since_ns, int64_t until_ns,
                                       struct seep_jit_names **ret_names) {
    char path[64];
    size_t nr_bytes = 0;
    *ret_names = NULL;
    snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
    int fd = seep_open_no_link(path);
    if (fd < 0)
        return NULL;
    char *text = is_usable(fd, since_ns, until_ns, &nr_bytes) ? malloc(nr_bytes + 1) : NULL;
    size_t done = 0;
    while (text && done < nr_bytes) {
        ssize_t got = read(fd, text + done, nr_bytes - done);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        done += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    struct seep_error *err = text ? seep_jit_names_create(text, done, ret_names) : NULL;
    free(text);
    return err;
}

struct seep_error *seep_jit_names_resolve(struct seep_jit_names *names, uint64_t address, bool exact,
                                          const struct seep_symbol **ret_symbol) {
    *ret_symbol = NULL;
    uint64_t inside = exact || !address ? address : address - 1;
    size_t at = seep_ranges_upto(&names->ranges, inside);
    const struct seep_range *range = seep_ranges_next(&names->ranges, inside, &at);
    if (!range)
        return NULL;
    struct seep_symbol *symbol = seep_arena_alloc(&names->arena, 1, sizeof(*symbol));
    struct seep_symbol_frame *frame = seep_arena_alloc(&names->arena, 1, sizeof(*frame));
    if (!symbol || !frame)
        return seep_error_no_memory();
    const char *name = (const char *)(uintptr_t)range->value;
    *frame = (struct seep_symbol_frame){
        .function = name, .linkage = name, .function_offset = address - range->low};
    *symbol = (struct seep_symbol){.frames = frame, .nr_frames = 1};
    *ret_symbol = symbol;
    return NULL;
}
