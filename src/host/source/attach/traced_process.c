// SPDX-License-Identifier: BSD-2-Clause
// Who a traced process is, see traced_process.h.
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/live_thread.h"
#include "process/proc_fields.h"
#include "source/attach/traced_process.h"

#define ARGS_BYTES_MAX 65536u

struct seep_error *seep_traced_process_note(struct seep_traced_process *process, enum seep_note_code code,
                                            const char *format, ...) {
    va_list args;
    va_start(args, format);
    struct seep_error *err =
        seep_note_add(&process->heap.arena, &process->notes, &process->nr_notes, code, format, args);
    va_end(args);
    return err;
}

static const char *read_exe(struct seep_traced_process *process) {
    char name[64], path[PATH_MAX];
    snprintf(name, sizeof(name), "/proc/%d/exe", (int)seep_live_thread(process->heap.pid));
    ssize_t nr = readlink(name, path, sizeof(path));
    return seep_arena_strndup(&process->heap.arena, path, nr > 0 ? (size_t)nr : 0);
}

// `text` is in the arena of the process; what has no NUL behind it is left out.
static struct seep_error *set_args(struct seep_traced_process *process, const char *text, size_t nr_bytes) {
    uint32_t nr_args = 0;
    for (size_t i = 0; i < nr_bytes; i++)
        nr_args += text[i] == 0;
    const char **args = seep_arena_alloc(&process->heap.arena, nr_args, sizeof(*args));
    if (!args)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < nr_args; i++) {
        args[i] = text;
        text += strlen(text) + 1;
    }
    process->args = args;
    process->nr_args = nr_args;
    return NULL;
}

static struct seep_error *read_args(struct seep_traced_process *process) {
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/cmdline", (int)seep_live_thread(process->heap.pid));
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    char *text = seep_arena_alloc(&process->heap.arena, ARGS_BYTES_MAX + 1, 1);
    ssize_t nr = fd >= 0 && text ? read(fd, text, ARGS_BYTES_MAX) : 0;
    if (fd >= 0)
        close(fd);
    return text ? set_args(process, text, nr > 0 ? (size_t)nr : 0) : seep_error_no_memory();
}

struct seep_error *seep_traced_process_tell_args(struct seep_traced_process *process, const char *text,
                                                 size_t nr_bytes) {
    char *copy = seep_arena_alloc(&process->heap.arena, nr_bytes, 1);
    if (!copy)
        return seep_error_no_memory();
    memcpy(copy, text, nr_bytes);
    process->args_are_told = true;
    return set_args(process, copy, nr_bytes);
}

static struct seep_error *identify(struct seep_traced_process *process) {
    long parent = seep_status_number(process->heap.pid, 0, "PPid:");
    process->ppid = parent > 0 ? (uint32_t)parent : 0;
    process->exe = read_exe(process);
    return process->exe ? read_args(process) : seep_error_no_memory();
}

struct seep_error *seep_traced_process_create(pid_t pid, struct seep_traced_process **ret_process) {
    struct seep_traced_process *process = calloc(1, sizeof(*process));
    if (!process)
        return seep_error_no_memory();
    struct seep_error *err = seep_heap_init(pid, &process->heap);
    if (!err)
        err = identify(process);
    if (err) {
        seep_traced_process_destroy(process);
        return err;
    }
    process->read_ns = seep_monotonic_ns();
    process->start_realtime_ns = seep_clock_ns(CLOCK_REALTIME);
    *ret_process = process;
    return NULL;
}

void seep_traced_process_destroy(struct seep_traced_process *process) {
    if (!process)
        return;
    seep_heap_deinit(&process->heap);
    if (process->code) {
        free(process->code->mappings);
        free(process->code->lasting);
    }
    free(process->code);
    free(process->rest);
    free(process);
}
