// SPDX-License-Identifier: BSD-2-Clause
// Addresses of a network, "HOST:PORT" or "[HOST]:PORT", as both sides of a link take them.
#ifndef SEEP_WIRE_NETWORK_H
#define SEEP_WIRE_NETWORK_H

#include "base/error.h"

struct seep_network_wait {
    bool (*is_over)(void *data); // asked several times a second; true ends the wait
    void *data;
};

// A socket that is bound to the named address and listens, or is connected to it. Never to all addresses
// unless these are named (0.0.0.0, [::]). *ret_port: what it is bound to, where 0 asks for any.
SEEP_MUST_CHECK struct seep_error *seep_network_listen(const char *name, int *ret_fd, unsigned *ret_port);
// A blocking socket, close-on-exec, that is the caller's. Addresses of the name are tried in their order.
SEEP_MUST_CHECK struct seep_error *seep_network_connect(const char *name,
                                                        const struct seep_network_wait *wait, int *ret_fd);
// Small answers are sent at once, and a peer that is not there any more is noticed.
void seep_network_set_patience(int fd);

#endif
