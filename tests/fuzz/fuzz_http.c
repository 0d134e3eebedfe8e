// SPDX-License-Identifier: BSD-2-Clause
//
// The head of an HTTP request of any bytes. Besides not crashing: a request that is whole has a path, and no text
// of it holds a control character; what is whole stays so when more follows, and is not whole before its end.
#include <stdlib.h>
#include <string.h>

#include "http/http_request.h"
#include "fuzz.h"

static void check_text(const char *text, size_t room) {
    MUST(memchr(text, 0, room));
    for (; *text; text++)
        MUST(*text >= 0x20 && *text < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seep_http_request request, longer;
    // A copy of its own size: a byte too far is found.
    char *bytes = malloc(size + 1);
    if (!bytes)
        return 0;
    if (size)
        memcpy(bytes, data, size);
    enum seep_http_head head = seep_http_read(bytes, size, &request);
    if (head == SEEP_HTTP_WHOLE) {
        check_text(request.method, sizeof(request.method));
        check_text(request.path, sizeof(request.path));
        check_text(request.host, sizeof(request.host));
        check_text(request.origin, sizeof(request.origin));
        check_text(request.authorization, sizeof(request.authorization));
        MUST(request.path[0] == '/');
        MUST(!seep_http_has_token(&request, ""));
        seep_http_has_token(&request, "0123456789abcdef0123456789abcdef");
        if (seep_http_is_for(&request, "10.0.0.1", 8080))
            MUST(strstr(request.host, ":8080"));
        bytes[size] = 'x';
        MUST(seep_http_read(bytes, size + 1, &longer) == SEEP_HTTP_WHOLE);
        MUST(strcmp(longer.path, request.path) == 0);
    }
    MUST(head != SEEP_HTTP_LARGE || size >= SEEP_HTTP_HEAD_BYTES);
    MUST(head != SEEP_HTTP_MORE || size < SEEP_HTTP_HEAD_BYTES);
    free(bytes);
    return 0;
}
