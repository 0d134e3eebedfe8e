// SPDX-License-Identifier: BSD-2-Clause
//
// Numbers as people read them.
#ifndef SEEP_BASE_NUMBERS_H
#define SEEP_BASE_NUMBERS_H

#include <stdint.h>

// A number as text, with room for all 64-bit ones with separators and a unit. Returned by value: nothing to
// free.
struct seep_number {
    char text[40];
};

struct seep_number seep_format_count(uint64_t value); // "1,234,567"
struct seep_number seep_format_signed(int64_t value); // "-1,234"
struct seep_number seep_format_bytes(uint64_t bytes); // "512 B", "1.5 KiB", "23 MiB": three digits at most
struct seep_number seep_format_share(uint64_t part,
                                     uint64_t whole);     // "12.3%", "<0.1%", "100.0%" only of all; "-" of 0
struct seep_number seep_format_times(double times);       // "12.3", "1,234" from 100 on
struct seep_number seep_format_duration(int64_t ns);      // "1.23 s", "4 min 05 s"
struct seep_number seep_format_time(int64_t realtime_ns); // RFC 3339, UTC, in milliseconds

#endif
