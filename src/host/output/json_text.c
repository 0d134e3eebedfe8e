// SPDX-License-Identifier: BSD-2-Clause
// JSON texts straight to a stream, see json_text.h. (Source: RFC 8259, section 7.)
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "output/json_text.h"

#define ESCAPE_ROOM 13 // two of "\\uNNNN" and a NUL

// Returns the bytes of the escape. (Source: RFC 8259, section 7.)
static size_t put_escape(char *to, uint32_t code) {
    if (code < 0x10000)
        return (size_t)sprintf(to, "\\u%04x", (unsigned)code & 0xffff);
    code -= 0x10000;
    return (size_t)sprintf(to, "\\u%04x\\u%04x", 0xd800 + (unsigned)(code >> 10 & 0x3ff),
                           0xdc00 + (unsigned)(code & 0x3ff));
}

void seep_put_json_text(FILE *out, const char *text) {
    fputc('"', out);
    while (*text) {
        size_t plain = 0;
        while (text[plain] >= 0x20 && text[plain] < 0x7f && text[plain] != '"' && text[plain] != '\\' &&
               text[plain] != '<')
            plain++;
        fwrite(text, 1, plain, out);
        text += plain;
        if (!*text)
            break;
        uint32_t code = 0;
        unsigned length = seep_utf8_next(text, &code);
        if (length == 0) {
            fputs("\\ufffd", out);
            length = 1;
        } else if (code == '"' || code == '\\') {
            fprintf(out, "\\%c", (int)code);
        } else if (code < 0x20 || seep_is_deceiving(code) || (code == '<' && text[1] == '/')) {
            char escape[ESCAPE_ROOM];
            fwrite(escape, 1, put_escape(escape, code), out);
        } else {
            fwrite(text, 1, length, out);
        }
        text += length;
    }
    fputc('"', out);
}

// Bytes of the text from its first deceiving character on, which is counted. 0: it has none.
static size_t deceiving_bytes(const char *text) {
    for (; *text; text++) {
        uint32_t code = 0;
        if ((unsigned char)*text >= 0x7f && seep_utf8_next(text, &code) && seep_is_deceiving(code))
            return strlen(text);
    }
    return 0;
}

char *seep_json_harmless(char *text) {
    size_t rest = text ? deceiving_bytes(text) : 0;
    if (!rest)
        return text;
    size_t nr = strlen(text) - rest;
    char *result = malloc(nr + rest * (ESCAPE_ROOM / 2) + 1);
    if (result) {
        memcpy(result, text, nr);
        for (const char *at = text + nr; *at;) {
            uint32_t code = 0;
            unsigned length = seep_utf8_next(at, &code);
            if (length && seep_is_deceiving(code)) {
                nr += put_escape(result + nr, code);
            } else {
                memcpy(result + nr, at, SEEP_MAX(length, 1u));
                nr += SEEP_MAX(length, 1u);
            }
            at += SEEP_MAX(length, 1u);
        }
        result[nr] = 0;
    }
    free(text);
    return result;
}
