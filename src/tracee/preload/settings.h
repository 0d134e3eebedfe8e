// SPDX-License-Identifier: BSD-2-Clause
//
// Settings of the environment (SEEP_*). They are ignored in a program with rights that its user does not
// have.
#ifndef SEEP_PRELOAD_SETTINGS_H
#define SEEP_PRELOAD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

// The kernel gave this program rights that its user does not have.
bool seep_gained_rights(void);
// The value, within the environment; NULL: not set, or to be ignored.
const char *seep_setting(const char *name);
// A decimal number from `least` to `most`. `fallback` if it is not set or empty, or if it is no such number;
// then *ret_bad is set. *ret_bad is never cleared.
uint32_t seep_setting_number(const char *name, uint32_t fallback, uint32_t least, uint32_t most,
                             bool *ret_bad);
// Prints one line on standard error, unless a write would block or fail.
void seep_setting_complain(const char *name, const char *expected);

#endif
