// SPDX-License-Identifier: BSD-2-Clause
//
// A folder of traces for a browser: what is in it, and one of them by its id. Only regular files that lie in
// the folder itself and are called *.seep; what a request says is compared with the ids of those and never
// becomes a part of a path.
#ifndef SEEP_COMMAND_SERVE_FOLDER_H
#define SEEP_COMMAND_SERVE_FOLDER_H

#include "base/error.h"

#define SEEP_FOLDER_ID_CHARS 16u

// Links are followed.
bool seep_folder_is_one(const char *path);

// {"folder": ..., "traces": [{"id", "name", "bytes", "at_s"}], "left_out": n}, the newest first; the caller
// frees it.
SEEP_MUST_CHECK struct seep_error *seep_folder_list(const char *path, char **ret_text);

struct seep_folder_file {
    int fd;
    char *name;    // malloc'ed, as it is in the folder
    char path[32]; // that leads to what is open, whatever happens to the name
};

// SEEP_E_NOT_FOUND: none has the id (SEEP_FOLDER_ID_CHARS of it).
SEEP_MUST_CHECK struct seep_error *seep_folder_open(const char *path, const char *id,
                                                    struct seep_folder_file *ret_file);
void seep_folder_file_deinit(struct seep_folder_file *file); // of zeros with fd -1, too

#endif
