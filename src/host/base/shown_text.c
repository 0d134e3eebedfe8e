// SPDX-License-Identifier: BSD-2-Clause
// Foreign text for eyes and for shells, see shown_text.h.
#include <stdlib.h>
#include <string.h>

#include "base/shown_text.h"

// Source: the Unicode Standard, table 3-7 (well-formed UTF-8 byte sequences).
unsigned seep_utf8_next(const char *text, uint32_t *ret_code) {
    const unsigned char *b = (const unsigned char *)text;
    if (b[0] < 0x80) {
        *ret_code = b[0];
        return 1;
    }
    unsigned length = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
    if (b[0] < 0xc2 || b[0] > 0xf4)
        return 0;
    uint32_t code = b[0] & (0xffu >> (length + 1));
    for (unsigned i = 1; i < length; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0; // also at the NUL
        code = code << 6 | (b[i] & 0x3fu);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *ret_code = code;
    return length;
}

bool seep_is_deceiving(uint32_t code) {
    return (code >= 0x7f && code < 0xa0) || code == 0x00ad || code == 0x061c ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
           (code >= 0xe0000 && code <= 0xe0fff);
}

unsigned seep_shown_next(const char *text) {
    uint32_t code = 0;
    unsigned length = seep_utf8_next(text, &code);
    return code < 0x20 || seep_is_deceiving(code) ? 0 : length;
}

// How much of the beginning is printable ASCII: most texts as a whole.
static size_t plain_bytes(const char *text) {
    const char *at = text;
    while (*at >= 0x20 && *at < 0x7f)
        at++;
    return (size_t)(at - text);
}

void seep_put_escaped(FILE *out, const char *text) {
    while (*text) {
        size_t plain = plain_bytes(text);
        if (plain) {
            fwrite(text, 1, plain, out);
            text += plain;
            continue;
        }
        uint32_t code = 0;
        unsigned length = seep_utf8_next(text, &code);
        unsigned char byte = (unsigned char)*text;
        if (length == 0) {
            fprintf(out, "\\x%02x", byte);
            length = 1;
        } else if (byte == '\n' || byte == '\t' || byte == '\r') {
            fprintf(out, "\\%c", byte == '\n' ? 'n' : byte == '\t' ? 't' : 'r');
        } else if (code < 0x20 || code == 0x7f) {
            fprintf(out, "\\x%02x", byte);
        } else if (seep_is_deceiving(code)) {
            fprintf(out, "\\u{%04x}", (unsigned)code);
        } else {
            fwrite(text, 1, length, out);
        }
        text += length;
    }
}

char *seep_escape(const char *text) {
    if (!text[plain_bytes(text)])
        return strdup(text);
    char *result = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&result, &size);
    if (!out)
        return NULL;
    seep_put_escaped(out, text);
    if (fclose(out) != 0) {
        free(result);
        return NULL;
    }
    return result;
}

void seep_put_shell_word(FILE *out, const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:+=@%";
    if (*text && *text != '-' && text[strspn(text, plain)] == 0) {
        fputs(text, out);
        return;
    }
    char *shown = seep_escape(text);
    fputc('\'', out);
    for (const char *at = shown; at && *at; at++) {
        if (*at == '\'')
            fputs("'\\''", out);
        else
            fputc(*at, out);
    }
    fputc('\'', out);
    free(shown);
}

char *seep_shell_operand(const char *name) {
    char *path = NULL, *word = NULL;
    size_t nr_bytes;
    if (asprintf(&path, "%s%s", *name == '-' ? "./" : "", name) < 0)
        return NULL;
    FILE *out = open_memstream(&word, &nr_bytes);
    if (out)
        seep_put_shell_word(out, path);
    free(path);
    if (!out || fclose(out) != 0) {
        free(word);
        return NULL;
    }
    return word;
}

struct seep_error *seep_shell_hint(struct seep_error *error, const char *before, const char *operand,
                                   const char *after) {
    char *word = seep_shell_operand(operand);
    error = word ? seep_error_hint(error, "%s %s%s", before, word, after) : error;
    free(word);
    return error;
}
