// SPDX-License-Identifier: BSD-2-Clause
// Finding and looking at a program, see program.h.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file_name.h"
#include "process/elf_file.h"
#include "source/run/library_fit.h"
#include "source/run/program.h"

#define INTERPRETERS_MAX 4 // as the kernel: a script may name a script, and so on

void seep_program_deinit(struct seep_program *program) {
    free(program->path);
    free(program->interpreter);
    free(program->why_untraced);
    free(program->library);
    *program = (struct seep_program){NULL};
}

// 0 when `path` is a file that may be executed, else an errno.
static int executable(const char *path) {
    struct stat status;
    if (stat(path, &status))
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) ? errno : 0;
}

static struct seep_error *not_executable(const char *name, int trouble, int *ret_status) {
    *ret_status = trouble == ENOENT || trouble == ENOTDIR ? SEEP_EXIT_NOT_FOUND : SEEP_EXIT_NOT_EXECUTABLE;
    struct seep_error *err = seep_error_system(trouble, "cannot run '%s'", name);
    if (trouble == EACCES)
        return seep_error_hint(err, "is it a program? 'chmod +x' makes a file executable");
    if (*ret_status == SEEP_EXIT_NOT_FOUND)
        return seep_error_hint(err, "no file has this path: check its spelling");
    if (trouble == EISDIR)
        return seep_error_hint(err, "name a program in this folder");
    return err;
}

static struct seep_error *search_path(const char *name, struct seep_program *ret_program, int *ret_status) {
    const char *folders = getenv("PATH");
    char found[PATH_MAX];
    int trouble = ENOENT;
    for (const char *at = folders ? folders : "/bin:/usr/bin"; at;) {
        const char *end = strchrnul(at, ':');
        int length = (int)(end - at);
        int wrote = length ? snprintf(found, sizeof(found), "%.*s/%s", length, at, name)
                           : snprintf(found, sizeof(found), "./%s", name);
        int state = wrote < (int)sizeof(found) ? executable(found) : ENAMETOOLONG;
        if (!state) {
            ret_program->path = strdup(found);
            return ret_program->path ? NULL : seep_error_no_memory();
        }
        if (state == EACCES)
            trouble = EACCES;
        at = *end ? end + 1 : NULL;
    }
    if (trouble == EACCES)
        return not_executable(name, trouble, ret_status);
    *ret_status = SEEP_EXIT_NOT_FOUND;
    return seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "cannot run '%s': not found in PATH", name),
                           "give its path, for example ./%s", name);
}

struct seep_error *seep_program_find(const char *name, struct seep_program *ret_program, int *ret_status) {
    struct seep_program program = {NULL};
    struct seep_error *err = NULL;
    *ret_status = SEEP_EXIT_NOT_FOUND;
    if (!*name) {
        err = seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "cannot run '': the name is empty"),
                              "is a variable of the shell unset? name a program behind '--'");
    } else if (!strchr(name, '/')) {
        err = search_path(name, &program, ret_status);
    } else {
        int trouble = executable(name);
        if (trouble)
            return not_executable(name, trouble, ret_status);
        program.path = strdup(name);
        err = program.path ? NULL : seep_error_no_memory();
    }
    if (!err)
        *ret_program = program;
    return err;
}

// ---- what kind of file it is ----------------------------------------------------------------------

struct elf_facts {
    bool is_elf;
    unsigned char ident[EI_NIDENT];
    uint16_t machine;
    bool has_interpreter;
    bool has_dynamic;
};

static bool read_exactly(int fd, void *ret_bytes, size_t nr, uint64_t off) {
    return off <= INT64_MAX && pread(fd, ret_bytes, nr, (off_t)off) == (ssize_t)nr;
}

// One program header, of either class; other byte orders are not ours to load into anyway.
static bool read_segment(int fd, bool wide, uint64_t off, uint32_t *ret_type, uint64_t *ret_off,
                         uint64_t *ret_size) {
    if (wide) {
        Elf64_Phdr segment;
        if (!read_exactly(fd, &segment, sizeof(segment), off))
            return false;
        *ret_type = segment.p_type;
        *ret_off = segment.p_offset;
        *ret_size = segment.p_filesz;
        return true;
    }
    Elf32_Phdr segment;
    if (!read_exactly(fd, &segment, sizeof(segment), off))
        return false;
    *ret_type = segment.p_type;
    *ret_off = segment.p_offset;
    *ret_size = segment.p_filesz;
    return true;
}

static void read_elf(int fd, struct elf_facts *ret_facts) {
    union {
        unsigned char ident[EI_NIDENT];
        Elf32_Ehdr narrow;
        Elf64_Ehdr wide;
    } header = {.ident = {0}};
    if (pread(fd, &header, sizeof(header), 0) < (ssize_t)sizeof(header.narrow) ||
        memcmp(header.ident, ELFMAG, SELFMAG) != 0)
        return;
    bool wide = header.ident[EI_CLASS] == ELFCLASS64;
    ret_facts->is_elf = true;
    memcpy(ret_facts->ident, header.ident, sizeof(header.ident));
    ret_facts->machine = header.wide.e_machine; // at the same place in both classes
    uint64_t at = wide ? header.wide.e_phoff : header.narrow.e_phoff;
    unsigned nr = wide ? header.wide.e_phnum : header.narrow.e_phnum;
    size_t step = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    for (unsigned i = 0; i < nr && i < 128; i++, at += step) {
        uint32_t type;
        uint64_t off;
        uint64_t size;
        if (at > (uint64_t)INT64_MAX - step || !read_segment(fd, wide, at, &type, &off, &size))
            return;
        ret_facts->has_dynamic |= type == PT_DYNAMIC;
        ret_facts->has_interpreter |= type == PT_INTERP;
    }
}

static struct elf_facts facts_of(const char *path) {
    struct elf_facts facts = {.is_elf = false};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0) {
        read_elf(fd, &facts);
        close(fd);
    }
    return facts;
}

// The interpreter that a #! line names; NULL: there is none. malloc'ed.
static char *script_interpreter(const char *path) {
    char line[PATH_MAX + 2] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    ssize_t got = pread(fd, line, sizeof(line) - 1, 0);
    close(fd);
    if (got < 2 || line[0] != '#' || line[1] != '!')
        return NULL;
    char *start = line + 2 + strspn(line + 2, " \t");
    start[strcspn(start, " \t\n")] = 0;
    return *start ? strdup(start) : NULL;
}

// Whether running the file changes rights, so that the loader ignores LD_PRELOAD.
static bool raises_rights(const struct seep_program *program, const char *path) {
    uid_t uid = program->as_other ? program->uid : getuid();
    gid_t gid = program->as_other ? program->gid : getgid();
    struct stat status;
    if (stat(path, &status))
        return false;
    if ((status.st_mode & S_ISUID) && status.st_uid != uid)
        return true;
    if ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status.st_gid != gid)
        return true;
    return uid != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static bool same_machine(const struct elf_facts *a, const struct elf_facts *b) {
    return a->machine == b->machine && a->ident[EI_CLASS] == b->ident[EI_CLASS] &&
           a->ident[EI_DATA] == b->ident[EI_DATA];
}

static bool is_go(const char *path) {
    struct seep_elf_file elf;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct seep_error *err = fd < 0 ? NULL : seep_elf_any_init(fd, path, &elf);
    bool is = fd >= 0 && !err && seep_elf_section(&elf, ".go.buildinfo");
    if (fd >= 0 && !err)
        seep_elf_file_deinit(&elf);
    seep_error_destroy(err);
    if (fd >= 0)
        close(fd);
    return is;
}

// Without it 'seep attach' has no place for its probes.
static bool has_symbols(const char *path) {
    struct seep_elf_file elf;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct seep_error *err = fd < 0 ? NULL : seep_elf_any_init(fd, path, &elf);
    bool has = fd >= 0 && !err && (seep_elf_section(&elf, ".symtab") || seep_elf_section(&elf, ".dynsym"));
    if (fd >= 0 && !err)
        seep_elf_file_deinit(&elf);
    seep_error_destroy(err);
    if (fd >= 0)
        close(fd);
    return has;
}

static bool has_text(const unsigned char *texts, uint64_t nr_bytes, const char *text) {
    return memmem(texts, nr_bytes, text, strlen(text));
}

// The sanitizers whose runtimes keep libseep.so out: that of AddressSanitizer wants to be loaded first, and
// the other two end a program that has memory outside their ranges, so libseep.so does nothing beside them.
enum sanitizer { NO_SANITIZER, ADDRESS, THREAD, MEMORY };

// AddressSanitizer counts for none where its runtime is a library and the user has told it to bear with
// others before it. Preloaded all the same, that one ends the program, and one within it has the calls.
static enum sanitizer sanitizer_of(const char *path) {
    struct seep_elf_file elf;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct seep_error *err = fd < 0 ? NULL : seep_elf_any_init(fd, path, &elf);
    enum sanitizer sanitizer = NO_SANITIZER;
    if (fd >= 0 && !err) {
        const char *settings = getenv("ASAN_OPTIONS");
        const Elf64_Shdr *section = seep_elf_section(&elf, ".dynstr");
        unsigned char *texts = section ? seep_elf_read_section(&elf, section) : NULL;
        uint64_t nr_bytes = section ? section->sh_size : 0;
        bool told = settings && strstr(settings, "verify_asan_link_order=0");
        if (!texts)
            ; // nothing is linked
        else if (has_text(texts, nr_bytes, "__tsan_init"))
            sanitizer = THREAD;
        else if (has_text(texts, nr_bytes, "__msan_init"))
            sanitizer = MEMORY;
        else if (has_text(texts, nr_bytes, "__asan_init") &&
                 !(told && (has_text(texts, nr_bytes, "libasan.so") ||
                            has_text(texts, nr_bytes, "libclang_rt.asan"))))
            sanitizer = ADDRESS;
        free(texts);
        seep_elf_file_deinit(&elf);
    }
    seep_error_destroy(err);
    if (fd >= 0)
        close(fd);
    return sanitizer;
}

// By what programs are called for which this machine has a library of its own.
static const char *name_of_machine(const struct elf_facts *facts) {
    return facts->machine == EM_386 && facts->ident[EI_CLASS] == ELFCLASS32 ? SEEP_LIBRARY_OF_32_BITS : NULL;
}

char *seep_library_of_others(const char *library, const char *machine) {
    const char *name = strrchr(library, '/');
    char *path = NULL;
    if (!name || asprintf(&path, "%.*s/%s%s", (int)(name - library), library, machine, name) < 0)
        return NULL;
    if (access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

// An emulator of qemu-user for the library's CPU ("qemu-s390x"), on a machine with another CPU. It passes the
// library on to its program.
static bool is_emulator_for(const char *path, const struct elf_facts *facts,
                            const struct elf_facts *library) {
    const char *name = seep_file_name(path);
    return facts->is_elf && library->is_elf && !same_machine(facts, library) &&
           strncmp(name, "qemu-", 5) == 0;
}

static const char *trouble_with(struct seep_program *program, const char *path, const struct elf_facts *facts,
                                const struct elf_facts *library) {
    if (!facts->is_elf)
        return NULL;
    if (library->is_elf && !same_machine(facts, library)) {
        program->cannot_preload = true;
        return name_of_machine(facts)
                   ? "is a 32-bit program, for which this build has no libseep.so: see 'seep info'"
                   : "is made for another processor or word size than libseep.so";
    }
    if (!facts->has_interpreter && is_go(path))
        return "is a static binary of Go, whose heap is not made by malloc: use its own profiles "
               "(runtime/pprof)";
    if (!facts->has_interpreter && !has_symbols(path))
        return "is a static binary without symbols: libseep.so cannot be loaded into it, and probes find no "
               "malloc in "
               "it: link it without -s, or with the shared C library";
    if (!facts->has_interpreter && !facts->has_dynamic)
        return "is a static binary: libseep.so cannot be loaded into it; 'seep attach' traces it by probes";
    if (!facts->has_interpreter)
        return "is a static binary (or the loader itself): libseep.so cannot be loaded into it; 'seep "
               "attach' "
               "traces it by probes";
    if (raises_rights(program, path))
        return "is set-user-ID, set-group-ID or has file capabilities: the loader ignores LD_PRELOAD for it";
    switch (sanitizer_of(path)) {
    case ADDRESS:
        program->cannot_preload = true;
        return "is built with AddressSanitizer, whose heap is its own and whose runtime wants to be loaded "
               "first: build it without -fsanitize=address";
    case THREAD:
        return "is built with ThreadSanitizer, whose runtime ends a program that has seep's memory: build it "
               "without -fsanitize=thread";
    case MEMORY:
        return "is built with MemorySanitizer, whose runtime ends a program that has seep's memory: build it "
               "without -fsanitize=memory";
    case NO_SANITIZER:
        break;
    }
    return NULL;
}

struct seep_error *seep_program_inspect(struct seep_program *program, const char *library) {
    struct elf_facts library_facts = facts_of(library);
    char *path = strdup(program->path);
    for (int i = 0; path && i < INTERPRETERS_MAX; i++) {
        char *interpreter = script_interpreter(path);
        if (!interpreter)
            break;
        free(path);
        path = interpreter;
        if (!program->interpreter)
            program->interpreter = strdup(interpreter);
    }
    if (!path)
        return seep_error_no_memory();
    struct elf_facts facts = facts_of(path);
    const char *machine = facts.is_elf && library_facts.is_elf && !same_machine(&facts, &library_facts)
                              ? name_of_machine(&facts)
                              : NULL;
    if (machine && !program->library)
        program->library = seep_library_of_others(library, machine);
    if (program->library) {
        library = program->library;
        library_facts = facts_of(library);
    }
    program->is_emulator = is_emulator_for(path, &facts, &library_facts);
    const char *trouble = program->is_emulator ? NULL : trouble_with(program, path, &facts, &library_facts);
    bool fits = true;
    char *version = NULL;
    char *libc = trouble || program->is_emulator || !facts.is_elf
                     ? NULL
                     : seep_library_too_new(path, library, &version);
    if (trouble)
        fits = asprintf(&program->why_untraced, "%s %s", path, trouble) >= 0;
    else if (libc)
        fits = asprintf(&program->why_untraced,
                        "%s has a C library (%s) without %s, which libseep.so needs: 'seep attach' traces it "
                        "by probes",
                        path, libc, version) >= 0;
    program->cannot_preload |= libc != NULL;
    free(libc);
    free(version);
    free(path);
    if (fits)
        return NULL;
    program->why_untraced = NULL;
    return seep_error_no_memory();
}

struct seep_error *seep_program_exec_error(const struct seep_program *program, int sys_errno,
                                           int *ret_status) {
    *ret_status = SEEP_EXIT_NOT_EXECUTABLE;
    if (sys_errno == ENOEXEC && (program->cannot_preload || facts_of(program->path).is_elf))
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "cannot run '%s': it is made for another processor",
                              program->path),
            "run it by qemu-user, with SEEP_LIBRARY naming the libseep.so of that processor");
    if (sys_errno == ENOEXEC)
        return seep_error_hint(
            seep_error_create(SEEP_E_FORMAT, "cannot run '%s': not a program", program->path),
            "a script needs a first line such as #!/bin/sh");
    if (sys_errno == ENOENT && program->interpreter)
        return seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND,
                                                 "cannot run '%s': its interpreter '%s' does not exist",
                                                 program->path, program->interpreter),
                               "install it, or change the first line of the file");
    if (sys_errno == ENOENT)
        return seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND,
                                                 "cannot run '%s': it or the loader it names does not exist",
                                                 program->path),
                               "'readelf -l %s' names the loader", program->path);
    return seep_error_system(sys_errno, "cannot run '%s'", program->path);
}
