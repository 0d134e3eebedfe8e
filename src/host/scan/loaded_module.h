// SPDX-License-Identifier: BSD-2-Clause
//
// A module as the loader mapped it, read from the memory of the process: its file may be out of reach.
#ifndef SEEP_SCAN_LOADED_MODULE_H
#define SEEP_SCAN_LOADED_MODULE_H

#include "profile/profile.h"
#include "scan/memory.h"

// Shape: bias, start, end and build-id of the module whose first mapping is `mapping`; the path is left NULL.
// Errors: false if there is no ELF header, or the file is mapped only to be read. Of other files, such as
// locales, not even the first page is read, because the read would make the kernel allocate it.
// Context: the mappings of `memory` are by address. Allocates nothing.
bool seep_loaded_module_read(const struct seep_memory *memory, const struct seep_memory_area *mapping,
                             struct seep_module *ret_module);

#endif
