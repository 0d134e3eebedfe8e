// SPDX-License-Identifier: BSD-2-Clause
// The one way in which the tool says that something failed.
#include <stdio.h>

#include "command/command.h"
#include "output/format.h"
#include "output/wrap.h"

int seep_command_fail(struct seep_error *error) {
    // What was written so far comes first where both streams go to the same place. A failure here
    // shows again in main's last flush.
    fflush(stdout);
    struct seep_style style = seep_style_of(stderr);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, stderr, &style);
    fputs("seep: ", out);
    seep_put_escaped(out, error->message);
    if (error->hint) {
        fputs(" (", out);
        seep_put_escaped(out, error->hint);
        fputs(")", out);
    }
    fputs("\n", out);
    seep_wrap_done(&wrap);
    int status = error->code == SEEP_E_USAGE ? 2 : 1;
    seep_error_destroy(error);
    return status;
}
