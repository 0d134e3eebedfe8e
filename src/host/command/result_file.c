// SPDX-License-Identifier: BSD-2-Clause
// See result_file.h.
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/result_file.h"

void seep_result_drop(const char *path) {
    struct stat status;
    char *real = realpath(path, NULL); // a link stays
    if (real && stat(real, &status) == 0 && S_ISREG(status.st_mode))
        unlink(real);
    free(real);
}

struct seep_error *seep_result_close(FILE *out, const char *path, const char *what, const char *hint) {
    errno = 0;
    bool failed = fflush(out) != 0 || ferror(out) != 0;
    if (failed && !errno) { // it was an earlier write, and why is forgotten: another one tells
        clearerr(out);
        fputc('\n', out);
        fflush(out);
    }
    int trouble = errno;
    failed |= fclose(out) != 0;
    if (!failed)
        return NULL;
    trouble = trouble ? trouble : errno;
    seep_result_drop(path);
    return seep_error_hint(seep_error_system(trouble ? trouble : EIO, "%s: cannot write %s", path, what),
                           "%s", hint);
}
