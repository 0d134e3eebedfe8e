// SPDX-License-Identifier: BSD-2-Clause
// What a process executes a program with, see exec_environment.h.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/text_copy.h"
#include "confine/opener.h"
#include "core/attr.h"
#include "source/attach/exec_environment.h"

#define VARIABLES_MAX 4096u

static const char wanted[] = "LD_LIBRARY_PATH=";

// Where the thread's call of execve or execveat has the environment; 0: it makes another call.
static uint64_t environment_of(pid_t pid, const char *tid) {
    char name[300];
    long number = -1;
    uint64_t arguments[4] = {0};
    snprintf(name, sizeof(name), "/proc/%d/task/%s/syscall", (int)pid, tid);
    FILE *file = fopen(name, "re");
    if (!file)
        return 0;
    bool known = fscanf(file, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &number, &arguments[0],
                        &arguments[1], &arguments[2], &arguments[3]) == 5;
    fclose(file);
    return !known ? 0 : number == SYS_execve ? arguments[2] : number == SYS_execveat ? arguments[3] : 0;
}

// ---- memory of the process, read in the opener's process ----

struct memory {
    pid_t tid;
    int pagemap;
    uint64_t page_bytes;
};

// Whether the page is there. Source: Documentation/admin-guide/mm/pagemap.rst of Linux.
static bool is_present(const struct memory *memory, uint64_t address) {
    uint64_t entry;
    return address <= INT64_MAX &&
           pread(memory->pagemap, &entry, sizeof(entry), (off_t)(address / memory->page_bytes * 8)) ==
               sizeof(entry) &&
           entry >> 63;
}

// A page of a file that a user's program serves may never come, and who waits for it cannot even be killed.
// So only pages that are there are read. If one is taken away meanwhile, process_vm_readv waits without a
// lock on the address space; /proc/PID/mem holds it, and then no probe can be taken out of the process.
static bool read_present(const struct memory *memory, uint64_t address, void *ret_bytes, size_t nr_bytes) {
    struct iovec here = {ret_bytes, nr_bytes};
    struct iovec there = {(void *)(uintptr_t)address, nr_bytes}; // NOLINT(performance-no-int-to-ptr)
    return is_present(memory, address) && is_present(memory, address + nr_bytes - 1) &&
           process_vm_readv(memory->tid, &here, 1, &there, 1, 0) == (ssize_t)nr_bytes;
}

// NULL: another variable, or one that cannot be read. It may end right before a page that is not there.
static char *value_at(const struct memory *memory, uint64_t at) {
    char text[PATH_MAX];
    for (size_t nr = 0; nr < sizeof(text);) {
        size_t part =
            SEEP_MIN(sizeof(text) - nr, memory->page_bytes - (size_t)((at + nr) % memory->page_bytes));
        if (!read_present(memory, at + nr, text + nr, part))
            return NULL;
        nr += part;
        if (strncmp(text, wanted, SEEP_MIN(nr, strlen(wanted))) != 0)
            return NULL;
        if (memchr(text, 0, nr))
            return strdup(text + strlen(wanted));
    }
    return NULL;
}

static char *find_value(const struct memory *memory, uint64_t environment) {
    char *value = NULL;
    for (unsigned i = 0; i < VARIABLES_MAX && !value; i++) {
        uintptr_t at;
        if (!read_present(memory, environment + i * sizeof(at), &at, sizeof(at)) || !at)
            break;
        value = value_at(memory, at);
    }
    return value;
}

static char *library_path_of(pid_t pid) {
    char name[300];
    uint64_t environment = 0;
    struct memory memory = {.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
    DIR *threads = opendir(name);
    for (struct dirent *entry; threads && !environment && (entry = readdir(threads));) {
        memory.tid = (pid_t)atoi(entry->d_name);
        environment = memory.tid > 0 ? environment_of(pid, entry->d_name) : 0;
    }
    if (threads)
        closedir(threads);
    snprintf(name, sizeof(name), "/proc/%d/task/%d/pagemap", (int)pid, (int)memory.tid);
    memory.pagemap = environment ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    char *value = memory.pagemap >= 0 ? find_value(&memory, environment) : NULL;
    if (memory.pagemap >= 0)
        close(memory.pagemap);
    return value;
}

static int make_copy(const char *pid) {
    char *value = library_path_of((pid_t)atoi(pid));
    int fd = value ? memfd_create("library-path", MFD_CLOEXEC) : -1;
    if (fd >= 0 && write(fd, value, strlen(value)) != (ssize_t)strlen(value)) {
        close(fd);
        fd = -1;
    }
    if (fd < 0)
        errno = ENOENT;
    free(value);
    return fd;
}

char *seep_exec_library_path(pid_t pid) {
    char words[32], value[PATH_MAX];
    snprintf(words, sizeof(words), "%d", (int)pid);
    int fd = seep_open_made(make_copy, words);
    ssize_t nr = fd >= 0 ? pread(fd, value, sizeof(value), 0) : 0;
    if (fd >= 0)
        close(fd);
    return nr > 0 ? seep_text_copy(value, (size_t)nr) : NULL;
}
