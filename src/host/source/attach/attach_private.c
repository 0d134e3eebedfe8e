// SPDX-License-Identifier: BSD-2-Clause
//
// Copies of the files that get probes (those with an allocator, and the loader), for a program that we start
// and all that it starts. Their probes are for all processes that use the copy, so children are traced from
// their first instruction, and no other process is. A file that cannot be copied is probed where it is: then
// the others that use it get slower, and under an emulator as Valgrind they end at the breakpoint.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "confine/opener.h"
#include "source/attach/private_file.h"
#include "source/attach/attach_parts.h"

// The copy is in memory; of bigger files, which have debug information in them, there is none.
#define COPY_BYTES_MAX (64 << 20)

#define INTERPRETER_BYTES_MAX 4096

// As the kernel's: so many bytes of a script are looked at, and so many scripts may lead from one to another.
#define SCRIPT_LINE_BYTES 256
#define SCRIPTS_MAX       5

// "": it is no script.
static void read_script(int fd, char ret_interpreter[INTERPRETER_BYTES_MAX]) {
    char line[SCRIPT_LINE_BYTES + 1];
    ssize_t nr = pread(fd, line, SCRIPT_LINE_BYTES, 0);
    *ret_interpreter = 0;
    if (nr < 2 || memcmp(line, "#!", 2) != 0)
        return;
    line[nr] = 0;
    const char *path = line + 2 + strspn(line + 2, " \t");
    snprintf(ret_interpreter, INTERPRETER_BYTES_MAX, "%.*s", (int)strcspn(path, " \t\n"), path);
}

// *ret_interpreter: the loader that the program names, or the program that the script names; "": none.
static bool gets_probes(struct seep_attached *attached, int fd, const char *name,
                        char ret_interpreter[INTERPRETER_BYTES_MAX]) {
    struct seep_object_contents contents;
    const struct seep_object_question question = {.fd = fd, .name = name, .prefix = attached->options.prefix};
    const char *trouble;
    *ret_interpreter = 0;
    struct seep_error *err = seep_object_read(&attached->reader, &question, &contents, &trouble);
    if (err || trouble) {
        seep_error_destroy(err);
        read_script(fd, ret_interpreter);
        return false;
    }
    const struct seep_elf_file *elf = &contents.elf;
    for (uint32_t i = 0; i < elf->nr_segments; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_INTERP && segment->p_filesz && segment->p_filesz <= INTERPRETER_BYTES_MAX &&
            seep_elf_read(elf, segment->p_offset, ret_interpreter, segment->p_filesz))
            ret_interpreter[segment->p_filesz - 1] = 0;
    }
    const struct seep_probe_places *places = contents.allocator.places;
    enum seep_probe_kind kind =
        attached->options.source == SEEP_SOURCE_OTEL ? SEEP_PROBE_OTEL_ALLOC : SEEP_PROBE_ALLOC;
    bool gets = places[kind].nr != 0 || places[SEEP_PROBE_MODULES].nr != 0;
    seep_object_contents_deinit(&contents);
    return gets;
}

// true: for the first time.
static bool remember(struct seep_attached *attached, const char *path) {
    for (size_t i = 0; i < attached->nr_private_paths; i++)
        if (strcmp(attached->private_paths[i], path) == 0)
            return false;
    char *copy = strdup(path);
    if (!copy || !seep_grow(&attached->private_paths, &attached->private_paths_capacity,
                            attached->nr_private_paths + 1, sizeof(*attached->private_paths))) {
        free(copy);
        return false;
    }
    attached->private_paths[attached->nr_private_paths++] = copy;
    return true;
}

static void copy_file(struct seep_attached *attached, pid_t pid, const char *path,
                      char ret_interpreter[INTERPRETER_BYTES_MAX]) {
    char seen[8192], real[4096];
    *ret_interpreter = 0;
    snprintf(seen, sizeof(seen), "/proc/%d/%s/%s", (int)seep_live_thread(pid), *path == '/' ? "root" : "cwd",
             path);
    int fd = seep_open_regular(-1, seen);
    struct stat status;
    if (fd < 0)
        return;
    if (seep_is_handle(fd)) {
        close(fd);
        return;
    }
    snprintf(seen, sizeof(seen), "/proc/self/fd/%d", fd);
    ssize_t nr = readlink(seen, real, sizeof(real) - 1);
    real[nr > 0 ? nr : 0] = 0;
    if (nr > 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= COPY_BYTES_MAX &&
        gets_probes(attached, fd, real, ret_interpreter) && remember(attached, real))
        seep_private_copy(pid, real);
    close(fd);
}

void seep_attach_opens(void *context, pid_t pid, const char *path) {
    char interpreters[2][INTERPRETER_BYTES_MAX];
    // The kernel opens these, not the program: for a script its interpreter, for a program its loader.
    for (unsigned i = 0; *path && i < SCRIPTS_MAX + 2; i++) {
        copy_file(context, pid, path, interpreters[i % 2]);
        path = interpreters[i % 2];
    }
}
