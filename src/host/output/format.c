// SPDX-License-Identifier: BSD-2-Clause
// Numbers and foreign text as people read them, see format.h.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "output/format.h"

struct seep_number seep_format_count(uint64_t value) {
    char digits[24];
    int nr = snprintf(digits, sizeof(digits), "%" PRIu64, value);
    struct seep_number number = {.text = ""};
    char *out = number.text;
    for (int i = 0; i < nr; i++) {
        if (i && (nr - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = 0;
    return number;
}

struct seep_number seep_format_signed(int64_t value) {
    if (value >= 0)
        return seep_format_count((uint64_t)value);
    struct seep_number inner = seep_format_count(-(uint64_t)value);
    struct seep_number number;
    snprintf(number.text, sizeof(number.text), "-%.30s", inner.text);
    return number;
}

struct seep_number seep_format_bytes(uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct seep_number number;
    if (bytes < 1024) {
        snprintf(number.text, sizeof(number.text), "%" PRIu64 " B", bytes);
        return number;
    }
    double value = (double)bytes;
    size_t unit = 0;
    // 1023.95 would print as "1024": go on to the next unit before that.
    while (value >= 999.5 && unit + 1 < SEEP_ARRAY_SIZE(units)) {
        value /= 1024;
        unit++;
    }
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(number.text, sizeof(number.text), "%.*f %s", decimals, value, units[unit]);
    return number;
}

struct seep_number seep_format_share(uint64_t part, uint64_t whole) {
    struct seep_number number;
    double share = whole ? 100.0 * (double)part / (double)whole : 0;
    if (!whole)
        snprintf(number.text, sizeof(number.text), "-");
    else if (part && share < 0.05)
        snprintf(number.text, sizeof(number.text), "<0.1%%");
    else
        snprintf(number.text, sizeof(number.text), "%.1f%%", share);
    return number;
}

double seep_sample_error_percent(uint64_t nr_samples) {
    return nr_samples ? 100.0 / sqrt((double)nr_samples) : 100.0;
}

struct seep_number seep_format_duration(int64_t ns) {
    struct seep_number number;
    double s = (double)ns / 1e9;
    if (ns <= 0)
        snprintf(number.text, sizeof(number.text), "0 s");
    else if (s < 1e-3)
        snprintf(number.text, sizeof(number.text), "%.0f us", s * 1e6);
    else if (s < 1)
        snprintf(number.text, sizeof(number.text), "%.0f ms", s * 1e3);
    else if (s < 100)
        snprintf(number.text, sizeof(number.text), "%.2f s", s);
    else if (s < 6000)
        snprintf(number.text, sizeof(number.text), "%d min %02d s", (int)(s / 60), (int)s % 60);
    else
        snprintf(number.text, sizeof(number.text), "%" PRId64 " h %02d min", (int64_t)(s / 3600),
                 (int)((int64_t)(s / 60) % 60));
    return number;
}

struct seep_number seep_format_time(int64_t realtime_ns) {
    struct seep_number number;
    int64_t ms = realtime_ns / 1000000;
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    char date[24];
    if (realtime_ns < 0 || !gmtime_r(&seconds, &utc) ||
        !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc))
        snprintf(number.text, sizeof(number.text), "unknown");
    else
        snprintf(number.text, sizeof(number.text), "%s.%03dZ", date, (int)(ms % 1000));
    return number;
}

// ---- text ----

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

// Characters that change how the text around them is shown, or show nothing themselves.
static bool is_deceiving(uint32_t code) {
    return (code >= 0x80 && code < 0xa0) || code == 0x00ad || code == 0x061c ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
           (code >= 0xe0000 && code <= 0xe0fff);
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
        } else if (is_deceiving(code)) {
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

size_t seep_text_width(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

struct seep_error *seep_stream_check(FILE *out, const char *what) {
    bool failed = ferror(out) != 0;
    errno = 0;
    failed |= fflush(out) != 0;
    int why = errno;
    if (!failed)
        return NULL;
    if (!why) {
        // An earlier write failed and its reason is gone. What is there is broken anyway: one more
        // byte asks the system again.
        clearerr(out);
        if (putc('\n', out) == EOF || fflush(out) != 0)
            why = errno;
    }
    return why ? seep_error_system(why, "cannot write %s", what)
               : seep_error_create(SEEP_E_IO, "cannot write %s", what);
}

// ---- terminal ----

struct seep_style seep_style_of(FILE *out) {
    struct seep_style style = {false, 0};
    int fd = fileno(out);
    if (fd < 0 || !isatty(fd))
        return style;
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    style.colour = !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
    struct winsize window;
    if (ioctl(fd, TIOCGWINSZ, &window) == 0)
        style.width = window.ws_col;
    return style;
}

const char *seep_style_bold(const struct seep_style *style) {
    return style->colour ? "\033[1m" : "";
}

const char *seep_style_dim(const struct seep_style *style) {
    return style->colour ? "\033[2m" : "";
}

const char *seep_style_warn(const struct seep_style *style) {
    return style->colour ? "\033[33m" : "";
}

const char *seep_style_off(const struct seep_style *style) {
    return style->colour ? "\033[0m" : "";
}
