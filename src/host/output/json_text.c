// SPDX-License-Identifier: BSD-2-Clause
// JSON texts straight to a stream, see json_text.h. (Source: RFC 8259, section 7.)
#include "output/format.h"
#include "output/json_text.h"

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
        } else if (code < 0x20 || code == 0x7f || code == 0x2028 || code == 0x2029 ||
                   (code == '<' && text[1] == '/')) {
            fprintf(out, "\\u%04x", (unsigned)code);
        } else {
            fwrite(text, 1, length, out);
        }
        text += length;
    }
    fputc('"', out);
}
