// SPDX-License-Identifier: BSD-2-Clause
//
// Reads a program that is about to be executed, and its libraries, while the program waits (exec_gate.h), so
// its unwind tables are there before its first call. See attach_parts.h.
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "confine/opener.h"
#include "process/process_map.h"
#include "source/attach/attach_parts.h"
#include "source/attach/exec_environment.h"
#include "source/attach/exec_gate.h"
#include "source/attach/needed_files.h"

#define TAKEN_MAX 16u // before events are taken again

struct look {
    struct seep_attached *attached;
    pid_t pid;
    struct seep_error *err;
    bool is_new; // the file was not known
};

// See docs/attach.md, Limits.
bool seep_attach_is_traced_kind(int fd) {
    Elf64_Ehdr header;
    return pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
           memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           header.e_machine == EM_X86_64;
}

static bool is_known(const struct seep_attached *attached, const struct seep_code_area *area) {
    for (size_t i = 0; i < attached->nr_objects; i++)
        if (attached->objects[i]->device == area->device && attached->objects[i]->inode == area->inode)
            return true;
    return false;
}

// An object that cannot be opened would stay unreadable, also where it is opened in another way later.
static bool can_open(pid_t pid, const struct seep_code_area *area) {
    int fd = seep_code_area_open(pid, area);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void look_at_file(void *context, int fd, const char *path) {
    struct look *look = context;
    char name[64], real[PATH_MAX];
    struct stat status;
    size_t index;
    (void)path; // may have links, which lead the tool to other files
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t nr = readlink(name, real, sizeof(real) - 1);
    real[nr > 0 ? nr : 0] = 0;
    look->is_new = false;
    if (look->err || *real != '/' || fstat(fd, &status) != 0 || !seep_attach_is_traced_kind(fd))
        return;
    struct seep_code_area area = seep_code_area_of_file(&status, real);
    if (is_known(look->attached, &area) || !can_open(look->pid, &area))
        return;
    look->is_new = true;
    look->err = seep_attach_find_object(look->attached, look->pid, &area, &index);
    if (!look->err)
        look->err = seep_attach_probes(look->attached, index, look->pid);
}

static struct seep_error *look_at_program(struct seep_attached *attached,
                                          const struct seep_exec_waiting *waiting) {
    struct look look = {.attached = attached, .pid = waiting->pid};
    char name[SEEP_EXEC_GATE_PATH_BYTES], real[PATH_MAX];
    seep_exec_gate_path(attached->gate, waiting, name);
    int fd = seep_open_regular(-1, name);
    if (fd < 0)
        return NULL;
    ssize_t nr = readlink(name, real, sizeof(real) - 1);
    real[nr > 0 ? nr : 0] = 0;
    if (!seep_is_handle(fd))
        look_at_file(&look, fd, real);
    snprintf(name, sizeof(name), "/proc/%d/root", (int)seep_live_thread(waiting->pid));
    int root = look.is_new ? open(name, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (root >= 0) {
        char *library_path = seep_exec_library_path(waiting->pid);
        seep_needed_files(root, fd, real, library_path, look_at_file, &look);
        free(library_path);
        close(root);
    }
    close(fd);
    return look.err;
}

struct seep_error *seep_attach_look_at_waiting(struct seep_attached *attached) {
    struct seep_error *err = NULL;
    // Not without end: the ring fills while programs are executed one after the other.
    for (unsigned nr = 0; attached->gate && nr < TAKEN_MAX && !err; nr++) {
        struct seep_exec_waiting waiting = seep_exec_gate_take(attached->gate);
        if (!waiting.pid)
            break;
        err = look_at_program(attached, &waiting);
        seep_exec_gate_let_go(attached->gate, &waiting);
        if (err && err->code == SEEP_E_NOT_FOUND) { // what it is about may be gone by now
            seep_error_destroy(err);
            err = NULL;
        }
    }
    return err;
}
