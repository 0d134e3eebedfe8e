// SPDX-License-Identifier: BSD-2-Clause
// Finding an allocator's library, see allocator.h. It is looked at, never loaded: it is for the program.
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/read_at.h"
#include "source/run/allocator.h"

#if defined(__aarch64__)
#define SCUDO_CPU "aarch64"
#else
#define SCUDO_CPU "x86_64"
#endif

// The names of the same library, best first.
static const struct {
    const char *name;
    const char *files[5]; // within the usual places, or from / on
    const char *package;  // Debian's
} known[] = {
    {"glibc", {"libc.so.6"}, "libc6"},
    {"jemalloc", {"libjemalloc.so.2", "libjemalloc.so"}, "libjemalloc2"},
    {"mimalloc",
     {"libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so"},
     "libmimalloc2.0"},
    {"tcmalloc",
     {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4", "libtcmalloc_minimal.so", "libtcmalloc.so"},
     "libtcmalloc-minimal4"},
    {"scudo",
     {"libscudo.so", "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.scudo_standalone-" SCUDO_CPU ".so"},
     "libclang-rt-14-dev"},
};
#define KNOWN_NAMES "glibc, jemalloc, mimalloc, tcmalloc, scudo"

// ---- what kind of file it is ----------------------------------------------------------------------

struct library {
    int fd;
    ElfW(Ehdr) header;
};

static bool read_section(const struct library *library, uint64_t index, ElfW(Shdr) * ret_section) {
    return index < library->header.e_shnum && library->header.e_shentsize == sizeof(*ret_section) &&
           seep_read_at(library->fd, library->header.e_shoff + index * sizeof(*ret_section), ret_section,
                        sizeof(*ret_section));
}

// Which of malloc (1) and free (2) a table of symbols defines.
static unsigned defined_in(const struct library *library, const ElfW(Shdr) * table) {
    ElfW(Shdr) names;
    if (!read_section(library, table->sh_link, &names))
        return 0;
    unsigned found = 0;
    for (uint64_t at = 0; at + sizeof(ElfW(Sym)) <= table->sh_size && found != 3; at += sizeof(ElfW(Sym))) {
        ElfW(Sym) symbol;
        char name[8] = "";
        if (!seep_read_at(library->fd, table->sh_offset + at, &symbol, sizeof(symbol)))
            break;
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.sh_size ||
            pread(library->fd, name, sizeof(name) - 1, (off_t)(names.sh_offset + symbol.st_name)) < 5)
            continue;
        found |= strcmp(name, "malloc") == 0 ? 1u : strncmp(name, "free", 5) == 0 ? 2u : 0u;
    }
    return found;
}

static bool is_for_this_machine(const ElfW(Ehdr) * header) {
    ElfW(Ehdr) own;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool read = fd >= 0 && seep_read_at(fd, 0, &own, sizeof(own));
    if (fd >= 0)
        close(fd);
    return read && header->e_ident[EI_CLASS] == own.e_ident[EI_CLASS] &&
           header->e_ident[EI_DATA] == own.e_ident[EI_DATA] && header->e_machine == own.e_machine;
}

static const char *trouble_with(const struct library *library) {
    if (memcmp(library->header.e_ident, ELFMAG, SELFMAG) != 0 || library->header.e_type != ET_DYN)
        return "is no shared library";
    if (!is_for_this_machine(&library->header))
        return "is made for another processor or word size";
    unsigned found = 0;
    for (unsigned i = 0; i < library->header.e_shnum; i++) {
        ElfW(Shdr) section;
        if (read_section(library, i, &section) && section.sh_type == SHT_DYNSYM)
            found |= defined_in(library, &section);
    }
    return found == 3 ? NULL : "is no allocator: it does not define malloc and free";
}

static struct seep_error *check(const char *path, char **ret_path) {
    struct library library = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (library.fd < 0)
        return seep_error_hint(seep_error_system(errno, "--allocator: cannot read '%s'", path),
                               "nothing was started; name a library, or one of " KNOWN_NAMES);
    if (!seep_read_at(library.fd, 0, &library.header, sizeof(library.header)))
        memset(&library.header, 0, sizeof(library.header));
    const char *trouble = trouble_with(&library);
    close(library.fd);
    if (trouble)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--allocator: '%s' %s", path, trouble),
                               "nothing was started; name a library, or one of " KNOWN_NAMES);
    char *real = realpath(path, NULL);
    if (!real)
        return seep_error_system(errno, "--allocator: '%s'", path);
    // ld.so separates LD_PRELOAD at these.
    if (strpbrk(real, " :")) {
        struct seep_error *err = seep_error_create(
            SEEP_E_UNSUPPORTED, "--allocator: cannot preload '%s': its path has a space or a colon", real);
        free(real);
        return seep_error_hint(err, "copy it elsewhere");
    }
    *ret_path = real;
    return NULL;
}

// ---- where it is ----------------------------------------------------------------------------------

// `folder`/`file` into *ret_found (malloc'ed) when it is there; `file` may have a *.
static bool is_in_folder(const char *folder, size_t length, const char *file, char **ret_found) {
    char pattern[PATH_MAX];
    if (!length || snprintf(pattern, sizeof(pattern), "%.*s/%s", (int)length, folder, file) >= PATH_MAX)
        return false;
    glob_t found;
    if (glob(pattern, 0, NULL, &found) == 0) {
        *ret_found = strdup(found.gl_pathv[0]);
        globfree(&found);
    }
    return *ret_found != NULL;
}

// As the loader: LD_LIBRARY_PATH, then where the C library is, then the usual places.
static char *search(const char *file) {
    char *found = NULL;
    if (file[0] == '/') {
        is_in_folder("/", 1, file + 1, &found);
        return found;
    }
    const char *folders = getenv("LD_LIBRARY_PATH");
    while (folders && *folders && !found) {
        size_t length = strcspn(folders, ":");
        is_in_folder(folders, length, file, &found);
        folders += length + (folders[length] == ':');
    }
    Dl_info libc;
    void *function = dlsym(RTLD_DEFAULT, "malloc_usable_size");
    if (!found && function && dladdr(function, &libc) && strrchr(libc.dli_fname, '/'))
        is_in_folder(libc.dli_fname, (size_t)(strrchr(libc.dli_fname, '/') - libc.dli_fname), file, &found);
    static const char *const usual[] = {"/usr/local/lib",
                                        "/usr/lib/x86_64-linux-gnu",
                                        "/usr/lib/aarch64-linux-gnu",
                                        "/usr/lib64",
                                        "/lib64",
                                        "/usr/lib",
                                        "/lib"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(usual) && !found; i++)
        is_in_folder(usual[i], strlen(usual[i]), file, &found);
    return found;
}

static struct seep_error *not_found(const char *name, const char *package) {
    struct seep_error *err =
        seep_error_create(SEEP_E_NOT_FOUND, "--allocator: no library of '%s' is installed", name);
    if (package)
        return seep_error_hint(
            err, "nothing was started; Debian's package is %s, or give the path of the library", package);
    return seep_error_hint(err,
                           "nothing was started; give the path of the library, or one of next, " KNOWN_NAMES);
}

struct seep_error *seep_allocator_find(const char *name, char **ret_path) {
    char *found = NULL;
    const char *package = NULL;
    *ret_path = NULL;
    if (strcmp(name, "next") == 0)
        return NULL;
    if (strchr(name, '/'))
        return check(name, ret_path);
    bool is_known = false;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(known); i++) {
        if (strcmp(name, known[i].name) != 0)
            continue;
        is_known = true;
        package = known[i].package;
        for (size_t file = 0; file < SEEP_ARRAY_SIZE(known[i].files) && known[i].files[file] && !found;
             file++)
            found = search(known[i].files[file]);
    }
    static const struct {
        const char *before;
        const char *after;
    } forms[] = {{"lib", ".so"}, {"lib", ".so.*"}, {"", ""}};
    for (size_t i = 0; !is_known && *name && i < SEEP_ARRAY_SIZE(forms) && !found; i++) {
        char file[NAME_MAX + 1];
        const char *star = strpbrk(name, "*?[");
        if (!star && (size_t)snprintf(file, sizeof(file), "%s%s%s", forms[i].before, name, forms[i].after) <
                         sizeof(file))
            found = search(file);
    }
    if (!found)
        return not_found(name, package);
    struct seep_error *err = check(found, ret_path);
    free(found);
    return err;
}
