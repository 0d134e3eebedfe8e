// SPDX-License-Identifier: BSD-2-Clause
// Functions of allocators beside malloc, see beside_malloc.h.
#include <string.h>

#include "process/beside_malloc.h"

// Source: the headers of each: jemalloc.h, tcmalloc.h, mimalloc.h.
const struct seep_beside seep_besides[SEEP_BESIDE_NR] = {
    {"libjemalloc", {"mallocx", "rallocx", "dallocx", "sdallocx"}},
    {"libtcmalloc",
     {"tc_malloc", "tc_calloc", "tc_realloc", "tc_memalign", "tc_posix_memalign", "tc_valloc", "tc_pvalloc",
      "tc_new", "tc_free", "tc_cfree", "tc_delete"}},
    {"libmimalloc",
     {"mi_malloc", "mi_calloc", "mi_zalloc", "mi_realloc", "mi_rezalloc", "mi_recalloc", "mi_memalign",
      "mi_posix_memalign", "mi_aligned_", "mi_valloc", "mi_pvalloc", "mi_strdup", "mi_strndup", "mi_realpath",
      "mi_new", "mi_heap_", "mi_free", "mi_cfree"}},
};

bool seep_beside_only_asks(const char *start, const char *rest, size_t nr_bytes) {
    static const char *const ends[] = {"_size", "_usable_size", "_good_size", "_stats"};
    if (start[strlen(start) - 1] != 'c') // mi_free_size frees
        return false;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(ends); i++) {
        size_t length = strlen(ends[i]) + 1;
        if (nr_bytes >= length && memcmp(rest, ends[i], length) == 0)
            return true;
    }
    return false;
}

unsigned seep_beside_of_name(const char *name) {
    enum { END_MOST = 16 }; // more than what follows in a name that only asks: a hostile one never ends
    unsigned found = 0;
    for (unsigned i = 0; strchr("mrdst", name[0]) && i < SEEP_BESIDE_NR; i++)
        for (size_t k = 0; k < SEEP_ARRAY_SIZE(seep_besides[i].names) && seep_besides[i].names[k]; k++) {
            size_t length = strlen(seep_besides[i].names[k]);
            if (strncmp(name, seep_besides[i].names[k], length) == 0 &&
                !seep_beside_only_asks(seep_besides[i].names[k], name + length,
                                       strnlen(name + length, END_MOST) + 1))
                found |= 1u << i;
        }
    return found;
}

unsigned seep_beside_of_path(const char *path) {
    const char *slash = strrchr(path, '/');
    unsigned found = 0;
    for (unsigned i = 0; slash && i < SEEP_BESIDE_NR; i++)
        if (strncmp(slash + 1, seep_besides[i].library, strlen(seep_besides[i].library)) == 0)
            found |= 1u << i;
    return found;
}
