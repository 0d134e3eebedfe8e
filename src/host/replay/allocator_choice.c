// SPDX-License-Identifier: BSD-2-Clause
// Reads the list of --allocator, see allocator_choice.h.
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay/allocator_choice.h"
#include "source/run/allocator.h"

// The loader of glibc has the names of all tunables; it ignores others without a word.
struct loader {
    const char *bytes; // NULL: not known
    size_t nr_bytes;
};

static int map_loader(struct dl_phdr_info *info, size_t size, void *arg) {
    struct loader *loader = arg;
    (void)size;
    if (!info->dlpi_addr || info->dlpi_addr != getauxval(AT_BASE))
        return 0;
    struct stat status;
    int fd = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);
    void *at = fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0
                   ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                   : MAP_FAILED;
    if (fd >= 0)
        close(fd);
    if (at != MAP_FAILED)
        *loader = (struct loader){at, (size_t)status.st_size};
    return 1;
}

static bool has_name(const struct loader *loader, const char *name, size_t nr_bytes) {
    char whole[128];
    if (nr_bytes >= sizeof(whole) || strncmp(name, "glibc.", 6) != 0)
        return false;
    memcpy(whole, name, nr_bytes);
    whole[nr_bytes] = 0;
    return memmem(loader->bytes, loader->nr_bytes, whole, nr_bytes + 1);
}

// `settings`: glibc.malloc.arena_max=1:glibc.malloc.mxfast=0, for example.
static struct seep_error *check_tunables(const char *settings) {
    struct loader loader = {NULL};
    struct seep_error *error = NULL;
    dl_iterate_phdr(map_loader, &loader);
    bool knows =
        loader.bytes && has_name(&loader, "glibc.malloc.arena_max", strlen("glibc.malloc.arena_max"));
    while (knows && !error && *settings) {
        size_t nr_bytes = strcspn(settings, ":"), name = strcspn(settings, "=:");
        if (name == nr_bytes || !has_name(&loader, settings, name))
            error = seep_error_hint(
                seep_error_create(SEEP_E_USAGE, "--allocator: glibc has no tunable '%.*s'", (int)name,
                                  settings),
                "ld.so --list-tunables lists them; behind the first one the whole name is needed");
        settings += nr_bytes + (settings[nr_bytes] == ':');
    }
    if (loader.bytes)
        munmap((void *)loader.bytes, loader.nr_bytes);
    return error;
}

static struct seep_error *take_tunable(const char *name, const char *setting,
                                       struct seep_allocator_choice *ret_choice) {
    if (!strchr(setting, '='))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--allocator %s: no value", name),
                               "glibc:arena_max=1, for example");
    if (asprintf(&ret_choice->tunables, "GLIBC_TUNABLES=%s%s",
                 strncmp(setting, "glibc.", 6) == 0 ? "" : "glibc.malloc.", setting) >= 0)
        return check_tunables(ret_choice->tunables + strlen("GLIBC_TUNABLES="));
    ret_choice->tunables = NULL;
    return seep_error_no_memory();
}

struct seep_error *seep_allocator_choose(const char *name, bool own,
                                         struct seep_allocator_choice *ret_choice) {
    bool tunes = strncmp(name, "glibc:", 6) == 0, is_glibc = tunes || strcmp(name, "glibc") == 0;
    *ret_choice = (struct seep_allocator_choice){.name = name};
    struct seep_error *error = tunes ? take_tunable(name, name + 6, ret_choice) : NULL;
    char *path = NULL;
    if (!error && (own || !is_glibc))
        error = seep_allocator_find(is_glibc ? "glibc" : name, &path);
    if (!error && path && asprintf(&ret_choice->preload, "LD_PRELOAD=%s", path) < 0) {
        ret_choice->preload = NULL;
        error = seep_error_no_memory();
    }
    free(path);
    return error;
}

void seep_allocator_choice_deinit(struct seep_allocator_choice *choice) {
    free(choice->preload);
    free(choice->tunables);
    choice->preload = choice->tunables = NULL;
}

struct seep_error *seep_allocators_split(char *list, const char **names, size_t *ret_nr) {
    *ret_nr = 0;
    for (char *rest = list, *name; (name = strsep(&rest, ","));) {
        if (!*name)
            return seep_error_create(SEEP_E_USAGE, "--allocator: an empty name in the list");
        if (*ret_nr == SEEP_ALLOCATORS_MAX)
            return seep_error_create(SEEP_E_USAGE, "--allocator: more than %u names", SEEP_ALLOCATORS_MAX);
        names[(*ret_nr)++] = name;
    }
    return NULL;
}
