// SPDX-License-Identifier: BSD-2-Clause
//
// The head of an HTTP/1.1 request, from bytes that anybody may have sent. Strict: what is not plainly right
// is wrong. Source: RFC 9112, sections 2 to 5; RFC 9110, section 11.
#ifndef SEEP_HTTP_HTTP_REQUEST_H
#define SEEP_HTTP_HTTP_REQUEST_H

#include "core/attr.h"

#define SEEP_HTTP_HEAD_BYTES 8192u
#define SEEP_HTTP_TEXT_BYTES 512u // of one field that is kept

enum seep_http_head {
    SEEP_HTTP_MORE, // not all of it is here
    SEEP_HTTP_WHOLE,
    SEEP_HTTP_BAD,
    SEEP_HTTP_LARGE,
};

struct seep_http_request {
    char method[16];
    char path[SEEP_HTTP_TEXT_BYTES];   // without the query
    char host[SEEP_HTTP_TEXT_BYTES];   // "": none
    char origin[SEEP_HTTP_TEXT_BYTES]; // "": none
    char authorization[SEEP_HTTP_TEXT_BYTES];
    bool has_body;
};

// *ret_request is whole after SEEP_HTTP_WHOLE alone.
enum seep_http_head seep_http_read(const char *bytes, size_t nr_bytes, struct seep_http_request *ret_request);

// Whether the request has the token: as `Bearer TOKEN`, or as the password of `Basic`. In a time that does
// not depend on how much of it is right.
bool seep_http_has_token(const struct seep_http_request *request, const char *token);

// Whether it was meant for this server: Host is one of its names with the port, and Origin, if there is one,
// is that host. Another page of the browser is not.
bool seep_http_is_for(const struct seep_http_request *request, const char *address, unsigned port);

#endif
