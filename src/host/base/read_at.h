// SPDX-License-Identifier: BSD-2-Clause
//
// Bytes of a file at an offset, all of them or none.
#ifndef SEEP_BASE_READ_AT_H
#define SEEP_BASE_READ_AT_H

#include "core/attr.h"

// false: the file ends before (errno is EIO), the offset is none, or the system refused (errno). What is in
// *ret_bytes is then undefined.
SEEP_MUST_CHECK bool seep_read_at(int fd, uint64_t off, void *ret_bytes, size_t nr_bytes);

#endif
