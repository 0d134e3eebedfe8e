// SPDX-License-Identifier: BSD-2-Clause
//
// The name of a file in its path.
#ifndef SEEP_BASE_FILE_NAME_H
#define SEEP_BASE_FILE_NAME_H

#include <string.h>

// The text behind the last slash of `path`, within it; all of `path` if it has no slash, or ends with one.
static inline const char *seep_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

#endif
