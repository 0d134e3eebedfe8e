// SPDX-License-Identifier: BSD-2-Clause
//
// Packs zstd frames for files and links. pack_zstd.c uses libzstd; the agent, which has no room for that,
// uses agent/pack_small.c.
#ifndef SEEP_BASE_PACK_H
#define SEEP_BASE_PACK_H

#include <stddef.h>

#include "core/attr.h"

enum seep_pack_effort { SEEP_PACK_FAST = 1, SEEP_PACK_WELL = 3 }; // levels of zstd

struct seep_packer;                                           // what it needs again and again
SEEP_MUST_CHECK struct seep_packer *seep_packer_create(void); // NULL: out of memory
void seep_packer_destroy(struct seep_packer *packer);         // takes NULL

size_t seep_pack_bound(size_t nr); // enough room for a frame of any `nr` bytes
// One frame of `nr` bytes into `room` bytes; returns the bytes of the frame. 0: there is no memory or no room
// for it.
SEEP_MUST_CHECK size_t seep_pack(struct seep_packer *packer, unsigned char *to, size_t room, const void *raw,
                                 size_t nr, enum seep_pack_effort effort);
// One frame whose blocks end where large parts do; `parts` are the ends of the parts.
SEEP_MUST_CHECK size_t seep_pack_parts(struct seep_packer *packer, unsigned char *to, size_t room,
                                       const unsigned char *raw, size_t nr, const size_t *parts,
                                       size_t nr_parts);
// Unpacks frames. false: the result is not exactly `nr` bytes.
SEEP_MUST_CHECK bool seep_unpack(unsigned char *to, size_t nr, const unsigned char *packed, size_t nr_packed);

#endif
