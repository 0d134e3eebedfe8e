// SPDX-License-Identifier: BSD-2-Clause
// The page as one file, see page_file.h.
#include <string.h>

#include "page/page_file.h"
#include "page/page_template.h"

// Where the data goes. The page has each of them once, in this order.
static const char *const places[] = {"@seep-sites@", "@seep-times@"};

const char *seep_page_template(size_t *ret_nr_bytes) {
    *ret_nr_bytes = sizeof(seep_page_html) - 1;
    return seep_page_html;
}

// Source: RFC 4648, section 4.
static void put_base64(FILE *out, const unsigned char *bytes, size_t nr_bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[4096 * 4];
    size_t nr = 0;
    for (size_t i = 0; i < nr_bytes; i += 3) {
        uint32_t word = (uint32_t)bytes[i] << 16;
        word |= i + 1 < nr_bytes ? (uint32_t)bytes[i + 1] << 8 : 0;
        word |= i + 2 < nr_bytes ? bytes[i + 2] : 0;
        text[nr++] = digits[word >> 18];
        text[nr++] = digits[word >> 12 & 63];
        text[nr++] = i + 1 < nr_bytes ? digits[word >> 6 & 63] : '=';
        text[nr++] = i + 2 < nr_bytes ? digits[word & 63] : '=';
        if (nr == sizeof(text)) {
            fwrite(text, 1, nr, out);
            nr = 0;
        }
    }
    fwrite(text, 1, nr, out);
}

struct seep_error *seep_page_write(FILE *out, const struct seep_page_source *source) {
    struct seep_page_packed packed = {0};
    const struct seep_page_column *parts[] = {&packed.sites, &packed.times};
    size_t nr_left;
    const char *left = seep_page_template(&nr_left);
    struct seep_page_source data = *source;
    data.max_bytes -= SEEP_MIN(data.max_bytes, nr_left);
    struct seep_error *error = seep_page_data(&data, &packed);
    for (size_t i = 0; !error && i < SEEP_ARRAY_SIZE(places); i++) {
        const char *place = memmem(left, nr_left, places[i], strlen(places[i]));
        if (!place) {
            error = seep_error_create(SEEP_E_FORMAT, "the page of this build has no %s", places[i]);
            break;
        }
        fwrite(left, 1, (size_t)(place - left), out);
        nr_left -= (size_t)(place - left) + strlen(places[i]);
        left = place + strlen(places[i]);
        put_base64(out, parts[i]->put.bytes, parts[i]->put.used);
    }
    if (!error)
        fwrite(left, 1, nr_left, out);
    seep_page_packed_deinit(&packed);
    return error;
}
