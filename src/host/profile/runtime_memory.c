// SPDX-License-Identifier: BSD-2-Clause
// The pieces of each runtime are known by the module that takes them, and by their size. See
// runtime_memory.h.
#include <string.h>

#include "base/file_name.h"
#include "base/sum.h"
#include "profile/runtime_memory.h"

const struct seep_runtime_memory seep_runtime_memory[SEEP_RUNTIME_NR] = {
    [SEEP_RUNTIME_PYTHON] = {"Python", "arenas", "PYTHONMALLOC=malloc", true},
    [SEEP_RUNTIME_PHP] = {"PHP", "chunks", "USE_ZEND_ALLOC=0", true},
    [SEEP_RUNTIME_GLIB] = {"GLib", "slices", "G_SLICE=always-malloc", false},
};

// The module whose code allocated. NULL: not known.
static const char *module_of(const struct seep_profile *profile, const struct seep_site *site) {
    const char *path = profile->modules[profile->nodes[site->node].module].path;
    return path ? seep_file_name(path) : NULL;
}

static bool begins(const char *name, const char *with) {
    return name && strncmp(name, with, strlen(with)) == 0;
}

// Objects of up to 512 bytes are in arenas of 1 MiB, before 3.10 of 256 KiB.
// Source: CPython, Include/internal/pycore_obmalloc.h and, before, Objects/obmalloc.c.
static bool is_arena_of_python(const char *module, uint64_t bytes) {
    return (bytes == 1 << 20 || bytes == 256 << 10) &&
           (begins(module, "python3") || begins(module, "libpython3"));
}

// Chunks are of 2 MiB, and larger blocks take several. Source: PHP, Zend/zend_alloc.c.
static bool is_chunk_of_php(const char *module, uint64_t bytes) {
    return bytes && bytes % (2 << 20) == 0 && (begins(module, "php") || begins(module, "libphp"));
}

// GLib before 2.76: aligned blocks whose size is two words less than a power of two.
// Source: GLib, glib/gslice.c: allocator_memalign, NATIVE_MALLOC_PADDING.
static bool is_slices_of_glib(const char *module, const struct seep_site *site) {
    const uint64_t sizes[] = {site->counters.size_min, site->counters.size_max};
    if ((site->via != SEEP_VIA_POSIX_MEMALIGN && site->via != SEEP_VIA_MEMALIGN) ||
        !begins(module, "libglib-2.0.so"))
        return false;
    for (size_t i = 0; i < 2; i++) {
        uint64_t of_64 = sizes[i] + 16, of_32 = sizes[i] + 8;
        if (sizes[i] < 100 || ((of_64 & (of_64 - 1)) && (of_32 & (of_32 - 1))))
            return false;
    }
    return true;
}

uint64_t seep_runtime_bytes(const struct seep_profile *profile, enum seep_runtime runtime) {
    uint64_t sum = 0;
    for (uint32_t i = 1; runtime == SEEP_RUNTIME_GLIB && i < profile->nr_sites; i++) {
        const struct seep_site *site = &profile->sites[i];
        if (site->live_bytes && is_slices_of_glib(module_of(profile, site), site))
            seep_add_up(&sum, site->live_bytes);
    }
    for (uint32_t i = 0; runtime != SEEP_RUNTIME_GLIB && i < profile->nr_mapping_sites; i++) {
        const struct seep_mapping_site *site = &profile->mapping_sites[i];
        const char *module = module_of(profile, &profile->sites[site->site]);
        uint64_t maps = site->counts.maps, bytes = site->counts.mapped_bytes;
        if (!maps || bytes % maps != 0)
            continue;
        if (runtime == SEEP_RUNTIME_PYTHON ? is_arena_of_python(module, bytes / maps)
                                           : is_chunk_of_php(module, bytes / maps))
            seep_add_up(&sum, site->counts.peak_bytes);
    }
    return sum;
}
