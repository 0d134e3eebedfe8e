// SPDX-License-Identifier: BSD-2-Clause
//
// What a client on a slow link sees first: a session of the sites that have most, and of one for all others,
// so that its totals are those of the whole.
#ifndef SEEP_SERVER_TOP_SITES_H
#define SEEP_SERVER_TOP_SITES_H

#include "live/look_images.h"

#define SEEP_SERVER_TOP_MOST 1000u

// Of each process the `nr` sites with most live bytes. *ret_top owns all that is in it.
SEEP_MUST_CHECK struct seep_error *seep_server_top_make(const struct seep_images *images, uint32_t nr,
                                                        struct seep_session **ret_top);

#endif
