// SPDX-License-Identifier: BSD-2-Clause
//
// Looks an address of a process up for seep whois: which block it leads into, who allocated it, who points to
// it; or what else is there.
#ifndef SEEP_SCAN_INSPECT_H
#define SEEP_SCAN_INSPECT_H

#include <sys/types.h>

#include "view/whois.h"
#include "names/symbols.h"

// Scans the process, see scan.h. At most `nr_pointers_max` pointers are named (0: all).
SEEP_MUST_CHECK struct seep_error *seep_whois_process(pid_t pid, uint64_t address, uint64_t nr_pointers_max,
                                                      struct seep_symbols *symbols,
                                                      struct seep_whois **ret_whois);

// What a trace has kept of it: the block with its site, and its class where a scan was saved.
SEEP_MUST_CHECK struct seep_error *seep_whois_profile(const struct seep_profile *profile, uint64_t address,
                                                      struct seep_symbols *symbols,
                                                      struct seep_whois **ret_whois);

#endif
