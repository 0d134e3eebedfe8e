// SPDX-License-Identifier: BSD-2-Clause
//
// Bytes of a file at an offset, all of them or none; and of a memory file, to be written.
#ifndef SEEP_BASE_READ_AT_H
#define SEEP_BASE_READ_AT_H

#include "core/attr.h"

// false: the file ends before (errno is EIO), the offset is none, or the system refused (errno). What is in
// *ret_bytes is then undefined.
SEEP_MUST_CHECK bool seep_read_at(int fd, uint64_t off, void *ret_bytes, size_t nr_bytes);

// Into a memory file. The limit of file sizes (RLIMIT_FSIZE, ulimit -f) counts there as well, though it is
// for disks: it is lifted for the call where the hard limit allows that. false: not all of it was written.
SEEP_MUST_CHECK bool seep_write_memory_file(int fd, uint64_t off, const void *bytes, size_t nr_bytes);
SEEP_MUST_CHECK bool seep_size_memory_file(int fd, uint64_t nr_bytes); // under the same limit

#endif
