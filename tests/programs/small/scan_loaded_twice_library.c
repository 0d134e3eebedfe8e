// SPDX-License-Identifier: BSD-2-Clause
// A library with zeroed data: see scan_loaded_twice.c.

void *library_held[4096];
