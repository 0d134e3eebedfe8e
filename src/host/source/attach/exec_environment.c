// SPDX-License-Identifier: BSD-2-Clause
// What a process executes a program with, see exec_environment.h.
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// A string ends before a page that is not there, if not before that.
static char *value_at(int memory, uint64_t at) {
    char text[PATH_MAX];
    size_t nr = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    while (nr < sizeof(text)) {
        size_t part = SEEP_MIN(sizeof(text) - nr, page - (size_t)((at + nr) % page));
        ssize_t got = pread(memory, text + nr, part, (off_t)(at + nr));
        if (got <= 0)
            return NULL;
        if (nr == 0 && (got < (ssize_t)strlen(wanted) || strncmp(text, wanted, strlen(wanted)) != 0) &&
            (got >= (ssize_t)strlen(wanted) || strncmp(text, wanted, (size_t)got) != 0))
            return NULL;
        nr += (size_t)got;
        if (memchr(text, 0, nr))
            return strncmp(text, wanted, strlen(wanted)) == 0 ? strdup(text + strlen(wanted)) : NULL;
    }
    return NULL;
}

static char *find_value(int memory, uint64_t environment) {
    char *value = NULL;
    for (unsigned i = 0; i < VARIABLES_MAX && !value; i++) {
        uintptr_t at;
        if (pread(memory, &at, sizeof(at), (off_t)(environment + i * sizeof(at))) != sizeof(at) || !at)
            break;
        value = value_at(memory, at);
    }
    return value;
}

char *seep_exec_library_path(pid_t pid) {
    char name[64];
    uint64_t environment = 0;
    snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
    DIR *threads = opendir(name);
    for (struct dirent *entry; threads && !environment && (entry = readdir(threads));)
        environment = entry->d_name[0] == '.' ? 0 : environment_of(pid, entry->d_name);
    if (threads)
        closedir(threads);
    snprintf(name, sizeof(name), "/proc/%d/mem", (int)pid);
    int memory = environment ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    char *value = memory >= 0 ? find_value(memory, environment) : NULL;
    if (memory >= 0)
        close(memory);
    return value;
}
