// SPDX-License-Identifier: BSD-2-Clause
//
// A client on standard input and output, as ssh has it. A line like that breaks, and the next one starts a
// new process: so what answers is a server behind both, at a socket that only this user can open. It stays
// for a minute without clients, and who comes back gets what came since.
#ifndef SEEP_LINK_LINK_LINE_H
#define SEEP_LINK_LINK_LINE_H

#include "live/live.h"

// Passes bytes on until one side has ended. *ret_done false: there is no server behind, and none could be
// made: the client is to be served here.
SEEP_MUST_CHECK struct seep_error *seep_link_line_run(const struct seep_live_source *source, bool *ret_done);

#endif
