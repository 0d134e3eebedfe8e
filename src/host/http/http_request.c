// SPDX-License-Identifier: BSD-2-Clause
// The head of an HTTP/1.1 request, see http_request.h.
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "http/http_request.h"

static bool copy(char *into, size_t room, const char *from, size_t nr) {
    if (nr >= room)
        return false;
    for (size_t i = 0; i < nr; i++)
        if ((unsigned char)from[i] < 0x20 || (unsigned char)from[i] >= 0x7f)
            return false;
    memcpy(into, from, nr);
    into[nr] = 0;
    return true;
}

static bool read_line(const char *line, size_t nr, struct seep_http_request *request) {
    const char *target = memchr(line, ' ', nr);
    if (!target || !copy(request->method, sizeof(request->method), line, (size_t)(target - line)))
        return false;
    target++;
    size_t left = nr - (size_t)(target - line);
    const char *version = memchr(target, ' ', left);
    if (!version || target[0] != '/')
        return false;
    size_t version_bytes = left - (size_t)(version - target) - 1;
    if (version_bytes != 8 ||
        (memcmp(version + 1, "HTTP/1.1", 8) != 0 && memcmp(version + 1, "HTTP/1.0", 8) != 0))
        return false;
    size_t path_bytes = (size_t)(version - target);
    const char *query = memchr(target, '?', path_bytes);
    return copy(request->path, sizeof(request->path), target, query ? (size_t)(query - target) : path_bytes);
}

static bool is_name(const char *line, size_t nr, const char *name) {
    return nr == strlen(name) && strncasecmp(line, name, nr) == 0;
}

// A field that is given twice is wrong: who looks at the first and who at the last would not agree.
static bool keep(char *into, const char *value, size_t nr) {
    return !into[0] && nr && copy(into, SEEP_HTTP_TEXT_BYTES, value, nr);
}

static bool read_field(const char *line, size_t nr, struct seep_http_request *request) {
    const char *colon = memchr(line, ':', nr);
    if (!colon || colon == line || line[0] == ' ' || line[0] == '\t' || colon[-1] == ' ' || colon[-1] == '\t')
        return false;
    size_t name = (size_t)(colon - line);
    const char *value = colon + 1;
    size_t left = nr - name - 1;
    while (left && (*value == ' ' || *value == '\t'))
        value++, left--;
    while (left && (value[left - 1] == ' ' || value[left - 1] == '\t'))
        left--;
    if (is_name(line, name, "host"))
        return keep(request->host, value, left);
    if (is_name(line, name, "origin"))
        return keep(request->origin, value, left);
    if (is_name(line, name, "authorization"))
        return keep(request->authorization, value, left);
    if (is_name(line, name, "transfer-encoding"))
        request->has_body = true;
    if (is_name(line, name, "content-length") && !(left == 1 && value[0] == '0'))
        request->has_body = true;
    return true;
}

enum seep_http_head seep_http_read(const char *bytes, size_t nr_bytes, struct seep_http_request *request) {
    memset(request, 0, sizeof(*request));
    size_t look = SEEP_MIN(nr_bytes, (size_t)SEEP_HTTP_HEAD_BYTES);
    bool is_first = true;
    for (size_t at = 0; at < look;) {
        const char *end = memchr(bytes + at, '\n', look - at);
        if (!end)
            break;
        size_t nr = (size_t)(end - bytes) - at;
        if (!nr || bytes[at + nr - 1] != '\r' || memchr(bytes + at, 0, nr))
            return SEEP_HTTP_BAD;
        nr--;
        if (!nr)
            return is_first ? SEEP_HTTP_BAD : SEEP_HTTP_WHOLE;
        if (is_first ? !read_line(bytes + at, nr, request) : !read_field(bytes + at, nr, request))
            return SEEP_HTTP_BAD;
        is_first = false;
        at += nr + 2;
    }
    return nr_bytes >= SEEP_HTTP_HEAD_BYTES ? SEEP_HTTP_LARGE : SEEP_HTTP_MORE;
}

// ---- who asks ----

static bool is_token(const char *text, size_t nr, const char *token) {
    size_t wanted = strlen(token);
    unsigned different = nr != wanted;
    for (size_t i = 0; i < wanted; i++)
        different |= (unsigned char)((i < nr ? text[i] : 0) ^ token[i]);
    return !different && wanted;
}

// Source: RFC 4648, section 4. What is no digit ends it.
static size_t from_base64(const char *text, char *out, size_t room) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t nr = 0;
    uint32_t bits = 0;
    unsigned nr_bits = 0;
    for (; *text; text++) {
        const char *digit = memchr(digits, *text, 64);
        if (!digit)
            break;
        bits = bits << 6 | (uint32_t)(digit - digits);
        nr_bits += 6;
        if (nr_bits < 8)
            continue;
        nr_bits -= 8;
        if (nr < room)
            out[nr++] = (char)(bits >> nr_bits);
    }
    return nr;
}

bool seep_http_has_token(const struct seep_http_request *request, const char *token) {
    const char *text = request->authorization;
    if (strncasecmp(text, "Bearer ", 7) == 0)
        return is_token(text + 7, strlen(text + 7), token);
    if (strncasecmp(text, "Basic ", 6) != 0)
        return false;
    char pair[SEEP_HTTP_TEXT_BYTES];
    size_t nr = from_base64(text + 6, pair, sizeof(pair));
    const char *colon = memchr(pair, ':', nr);
    return colon && is_token(colon + 1, nr - (size_t)(colon + 1 - pair), token);
}

bool seep_http_is_for(const struct seep_http_request *request, const char *address, unsigned port) {
    const char *const names[] = {"127.0.0.1", "localhost", "[::1]", address};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++) {
        char host[SEEP_HTTP_TEXT_BYTES], origin[SEEP_HTTP_TEXT_BYTES];
        snprintf(host, sizeof(host), "%.255s:%u", names[i], port);
        snprintf(origin, sizeof(origin), "http://%.255s:%u", names[i], port);
        if (strcasecmp(request->host, host) == 0)
            return !request->origin[0] || strcasecmp(request->origin, origin) == 0;
    }
    return false;
}
