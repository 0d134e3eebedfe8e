// SPDX-License-Identifier: BSD-2-Clause
// Reads what gzip has packed, as it comes.
#ifndef SEEP_BASE_GUNZIP_H
#define SEEP_BASE_GUNZIP_H

#include "core/attr.h"

struct seep_gunzip;

// The fd stays the caller's. false: out of memory.
SEEP_MUST_CHECK bool seep_gunzip_create(int fd, struct seep_gunzip **ret_gunzip);
void seep_gunzip_destroy(struct seep_gunzip *gunzip); // takes NULL
// At most `room` bytes; *ret_nr 0: the end. false: it is damaged, or was cut.
SEEP_MUST_CHECK bool seep_gunzip_read(struct seep_gunzip *gunzip, void *ret_bytes, size_t room,
                                      size_t *ret_nr);

#endif
