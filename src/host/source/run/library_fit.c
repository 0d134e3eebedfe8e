// SPDX-License-Identifier: BSD-2-Clause
// Versions of the C library, see library_fit.h.
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/elf_file.h"
#include "source/run/library_fit.h"

#define LIBC     "libc.so.6"
#define TEXT_MAX (UINT64_C(1) << 20) // of names; what has more is no C library that we know

// The section's bytes, malloc'ed; NULL: there is none, or it is not to be read.
static char *section_of(const char *path, const char *name, size_t *ret_nr, bool *ret_is_narrow) {
    struct seep_elf_file elf;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct seep_error *err = fd < 0 ? NULL : seep_elf_any_init(fd, path, &elf);
    char *text = NULL;
    if (fd >= 0 && !err) {
        const Elf64_Shdr *section = seep_elf_section(&elf, name);
        if (section && section->sh_size <= TEXT_MAX && (text = (char *)seep_elf_read_section(&elf, section)))
            *ret_nr = section->sh_size;
        *ret_is_narrow = elf.is_narrow;
        seep_elf_file_deinit(&elf);
    }
    seep_error_destroy(err); // a file that is no ELF file says nothing of versions
    if (fd >= 0)
        close(fd);
    return text;
}

static bool has_name(const char *text, size_t nr, const char *name) {
    size_t length = strlen(name) + 1;
    const char *found = memmem(text, nr, name, length);
    while (found && found > text && found[-1] != 0)
        found = memmem(found + 1, nr - (size_t)(found + 1 - text), name, length);
    return found != NULL;
}

// <folder>/libc.so.6, the folder with $ORIGIN as the loader has it. malloc'ed; NULL: not there.
static char *libc_in(const char *folder, size_t length, const char *program) {
    static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
    const char *slash = strrchr(program, '/');
    char *path = NULL;
    int nr = -1;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(origins) && nr < 0; i++) {
        size_t skipped = strlen(origins[i]);
        if (slash && length >= skipped && memcmp(folder, origins[i], skipped) == 0)
            nr = asprintf(&path, "%.*s%.*s/" LIBC, (int)(slash - program), program, (int)(length - skipped),
                          folder + skipped);
    }
    if (nr < 0)
        nr = asprintf(&path, "%.*s/" LIBC, (int)length, folder);
    if (nr >= 0 && access(path, R_OK) == 0)
        return path;
    if (nr >= 0)
        free(path);
    return NULL;
}

static char *libc_in_list(const char *folders, const char *program) {
    char *found = NULL;
    for (const char *at = folders; at && *at && !found; at += strspn(at, ":;")) {
        size_t length = strcspn(at, ":;");
        if (length && length < PATH_MAX)
            found = libc_in(at, length, program);
        at += length;
    }
    return found;
}

// DT_RPATH or DT_RUNPATH of the program, malloc'ed; NULL: none.
static char *search_path_of(const char *program) {
    size_t nr_names = 0, nr_bytes = 0;
    bool is_narrow = false;
    char *names = section_of(program, ".dynstr", &nr_names, &is_narrow);
    char *dynamic = section_of(program, ".dynamic", &nr_bytes, &is_narrow);
    char *path = NULL;
    size_t step = is_narrow ? sizeof(Elf32_Dyn) : sizeof(Elf64_Dyn);
    for (size_t at = 0; names && dynamic && nr_bytes - at >= step && !path; at += step) {
        Elf64_Dyn entry;
        memcpy(&entry, dynamic + at, step);
        if (is_narrow) {
            Elf32_Dyn narrow;
            memcpy(&narrow, dynamic + at, step);
            entry = (Elf64_Dyn){.d_tag = narrow.d_tag, .d_un.d_val = narrow.d_un.d_val};
        }
        if ((entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH) && entry.d_un.d_val < nr_names)
            path = strdup(names + entry.d_un.d_val); // a NUL is behind the section
    }
    free(names);
    free(dynamic);
    return path;
}

// Where the loader of the program will find it: in the program's own search path, in that of the environment,
// or beside the loader, as all distributions have it.
static char *libc_of(const char *program) {
    char *own = search_path_of(program);
    char *found = libc_in_list(own, program);
    free(own);
    if (!found)
        found = libc_in_list(getenv("LD_LIBRARY_PATH"), program);
    size_t nr = 0;
    bool is_narrow;
    char *loader = found ? NULL : section_of(program, ".interp", &nr, &is_narrow);
    char *real = loader ? realpath(loader, NULL) : NULL;
    const char *slash = real ? strrchr(real, '/') : NULL;
    if (slash)
        found = libc_in(real, (size_t)(slash - real), program);
    free(loader);
    free(real);
    return found;
}

char *seep_library_too_new(const char *program, const char *library, char **ret_version) {
    *ret_version = NULL;
    char *libc = libc_of(program);
    size_t nr_has = 0, nr_needs = 0;
    bool is_narrow;
    char *has = libc ? section_of(libc, ".dynstr", &nr_has, &is_narrow) : NULL;
    char *needs = section_of(library, ".dynstr", &nr_needs, &is_narrow);
    // Both name versions among their symbols: those that glibc defines, and those that the library needs.
    if (has && needs && memmem(has, nr_has, "GLIBC_2.", strlen("GLIBC_2.")))
        for (size_t at = 0; at < nr_needs && !*ret_version; at += strlen(needs + at) + 1)
            if (strncmp(needs + at, "GLIBC_", strlen("GLIBC_")) == 0 && !has_name(has, nr_has, needs + at))
                *ret_version = strdup(needs + at);
    free(has);
    free(needs);
    if (*ret_version)
        return libc;
    free(libc);
    return NULL;
}
