// SPDX-License-Identifier: BSD-2-Clause
// By the resolver of the machine, see resolve.h.
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "wire/resolve.h"

struct seep_error *seep_resolve(const char *host, uint16_t port,
                                struct seep_address ret_found[SEEP_ADDRESSES_MAX], size_t *ret_nr) {
    char digits[8];
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    snprintf(digits, sizeof(digits), "%u", (unsigned)port);
    int trouble = getaddrinfo(host, digits, &hints, &found);
    if (trouble)
        return seep_error_create(SEEP_E_NOT_FOUND, "%s: %s", host, gai_strerror(trouble));
    *ret_nr = 0;
    for (const struct addrinfo *at = found; at && *ret_nr < SEEP_ADDRESSES_MAX; at = at->ai_next) {
        struct seep_address *address = &ret_found[(*ret_nr)++];
        address->bytes = at->ai_addrlen;
        memcpy(&address->name, at->ai_addr, at->ai_addrlen);
    }
    freeaddrinfo(found);
    return NULL;
}
