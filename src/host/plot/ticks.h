// SPDX-License-Identifier: BSD-2-Clause
//
// Where the lines of a grid are, and their words: round steps of bytes, counts and times.
#ifndef SEEP_PLOT_TICKS_H
#define SEEP_PLOT_TICKS_H

#include <stddef.h>

#include "base/numbers.h"

// The step of at most `nr` parts that come to `most` or beyond; at least 1.
double seep_tick_bytes(double most, unsigned nr); // powers of two
double seep_tick_ns(double most, unsigned nr);    // as clocks have it

// A time on such a step: "0", "500 ms", "1 min 30 s", "2 h".
struct seep_number seep_tick_time(int64_t ns);

#endif
