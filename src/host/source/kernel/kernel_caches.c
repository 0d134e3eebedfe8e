// SPDX-License-Identifier: BSD-2-Clause
// Other names of the kernel's caches, see kernel_caches.h.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "source/kernel/kernel_caches.h"

#define NAME_MAX_BYTES 64u
#define NAMES_SHOWN    6u // caches of 64 bytes have dozens

struct cache_name {
    char name[NAME_MAX_BYTES];
    char of[NAME_MAX_BYTES]; // target of its link: ":0000064"
};

struct seep_kernel_caches {
    struct cache_name *names; // by `of`, then by name
    size_t nr;
    size_t capacity;
};

static int compare_names(const void *left, const void *right) {
    const struct cache_name *a = left, *b = right;
    int order = strcmp(a->of, b->of);
    return order ? order : strcmp(a->name, b->name);
}

static struct seep_error *read_names(DIR *folder, struct seep_kernel_caches *caches) {
    for (const struct dirent *entry; (entry = readdir(folder));) {
        struct cache_name name = {0};
        ssize_t nr = readlinkat(dirfd(folder), entry->d_name, name.of, sizeof(name.of) - 1);
        if (nr <= 0 || (size_t)nr >= sizeof(name.of) - 1 || strlen(entry->d_name) >= sizeof(name.name))
            continue;
        memcpy(name.name, entry->d_name, strlen(entry->d_name));
        if (!seep_grow(&caches->names, &caches->capacity, caches->nr + 1, sizeof(*caches->names)))
            return seep_error_no_memory();
        caches->names[caches->nr++] = name;
    }
    if (caches->nr)
        qsort(caches->names, caches->nr, sizeof(*caches->names), compare_names);
    return NULL;
}

struct seep_error *seep_kernel_caches_read(const char *folder, struct seep_kernel_caches **ret_caches) {
    struct seep_kernel_caches *caches = calloc(1, sizeof(*caches));
    if (!caches)
        return seep_error_no_memory();
    DIR *names = opendir(folder ? folder : "/sys/kernel/slab");
    struct seep_error *err = names ? read_names(names, caches) : NULL;
    if (names)
        closedir(names);
    if (err)
        seep_kernel_caches_destroy(caches);
    else
        *ret_caches = caches;
    return err;
}

void seep_kernel_caches_destroy(struct seep_kernel_caches *caches) {
    if (!caches)
        return;
    free(caches->names);
    free(caches);
}

const char *seep_kernel_caches_aliases(const struct seep_kernel_caches *caches, const char *name,
                                       struct seep_arena *arena) {
    const struct cache_name *own = NULL;
    for (size_t i = 0; i < caches->nr && !own; i++)
        if (strcmp(caches->names[i].name, name) == 0)
            own = &caches->names[i];
    char text[NAMES_SHOWN * (NAME_MAX_BYTES + 2)] = "";
    size_t used = 0, nr = 0;
    for (size_t i = 0; own && i < caches->nr; i++) {
        const struct cache_name *other = &caches->names[i];
        if (other == own || strcmp(other->of, own->of) != 0)
            continue;
        if (nr++ < NAMES_SHOWN)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "", other->name);
    }
    if (nr > NAMES_SHOWN)
        return seep_arena_printf(arena, "%s and %zu more", text, nr - NAMES_SHOWN);
    return nr ? seep_arena_strdup(arena, text) : NULL;
}
