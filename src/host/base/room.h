// SPDX-License-Identifier: BSD-2-Clause
//
// Room in the address space, for calls of libraries that crash where an allocation of theirs fails.
#ifndef SEEP_BASE_ROOM_H
#define SEEP_BASE_ROOM_H

#include "base/error.h"

// Where a limit is set (ulimit -v, ulimit -d): SEEP_E_MEMORY if less than this is left. A process that may
// not ask for its limits, as the reader of untrusted files, has none.
SEEP_MUST_CHECK struct seep_error *seep_room_check(uint64_t nr_bytes);

#endif
