// SPDX-License-Identifier: BSD-2-Clause
//
// Addresses of a server, as a user types them.
#ifndef SEEP_WIRE_WIRE_ADDRESS_H
#define SEEP_WIRE_WIRE_ADDRESS_H

#include "base/error.h"

enum seep_wire_kind {
    SEEP_WIRE_KIND_NONE, // no address
    SEEP_WIRE_KIND_UNIX, // "unix:PATH", or the path of a socket that exists
    SEEP_WIRE_KIND_SSH,  // "ssh://[USER@]HOST[:PORT]/PID"
    SEEP_WIRE_KIND_TCP,  // "tcp:HOST:PORT", which needs the file of a key
    SEEP_WIRE_KIND_EXEC, // "exec:COMMAND", whose standard streams are the link
};

struct seep_wire_address {
    enum seep_wire_kind kind;
    const char *rest; // of the text, without the prefix
    char host[256];   // of ssh, with the user
    char port[8];     // of ssh, or ""
};

// Errors: SEEP_E_USAGE for an address that is not of the form of its kind. Owner: `text` is borrowed.
SEEP_MUST_CHECK struct seep_error *seep_wire_address_parse(const char *text,
                                                           struct seep_wire_address *ret_address);
// The error for a text that is no address, no process and no file. Its hint is the form that the text
// resembles most.
SEEP_MUST_CHECK struct seep_error *seep_wire_address_refuse(const char *text);

#endif
