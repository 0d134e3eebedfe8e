// SPDX-License-Identifier: BSD-2-Clause
// Errors of the host side, see error.h.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"

static struct seep_error no_memory = {
    .code = SEEP_E_MEMORY,
    .sys_errno = ENOMEM,
    .message = (char *)"out of memory",
};

struct seep_error *seep_error_no_memory(void) {
    return &no_memory;
}

static struct seep_error *make(enum seep_error_code code, int sys_errno, char *message) {
    struct seep_error *error = message ? calloc(1, sizeof(*error)) : NULL;
    if (!error) {
        free(message);
        return &no_memory;
    }
    error->code = code;
    error->sys_errno = sys_errno;
    error->message = message;
    return error;
}

static char *format_list(const char *format, va_list args) {
    char *text = NULL;
    return vasprintf(&text, format, args) < 0 ? NULL : text;
}

struct seep_error *seep_error_create(enum seep_error_code code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *message = format_list(format, args);
    va_end(args);
    return make(code, 0, message);
}

static enum seep_error_code code_of_errno(int sys_errno) {
    switch (sys_errno) {
    case EACCES:
    case EPERM:
        return SEEP_E_PERMISSION;
    case ENOENT:
    case ESRCH:
        return SEEP_E_NOT_FOUND;
    case ENOMEM:
        return SEEP_E_MEMORY;
    default:
        return SEEP_E_IO;
    }
}

// More room on the disk does not help against a limit of file sizes. If there is none, the file system itself
// takes no larger file, and there is no hint.
static void hint_file_limit(struct seep_error *error) {
    struct rlimit limit;
    char higher[40] = "start it in a shell with a higher limit";
    if (error == &no_memory || getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    unsigned long long most = limit.rlim_cur; // dash counts 512 bytes, bash KiB
    bool is_small = most && most < 1024;
    if (limit.rlim_max == RLIM_INFINITY)
        snprintf(higher, sizeof(higher), "ulimit -f unlimited");
    else if (limit.rlim_cur < limit.rlim_max)
        snprintf(higher, sizeof(higher), "ulimit -f $(ulimit -Hf)");
    char files[40];
    snprintf(files, sizeof(files), "%llu %s", is_small ? most : most >> 10, is_small ? "bytes" : "KiB");
    if (asprintf(&error->hint, "files may have %s at most (ulimit -f): %s", files, higher) < 0)
        error->hint = NULL;
}

struct seep_error *seep_error_system(int sys_errno, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *what = format_list(format, args);
    va_end(args);
    char *message = NULL;
    if (what && asprintf(&message, "%s: %s", what, strerror(sys_errno)) < 0)
        message = NULL;
    free(what);
    struct seep_error *error = make(code_of_errno(sys_errno), sys_errno, message);
    if (sys_errno == EFBIG)
        hint_file_limit(error);
    return error;
}

struct seep_error *seep_error_hint(struct seep_error *error, const char *format, ...) {
    if (error == &no_memory || (error->sys_errno == EFBIG && error->hint))
        return error;
    va_list args;
    va_start(args, format);
    char *hint = format_list(format, args);
    va_end(args);
    free(error->hint);
    error->hint = hint;
    return error;
}

struct seep_error *seep_error_prefix(struct seep_error *error, const char *format, ...) {
    if (error == &no_memory)
        return error;
    va_list args;
    va_start(args, format);
    char *prefix = format_list(format, args);
    va_end(args);
    char *message = NULL;
    if (prefix && asprintf(&message, "%s: %s", prefix, error->message) >= 0) {
        free(error->message);
        error->message = message;
    }
    free(prefix);
    return error;
}

void seep_error_destroy(struct seep_error *error) {
    if (!error || error == &no_memory)
        return;
    free(error->message);
    free(error->hint);
    free(error);
}
