// SPDX-License-Identifier: BSD-2-Clause
//
// The reader of untrusted files: answers the questions of untrusted_symbols.h in a worker without rights, by
// symbols of its own whose files the tool opens for it. Proof: tests/unit/test_untrusted_symbols.c,
// tests/fuzz/fuzz_untrusted.c.
#ifndef SEEP_NAMES_UNTRUSTED_READER_H
#define SEEP_NAMES_UNTRUSTED_READER_H

#include "confine/worker.h"
#include "names/symbols.h"

struct seep_untrusted_server;

// `options` as for the symbols of the tool; the paths in them are taken as they are.
SEEP_MUST_CHECK struct seep_error *seep_untrusted_server_create(const struct seep_symbols_options *options,
                                                                struct seep_untrusted_server **ret_server);
void seep_untrusted_server_destroy(struct seep_untrusted_server *server); // takes NULL

// A seep_worker_serve_function; the context is the server.
bool seep_untrusted_serve(void *context, struct seep_worker_end *end, struct seep_take *question, int file,
                          struct seep_put *answer);

#endif
