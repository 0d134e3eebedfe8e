// SPDX-License-Identifier: BSD-2-Clause
// The name of a trace, see trace_name.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/trace_name.h"

struct seep_error *seep_trace_name(const char *pattern, const char *program, uint32_t pid, char **ret_name) {
    const char *slash = strrchr(program, '/');
    const char *name = slash && slash[1] ? slash + 1 : program;
    char *text = NULL;
    size_t nr_bytes = 0;
    FILE *out = open_memstream(&text, &nr_bytes);
    if (!out)
        return seep_error_no_memory();
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
    if (fclose(out)) {
        free(text);
        return seep_error_no_memory();
    }
    *ret_name = text;
    return NULL;
}
