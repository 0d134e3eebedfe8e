// SPDX-License-Identifier: BSD-2-Clause
// The addresses of a host. resolve.c asks the machine's resolver; the agent, which has none, takes IP
// addresses in digits only (agent/resolve_numbers.c).
#ifndef SEEP_WIRE_RESOLVE_H
#define SEEP_WIRE_RESOLVE_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

#define SEEP_ADDRESSES_MAX 8u

// For connect() and bind().
struct seep_address {
    struct sockaddr_storage name;
    socklen_t bytes;
};

// At least one, at most SEEP_ADDRESSES_MAX.
SEEP_MUST_CHECK struct seep_error *seep_resolve(const char *host, uint16_t port,
                                                struct seep_address ret_found[SEEP_ADDRESSES_MAX],
                                                size_t *ret_nr);

#endif
