// SPDX-License-Identifier: BSD-2-Clause
// Unpacks by zlib, see gunzip.h.
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/gunzip.h"

struct seep_gunzip {
    gzFile file;
};

bool seep_gunzip_create(int fd, struct seep_gunzip **ret_gunzip) {
    struct seep_gunzip *gunzip = calloc(1, sizeof(*gunzip));
    int own = dup(fd);
    if (gunzip && own >= 0)
        gunzip->file = gzdopen(own, "rb");
    if (!gunzip || !gunzip->file) {
        if (own >= 0)
            close(own);
        free(gunzip);
        return false;
    }
    *ret_gunzip = gunzip;
    return true;
}

void seep_gunzip_destroy(struct seep_gunzip *gunzip) {
    if (!gunzip)
        return;
    gzclose(gunzip->file);
    free(gunzip);
}

bool seep_gunzip_read(struct seep_gunzip *gunzip, void *ret_bytes, size_t room, size_t *ret_nr) {
    int nr = gzread(gunzip->file, ret_bytes, (unsigned)SEEP_MIN(room, (size_t)1 << 20));
    *ret_nr = nr > 0 ? (size_t)nr : 0;
    return nr >= 0;
}
