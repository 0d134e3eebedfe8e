// SPDX-License-Identifier: BSD-2-Clause
//
// The account of resident memory: what the kernel counts as a process's (Rss), by what it is for.
// Every page of it is in one row, so the rows add up to Rss.
#ifndef SEEP_ANALYSIS_ACCOUNT_H
#define SEEP_ANALYSIS_ACCOUNT_H

#include <sys/types.h>

#include "profile/profile.h"

// Takes the account of the running process whose image `profile` was made of, just now.
SEEP_MUST_CHECK struct seep_error *seep_account_take(struct seep_profile *profile, pid_t pid);

const char *seep_account_name(uint32_t row);  // enum seep_account_row, as in JSON
const char *seep_account_words(uint32_t row); // as people read it

#endif
