// SPDX-License-Identifier: BSD-2-Clause
//
// A client on standard input and output, as of ssh. When such a line breaks, the next one starts a new
// process. So a separate server answers both, at a socket that only this user can open. It stays for a minute
// without clients, and a client that returns gets what came since.
#ifndef SEEP_SERVER_SERVER_STDIO_H
#define SEEP_SERVER_SERVER_STDIO_H

#include "live/live.h"

// Passes bytes on until one side has ended. *ret_done false: there is no server behind, and none could be
// started: the caller serves the client itself.
SEEP_MUST_CHECK struct seep_error *seep_server_stdio_run(const struct seep_live_source *source,
                                                         bool *ret_done);

#endif
