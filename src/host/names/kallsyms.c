// SPDX-License-Identifier: BSD-2-Clause
// See kallsyms.h. Source: Linux Documentation/filesystems/proc.rst, kernel/kallsyms.c: "address type name"
// and, after a tab, "[module]".
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/search.h"
#include "names/kallsyms.h"

struct function {
    uint64_t address;
    const char *name;
    const char *module; // NULL: built in
};

struct seep_kallsyms {
    struct function *functions; // sorted
    size_t nr;
    size_t capacity;
    char *text; // what they point into
};

void seep_kallsyms_destroy(struct seep_kallsyms *symbols) {
    if (!symbols)
        return;
    free(symbols->functions);
    free(symbols->text);
    free(symbols);
}

static int compare(const void *left, const void *right) {
    const struct function *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return strcmp(a->name, b->name);
}

// One line, without its end; words are cut off in place.
static bool parse_line(char *line, struct function *ret_function) {
    char *end;
    errno = 0;
    uint64_t address = strtoull(line, &end, 16);
    if (errno || !isxdigit((unsigned char)line[0]) || end[0] != ' ' || !end[1] || end[2] != ' ' ||
        !strchr("tTwW", end[1]))
        return false;
    struct function function = {.address = address, .name = end + 3};
    char *tab = strchr(end + 3, '\t');
    if (tab) {
        *tab++ = 0;
        size_t length = strlen(tab);
        if (length > 2 && tab[0] == '[' && tab[length - 1] == ']') {
            tab[length - 1] = 0;
            function.module = tab + 1;
        }
    }
    if (!*function.name)
        return false;
    *ret_function = function;
    return true;
}

static struct seep_error *add(struct seep_kallsyms *symbols, const struct function *function) {
    if (symbols->nr == symbols->capacity) {
        size_t capacity = symbols->capacity ? symbols->capacity * 2 : 1024;
        struct function *functions = realloc(symbols->functions, capacity * sizeof(*functions));
        if (!functions)
            return seep_error_no_memory();
        symbols->functions = functions;
        symbols->capacity = capacity;
    }
    symbols->functions[symbols->nr++] = *function;
    return NULL;
}

// Takes `text`, which ends with a NUL at [nr_bytes].
static struct seep_error *parse(char *text, size_t nr_bytes, struct seep_kallsyms **ret_symbols) {
    struct seep_kallsyms *symbols = calloc(1, sizeof(*symbols));
    if (!symbols) {
        free(text);
        return seep_error_no_memory();
    }
    symbols->text = text;
    struct seep_error *err = NULL;
    for (char *line = text, *stop = text + nr_bytes; line < stop && !err;) {
        char *end = memchr(line, '\n', (size_t)(stop - line));
        end = end ? end : stop;
        *end = 0;
        struct function function;
        if (parse_line(line, &function))
            err = add(symbols, &function);
        line = end + 1;
    }
    if (err) {
        seep_kallsyms_destroy(symbols);
        return err;
    }
    if (symbols->nr)
        qsort(symbols->functions, symbols->nr, sizeof(*symbols->functions), compare);
    *ret_symbols = symbols;
    return NULL;
}

struct seep_error *seep_kallsyms_parse(const char *text, size_t nr_bytes,
                                       struct seep_kallsyms **ret_symbols) {
    char *copy = malloc(nr_bytes + 1);
    if (!copy)
        return seep_error_no_memory();
    memcpy(copy, text, nr_bytes);
    copy[nr_bytes] = 0;
    return parse(copy, nr_bytes, ret_symbols);
}

// Files of /proc have no size to ask for.
static struct seep_error *read_all(const char *path, char **ret_text, size_t *ret_nr) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return seep_error_system(errno, "cannot open %s", path);
    size_t capacity = 16u << 20, nr = 0;
    char *text = malloc(capacity + 1);
    ssize_t got = 1;
    while (text && got > 0) {
        if (nr == capacity) {
            char *bigger = realloc(text, capacity * 2 + 1);
            if (!bigger)
                free(text);
            text = bigger;
            capacity *= 2;
            continue;
        }
        got = read(fd, text + nr, capacity - nr);
        if (got < 0 && errno == EINTR)
            got = 1;
        else
            nr += got > 0 ? (size_t)got : 0;
    }
    int status = errno;
    close(fd);
    if (!text)
        return seep_error_no_memory();
    if (got < 0) {
        free(text);
        return seep_error_system(status, "cannot read %s", path);
    }
    text[nr] = 0;
    *ret_text = text;
    *ret_nr = nr;
    return NULL;
}

struct seep_error *seep_kallsyms_read(struct seep_kallsyms **ret_symbols) {
    char *text = NULL;
    size_t nr = 0;
    struct seep_kallsyms *symbols = NULL;
    struct seep_error *err = read_all("/proc/kallsyms", &text, &nr);
    if (!err)
        err = parse(text, nr, &symbols);
    if (err)
        return err;
    if (!symbols->nr || symbols->functions[symbols->nr - 1].address == 0) {
        seep_kallsyms_destroy(symbols);
        return seep_error_hint(
            seep_error_create(SEEP_E_PERMISSION, "the kernel hides its addresses (/proc/kallsyms has none)"),
            "have CAP_SYSLOG, and 0 or 1 in /proc/sys/kernel/kptr_restrict");
    }
    *ret_symbols = symbols;
    return NULL;
}

bool seep_kallsyms_find(const struct seep_kallsyms *symbols, uint64_t address,
                        struct seep_kernel_function *ret_function) {
    size_t low = SEEP_FIRST_WHERE(at, symbols->nr, symbols->functions[at].address > address);
    if (!low)
        return false;
    uint64_t start = symbols->functions[low - 1].address, offset = address - start;
    uint64_t bytes =
        low < symbols->nr ? symbols->functions[low].address - start : offset + (offset < UINT64_MAX);
    // Names of one place: the first of them, always the same one.
    while (low > 1 && symbols->functions[low - 2].address == start)
        low--;
    const struct function *function = &symbols->functions[low - 1];
    *ret_function = (struct seep_kernel_function){.name = function->name,
                                                  .module = function->module ? function->module : "kernel",
                                                  .offset = offset,
                                                  .bytes = bytes};
    return true;
}

uint64_t seep_kallsyms_base(const struct seep_kallsyms *symbols, const char *module) {
    uint64_t lowest = 0;
    for (size_t i = 0; i < symbols->nr; i++) {
        const struct function *function = &symbols->functions[i];
        if (strcmp(function->module ? function->module : "kernel", module) != 0)
            continue;
        if (!lowest)
            lowest = function->address;
        if (!function->module && strcmp(function->name, "_text") == 0)
            return function->address;
    }
    return lowest;
}
