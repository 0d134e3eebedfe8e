// SPDX-License-Identifier: BSD-2-Clause
// Lines of /proc/PID/maps, see map_line.h.
#include <string.h>

#include "base/map_line.h"

// Steps over a number and the character behind it. false: there is none, or another character follows.
static bool take_hex(const char **at, char behind, uint64_t *ret_value) {
    const char *from = *at;
    uint64_t value = 0;
    for (;; (*at)++) {
        char digit = **at;
        if (digit >= '0' && digit <= '9')
            value = value << 4 | (uint64_t)(digit - '0');
        else if (digit >= 'a' && digit <= 'f')
            value = value << 4 | (uint64_t)(digit - 'a' + 10);
        else
            break;
    }
    *ret_value = value;
    return *at != from && *(*at)++ == behind;
}

static bool take_decimal(const char **at, uint64_t *ret_value) {
    const char *from = *at;
    uint64_t value = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++)
        value = value * 10 + (uint64_t)(**at - '0');
    *ret_value = value;
    return *at != from;
}

bool seep_map_line_read(const char *line, struct seep_map_line *ret_line) {
    uint64_t device_major, device_minor;
    struct seep_map_line read = {.start = 0};
    const char *at = line;
    if (!take_hex(&at, '-', &read.start) || !take_hex(&at, ' ', &read.end) || strnlen(at, 5) < 5 ||
        at[4] != ' ')
        return false;
    memcpy(read.rights, at, sizeof(read.rights));
    at += 5;
    if (!take_hex(&at, ' ', &read.file_off) || !take_hex(&at, ':', &device_major) ||
        !take_hex(&at, ' ', &device_minor) || !take_decimal(&at, &read.inode))
        return false;
    read.device_major = (uint32_t)device_major;
    read.device_minor = (uint32_t)device_minor;
    read.path = at + strspn(at, " ");
    *ret_line = read;
    return true;
}
