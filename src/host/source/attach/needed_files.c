// SPDX-License-Identifier: BSD-2-Clause
// What a loader will map, see needed_files.h. Source: ld.so(8), System V ABI (dynamic section); glibc
// sysdeps/generic/dl-cache.h (struct cache_file_new) for the cache.
#include <elf.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine/opener.h"
#include "confine/untrusted.h"
#include "process/elf_file.h"
#include "source/attach/needed_files.h"

#define FILES_MAX     256u // of one program; the largest have some 200
#define NAMES_MAX     256u // that one file needs
#define DYNAMICS_MAX  4096u
#define FOLDERS_MAX   16u
#define CACHE_BYTES   (8u << 20)
#define CACHE_MAGIC   "glibc-ld.so.cache1.1"
#define CACHE_FLAGS   0xffu
#define CACHE_OF_LIBC 3u

struct cache_header {
    char magic[20];
    uint32_t nr_entries;
    uint32_t unused[6];
};
struct cache_entry {
    uint32_t flags;
    uint32_t name; // offsets from the start of the file
    uint32_t path;
    uint32_t version;
    uint64_t hardware;
};

// The first bytes of an ELF file: its class and byte order, and its machine.
struct kind {
    unsigned char ident[EI_DATA + 1];
    Elf64_Half machine;
};

struct known_file {
    dev_t device;
    ino_t inode;
};

struct needed {
    int root;
    struct kind kind; // of the program, and so of all that is mapped with it
    const char *library_path;
    seep_needed_visit *visit;
    void *context;
    char *cache; // ends with NUL; NULL: there is none
    size_t nr_cache_bytes;
    struct known_file known[FILES_MAX];
    char *paths[FILES_MAX]; // of what those from `nr_done` on need nothing is known yet
    size_t nr_known;
    size_t nr_paths;
    size_t nr_done;
};

// What the dynamic section of a file says.
struct dynamic {
    uint64_t strings_off;
    uint64_t nr_string_bytes;
    uint64_t names[NAMES_MAX]; // offsets in the strings
    size_t nr_names;
    uint64_t folders[2]; // DT_RPATH, DT_RUNPATH
    size_t nr_folders;
};

static void read_cache(struct needed *needed) {
    int fd = seep_open_regular(needed->root, "/etc/ld.so.cache");
    struct stat status;
    if (fd < 0)
        return;
    if (!seep_is_handle(fd) && fstat(fd, &status) == 0 &&
        status.st_size > (off_t)sizeof(struct cache_header) && status.st_size <= (off_t)CACHE_BYTES) {
        char *cache = malloc((size_t)status.st_size + 1);
        if (cache && pread(fd, cache, (size_t)status.st_size, 0) == status.st_size &&
            memcmp(cache, CACHE_MAGIC, strlen(CACHE_MAGIC)) == 0) {
            cache[status.st_size] = 0;
            needed->nr_cache_bytes = (size_t)status.st_size;
            needed->cache = cache;
        } else {
            free(cache);
        }
    }
    close(fd);
}

static bool read_dynamic(const struct seep_elf_file *elf, struct dynamic *dynamic) {
    *dynamic = (struct dynamic){.nr_names = 0};
    const Elf64_Phdr *segment = NULL;
    for (uint32_t i = 0; i < elf->nr_segments && !segment; i++)
        if (elf->segments[i].p_type == PT_DYNAMIC)
            segment = &elf->segments[i];
    bool has_strings = false;
    for (size_t i = 0; segment && i < DYNAMICS_MAX && (i + 1) * sizeof(Elf64_Dyn) <= segment->p_filesz; i++) {
        Elf64_Dyn item;
        if (!seep_elf_read(elf, segment->p_offset + i * sizeof(item), &item, sizeof(item)) ||
            item.d_tag == DT_NULL)
            break;
        if (item.d_tag == DT_NEEDED && dynamic->nr_names < NAMES_MAX)
            dynamic->names[dynamic->nr_names++] = item.d_un.d_val;
        else if ((item.d_tag == DT_RPATH || item.d_tag == DT_RUNPATH) && dynamic->nr_folders < 2)
            dynamic->folders[dynamic->nr_folders++] = item.d_un.d_val;
        else if (item.d_tag == DT_STRTAB)
            has_strings = seep_elf_file_off(elf, item.d_un.d_ptr, &dynamic->strings_off);
        else if (item.d_tag == DT_STRSZ)
            dynamic->nr_string_bytes = item.d_un.d_val;
    }
    return has_strings;
}

// Ends with NUL. false: it is not whole.
static bool read_string(const struct seep_elf_file *elf, const struct dynamic *dynamic, uint64_t at,
                        char *text, size_t capacity) {
    if (at >= dynamic->nr_string_bytes)
        return false;
    size_t nr = SEEP_MIN((uint64_t)capacity, dynamic->nr_string_bytes - at);
    return seep_elf_read(elf, dynamic->strings_off + at, text, nr) && memchr(text, 0, nr);
}

static struct kind kind_of(int fd) {
    unsigned char bytes[offsetof(Elf64_Ehdr, e_machine) + sizeof(Elf64_Half)];
    struct kind kind = {.machine = EM_NONE};
    if (pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes)) {
        memcpy(kind.ident, bytes, sizeof(kind.ident));
        memcpy(&kind.machine, bytes + offsetof(Elf64_Ehdr, e_machine), sizeof(kind.machine));
    }
    return kind;
}

static bool has_kind(int fd, const struct kind *kind) {
    struct kind its = kind_of(fd);
    return memcmp(its.ident, kind->ident, sizeof(its.ident)) == 0 && its.machine == kind->machine;
}

static void try_path(struct needed *needed, const char *path) {
    struct stat status;
    if (*path != '/' || needed->nr_known == FILES_MAX || needed->nr_paths == FILES_MAX)
        return;
    for (size_t i = 0; i < needed->nr_paths; i++)
        if (strcmp(needed->paths[i], path) == 0)
            return;
    int fd = seep_open_regular(needed->root, path);
    if (fd < 0)
        return;
    bool is_new = !seep_is_handle(fd) && has_kind(fd, &needed->kind) && fstat(fd, &status) == 0;
    for (size_t i = 0; i < needed->nr_known && is_new; i++)
        is_new = needed->known[i].device != status.st_dev || needed->known[i].inode != status.st_ino;
    char *copy = is_new ? strdup(path) : NULL;
    if (copy) {
        needed->known[needed->nr_known++] = (struct known_file){status.st_dev, status.st_ino};
        needed->paths[needed->nr_paths++] = copy;
        needed->visit(needed->context, fd, path);
    }
    close(fd);
}

// `length` bytes of `folder`, where $ORIGIN is the folder of `path`.
static void try_folder(struct needed *needed, const char *folder, size_t length, const char *path,
                       const char *name) {
    static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
    char whole[PATH_MAX];
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(origins); i++) {
        size_t nr = strlen(origins[i]);
        if (length < nr || strncmp(folder, origins[i], nr) != 0)
            continue;
        int nr_origin = (int)(strrchr(path, '/') - path);
        if (snprintf(whole, sizeof(whole), "%.*s%.*s/%s", nr_origin, path, (int)(length - nr), folder + nr,
                     name) < (int)sizeof(whole))
            try_path(needed, whole);
        return;
    }
    if (snprintf(whole, sizeof(whole), "%.*s/%s", (int)length, folder, name) < (int)sizeof(whole))
        try_path(needed, whole);
}

static void try_cache(struct needed *needed, const char *name) {
    struct cache_header header;
    if (!needed->cache)
        return;
    memcpy(&header, needed->cache, sizeof(header));
    size_t most = (needed->nr_cache_bytes - sizeof(header)) / sizeof(struct cache_entry);
    for (size_t i = 0; i < SEEP_MIN((size_t)header.nr_entries, most); i++) {
        struct cache_entry entry;
        memcpy(&entry, needed->cache + sizeof(header) + i * sizeof(entry), sizeof(entry));
        if ((entry.flags & CACHE_FLAGS) == CACHE_OF_LIBC && entry.name < needed->nr_cache_bytes &&
            entry.path < needed->nr_cache_bytes && strcmp(needed->cache + entry.name, name) == 0)
            try_path(needed, needed->cache + entry.path);
    }
}

static void try_folders(struct needed *needed, const char *folders, const char *separators, const char *path,
                        const char *name) {
    const char *at = folders;
    for (size_t nr = 0; *at && nr < FOLDERS_MAX; nr++) {
        size_t length = strcspn(at, separators);
        try_folder(needed, at, length, path, name);
        at += length + (at[length] != 0);
    }
}

static void try_name(struct needed *needed, const struct seep_elf_file *elf, const struct dynamic *dynamic,
                     const char *path, const char *name) {
    static const char *const system[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
    char folders[PATH_MAX];
    if (strchr(name, '/')) {
        try_path(needed, name);
        return;
    }
    for (size_t i = 0; i < dynamic->nr_folders; i++)
        if (read_string(elf, dynamic, dynamic->folders[i], folders, sizeof(folders)))
            try_folders(needed, folders, ":", path, name);
    if (needed->library_path)
        try_folders(needed, needed->library_path, ":;", path, name);
    size_t nr_before = needed->nr_known;
    try_cache(needed, name);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(system) && needed->nr_known == nr_before; i++)
        try_folder(needed, system[i], strlen(system[i]), path, name);
}

static void look_into(struct needed *needed, int fd, const char *path) {
    struct seep_elf_file elf;
    struct dynamic dynamic;
    char name[PATH_MAX];
    if (seep_file_is_untrusted(fd))
        return;
    struct seep_error *err = seep_elf_file_init(fd, path, &elf);
    if (err) {
        seep_error_destroy(err);
        return;
    }
    for (uint32_t i = 0; i < elf.nr_segments; i++) {
        const Elf64_Phdr *segment = &elf.segments[i];
        if (segment->p_type == PT_INTERP && segment->p_filesz && segment->p_filesz <= sizeof(name) &&
            seep_elf_read(&elf, segment->p_offset, name, segment->p_filesz) && !name[segment->p_filesz - 1])
            try_path(needed, name);
    }
    if (read_dynamic(&elf, &dynamic))
        for (size_t i = 0; i < dynamic.nr_names; i++)
            if (read_string(&elf, &dynamic, dynamic.names[i], name, sizeof(name)))
                try_name(needed, &elf, &dynamic, path, name);
    seep_elf_file_deinit(&elf);
}

void seep_needed_files(int root, int fd, const char *path, const char *library_path, seep_needed_visit *visit,
                       void *context) {
    struct needed *needed = calloc(1, sizeof(*needed));
    if (!needed || *path != '/') {
        free(needed);
        return;
    }
    needed->root = root;
    needed->kind = kind_of(fd);
    needed->library_path = library_path;
    needed->visit = visit;
    needed->context = context;
    read_cache(needed);
    look_into(needed, fd, path);
    while (needed->nr_done < needed->nr_paths) {
        const char *next = needed->paths[needed->nr_done++];
        int next_fd = seep_open_regular(root, next);
        if (next_fd >= 0 && !seep_is_handle(next_fd))
            look_into(needed, next_fd, next);
        if (next_fd >= 0)
            close(next_fd);
    }
    for (size_t i = 0; i < needed->nr_paths; i++)
        free(needed->paths[i]);
    free(needed->cache);
    free(needed);
}
