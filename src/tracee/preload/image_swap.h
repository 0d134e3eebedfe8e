// SPDX-License-Identifier: BSD-2-Clause
//
// What the kernel has swapped out of an image. mincore(), by which this library tells data from holes, says
// of such a page what it says of a hole (Source: Linux, mm/mincore.c and filemap_get_incore_folio), and a
// hole must not be read: that makes a page of it. So before pages are asked for, all are brought back.
#ifndef SEEP_PRELOAD_IMAGE_SWAP_H
#define SEEP_PRELOAD_IMAGE_SWAP_H

#include "preload/preload.h"

bool seep_swap_is_used(void); // by anything on this machine

// `image`: ours, our parent's, or one that is about to take its place. true: none of it is swapped out, at
// this moment. false: that cannot be had or is not known: count it as SEEP_LOST_SWAPPED. Where the machine
// has swapped nothing out, one system call; else the walk through the page tables that smaps is.
bool seep_swap_in(const unsigned char *image);

#endif
