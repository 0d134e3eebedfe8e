// SPDX-License-Identifier: BSD-2-Clause
// Round steps, see ticks.h.
#include <inttypes.h>
#include <stdio.h>

#include "core/attr.h"
#include "plot/ticks.h"

#define MS     1e6
#define SECOND 1e9
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

double seep_tick_bytes(double most, unsigned nr) {
    double step = 1;
    while (step * nr < most)
        step *= 2;
    return step;
}

// 1, 2, 5, 10, ...
static double tick_count(double most, unsigned nr) {
    static const double parts[] = {1, 2, 5};
    double decade = 1;
    for (;; decade *= 10)
        for (size_t i = 0; i < SEEP_ARRAY_SIZE(parts); i++)
            if (decade * parts[i] * nr >= most)
                return decade * parts[i];
}

double seep_tick_ns(double most, unsigned nr) {
    static const double steps[] = {SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
                                   MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
                                   HOUR,   2 * HOUR,   3 * HOUR,   6 * HOUR,    12 * HOUR,   DAY};
    if (most <= SECOND * nr)
        return tick_count(most, nr);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(steps); i++)
        if (steps[i] * nr >= most)
            return steps[i];
    return DAY * tick_count(most / DAY, nr);
}

// The two biggest units that are not 0.
struct seep_number seep_tick_time(int64_t ns) {
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = {{(int64_t)DAY, "d"},
                 {(int64_t)HOUR, "h"},
                 {(int64_t)MINUTE, "min"},
                 {(int64_t)SECOND, "s"},
                 {(int64_t)MS, "ms"},
                 {1000, "µs"},
                 {1, "ns"}};
    struct seep_number number = {"0"};
    size_t used = 0;
    unsigned nr = 0;
    for (size_t i = 0; ns > 0 && nr < 2 && i < SEEP_ARRAY_SIZE(units); i++) {
        if (ns < units[i].ns)
            continue;
        used += (size_t)snprintf(number.text + used, sizeof(number.text) - used, "%s%" PRId64 " %s",
                                 nr ? " " : "", ns / units[i].ns, units[i].name);
        ns %= units[i].ns;
        nr++;
    }
    return number;
}
