// SPDX-License-Identifier: BSD-2-Clause
// Numbers as people read them, see numbers.h.
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/numbers.h"
#include "core/attr.h"

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
        snprintf(number.text, sizeof(number.text), "%.1f%%", part < whole ? SEEP_MIN(share, 99.9) : share);
    return number;
}

struct seep_number seep_format_times(double times) {
    struct seep_number number;
    if (times >= 99.95)
        return seep_format_count(times < 0x1p63 ? (uint64_t)(times + 0.5) : UINT64_MAX);
    snprintf(number.text, sizeof(number.text), "%.1f", times);
    return number;
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
