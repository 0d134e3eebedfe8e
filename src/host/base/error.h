// SPDX-License-Identifier: BSD-2-Clause
//
// Errors of the host side. A function that can fail returns struct seep_error *; NULL is success.
// The caller owns the error: return it, or destroy it. Only command/ and output/ print errors.
#ifndef SEEP_BASE_ERROR_H
#define SEEP_BASE_ERROR_H

#include "core/attr.h"

enum seep_error_code {
    SEEP_E_USAGE,       // wrong options or arguments: exit status 2
    SEEP_E_IO,          // the system refused: errno is in the message
    SEEP_E_NOT_FOUND,   // no such file, process, section
    SEEP_E_PERMISSION,  // a right is missing
    SEEP_E_FORMAT,      // input that is damaged, cut, or lies
    SEEP_E_VERSION,     // input of another version
    SEEP_E_UNSUPPORTED, // this build or machine cannot
    SEEP_E_MEMORY,      // out of memory
};

struct seep_error {
    enum seep_error_code code;
    int sys_errno; // 0 when no system call failed
    char *message; // one line, no full stop, names the thing at fault
    char *hint;    // one line: what to do next; may be NULL
};

// Never returns NULL: when memory is out it returns a static error that destroy leaves alone.
SEEP_MUST_CHECK SEEP_PRINTF(2, 3) struct seep_error *seep_error_create(enum seep_error_code code,
                                                                       const char *format, ...);

// Takes errno's code from `sys_errno`: EACCES and EPERM give SEEP_E_PERMISSION, ENOENT and ESRCH
// SEEP_E_NOT_FOUND, ENOMEM SEEP_E_MEMORY, others SEEP_E_IO. Appends ": <strerror>". EFBIG has
// its hint from the start, which names the limit of file sizes (ulimit -f) if one is set.
SEEP_MUST_CHECK SEEP_PRINTF(2, 3) struct seep_error *seep_error_system(int sys_errno, const char *format,
                                                                       ...);

// Static, see seep_error_create.
SEEP_MUST_CHECK struct seep_error *seep_error_no_memory(void);

// Adds or replaces the hint, but not the one of EFBIG; returns `error`, so that it can stand in a return.
SEEP_MUST_CHECK SEEP_PRINTF(2, 3) struct seep_error *seep_error_hint(struct seep_error *error,
                                                                     const char *format, ...);

// Puts "<prefix>: " before the message; returns `error`.
SEEP_MUST_CHECK SEEP_PRINTF(2, 3) struct seep_error *seep_error_prefix(struct seep_error *error,
                                                                       const char *format, ...);

void seep_error_destroy(struct seep_error *error); // takes NULL

#endif
