// SPDX-License-Identifier: BSD-2-Clause
//
// systemctl as a program that is asked: its arguments, and what it said. It knows where units are, and talks
// to the manager for us.
#ifndef SEEP_SERVICE_SYSTEMCTL_H
#define SEEP_SERVICE_SYSTEMCTL_H

#include "base/error.h"

// Runs `systemctl [--user] ARGUMENTS...`; `arguments` ends with NULL. *ret_output (or NULL: not wanted) is
// malloc'ed and ends with NUL. Errors: SEEP_E_UNSUPPORTED where there is no systemctl or no manager that
// runs; else the first line that it complained in.
SEEP_MUST_CHECK struct seep_error *seep_systemctl(bool user, const char *const *arguments, char **ret_output);

#endif
