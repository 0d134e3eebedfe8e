// SPDX-License-Identifier: BSD-2-Clause
// What is different where the library runs with musl, though it is built for glibc.
#ifndef SEEP_PRELOAD_MUSL_H
#define SEEP_PRELOAD_MUSL_H

#include "preload/preload.h"

// Puts functions in the place of those that call other hooks of ours.
void seep_musl_quiet(struct seep_real *real);

#endif
