// SPDX-License-Identifier: BSD-2-Clause
// The name of a trace, see trace_name.h.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"
#include "base/text_copy.h"
#include "command/trace_name.h"
#include "output/format.h"

struct seep_error *seep_trace_name(const char *pattern, const char *program, uint32_t pid, char **ret_name) {
    char *name = seep_name_for_file(program), *text = NULL;
    size_t nr_bytes = 0;
    FILE *out = name ? open_memstream(&text, &nr_bytes) : NULL;
    if (!out) {
        free(name);
        return seep_error_no_memory();
    }
    for (const char *at = pattern; *at; at++) {
        char what = at[0] == '%' ? at[1] : 0;
        if (what == 'e')
            fputs(name, out);
        else if (what == 'p')
            fprintf(out, "%u", pid);
        else
            fputc(*at, out);
        at += what == 'e' || what == 'p' || what == '%';
    }
    free(name);
    if (fclose(out)) {
        free(text);
        return seep_error_no_memory();
    }
    *ret_name = text;
    return NULL;
}

// Makes a file where `output` is to be, and drops it: rights alone do not tell of a /proc, or of a full file
// system.
static struct seep_error *try_folder(const char *folder, const char *output) {
    struct seep_new_file file;
    int fd = seep_new_file_create(output, 0600, &file);
    if (fd < 0)
        return seep_error_system(errno, "%s: cannot save the trace there", folder);
    // Some file systems make a file without a name, and give it none later.
    bool can = seep_new_file_give_name(&file, fd);
    int trouble = errno;
    close(fd);
    seep_new_file_forget(&file, false);
    return can ? NULL : seep_error_system(trouble, "%s: cannot save the trace there", folder);
}

char *seep_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? seep_text_copy(path, (size_t)SEEP_MAX(slash - path, (ptrdiff_t)1)) : strdup(".");
}

struct seep_error *seep_trace_place_check(const char *output) {
    struct stat status;
    if (strcmp(output, "-") == 0)
        return isatty(STDOUT_FILENO)
                   ? seep_error_create(SEEP_E_USAGE, "a trace cannot be written to a terminal")
                   : NULL;
    bool exists = stat(output, &status) == 0;
    if (exists && S_ISDIR(status.st_mode))
        return seep_error_create(SEEP_E_IO, "%s: is a directory, the trace cannot be saved as it", output);
    if (exists && !S_ISREG(status.st_mode))
        return access(output, W_OK) ? seep_error_system(errno, "%s: cannot save the trace there", output)
                                    : NULL;
    if (!exists && lstat(output, &status) == 0 && S_ISLNK(status.st_mode))
        return seep_error_create(SEEP_E_IO, "%s: a symbolic link to nothing, the trace cannot be saved there",
                                 output);
    char *real = realpath(output, NULL); // a link stays, and its file is replaced
    char *folder = seep_folder_of(real ? real : output);
    struct seep_error *err = folder ? NULL : seep_error_no_memory();
    if (!err && !strchr(folder, '%'))
        err = try_folder(folder, real ? real : output);
    free(folder);
    free(real);
    return err;
}
