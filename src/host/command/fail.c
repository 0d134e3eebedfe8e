// SPDX-License-Identifier: BSD-2-Clause
// The one way in which the tool says that something failed.
#include <stdio.h>

#include "command/command.h"
#include "output/format.h"

int seep_command_fail(struct seep_error *error) {
    // What was written so far comes first where both streams go to the same place. A failure here
    // shows again in main's last flush.
    fflush(stdout);
    fputs("seep: ", stderr);
    seep_put_escaped(stderr, error->message);
    if (error->hint) {
        fputs(" (", stderr);
        seep_put_escaped(stderr, error->hint);
        fputs(")", stderr);
    }
    fputs("\n", stderr);
    int status = error->code == SEEP_E_USAGE ? 2 : 1;
    seep_error_destroy(error);
    return status;
}
