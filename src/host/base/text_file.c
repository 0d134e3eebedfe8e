// SPDX-License-Identifier: BSD-2-Clause
// Reading a text file whole, see text_file.h.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/text_file.h"

static struct seep_error *read_all(FILE *in, const char *path, const char *what, size_t max_bytes,
                                   char **text, size_t *ret_nr) {
    size_t nr = 0, capacity = 0;
    for (;;) {
        if (!seep_grow(text, &capacity, nr + 4096, 1))
            return seep_error_no_memory();
        errno = 0;
        size_t got = fread(*text + nr, 1, capacity - nr, in);
        nr += got;
        if (ferror(in))
            return seep_error_system(errno ? errno : EIO, "%s: cannot read %s", path, what);
        if (nr > max_bytes)
            return seep_error_create(SEEP_E_FORMAT, "%s: too large for %s: more than %zu MiB", path, what,
                                     max_bytes >> 20);
        if (got == 0)
            break;
    }
    *ret_nr = nr;
    return NULL;
}

struct seep_error *seep_text_file_read(const char *path, const char *what, size_t max_bytes, char **ret_text,
                                       size_t *ret_nr_bytes) {
    FILE *in = fopen(path, "re");
    if (!in)
        return seep_error_system(errno, "%s: cannot read %s", path, what);
    char *text = NULL;
    struct seep_error *error = read_all(in, path, what, max_bytes, &text, ret_nr_bytes);
    fclose(in);
    if (error) {
        free(text);
        return error;
    }
    *ret_text = text;
    return NULL;
}
