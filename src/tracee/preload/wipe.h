// SPDX-License-Identifier: BSD-2-Clause
// Memory is wiped when it is handed out (SEEP_WIPE): see wipe.c.
#ifndef SEEP_PRELOAD_WIPE_H
#define SEEP_PRELOAD_WIPE_H

#include "preload/preload.h"

// From now on the real functions wipe. Once, after they are known and before a hook calls them.
void seep_wipe_start(void);

#endif
