// SPDX-License-Identifier: BSD-2-Clause
//
// Settings of the environment (SEEP_*). Not heeded in a program with rights that its user does not have.
#ifndef SEEP_PRELOAD_SETTINGS_H
#define SEEP_PRELOAD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

// The kernel gave this program rights that its user does not have.
bool seep_gained_rights(void);
// The value, within the environment; NULL: not set, or not ours to heed.
const char *seep_setting(const char *name);
// A decimal number from `least` to `most`. `fallback` where it is not set or empty, and where it is none,
// which *ret_bad says; *ret_bad is not cleared.
uint32_t seep_setting_number(const char *name, uint32_t fallback, uint32_t least, uint32_t most,
                             bool *ret_bad);
// Prints one line on standard error, unless it takes nothing.
void seep_setting_complain(const char *name, const char *expected);

#endif
