// SPDX-License-Identifier: BSD-2-Clause
//
// Folders of agents that were killed, see library_inside.h.
#ifndef SEEP_AGENT_STALE_FOLDERS_H
#define SEEP_AGENT_STALE_FOLDERS_H

// What an agent holds while its folder is needed; -1: it cannot be held. Closing it, or the end of the
// process, lets go.
int seep_agent_folder_hold(const char *folder);

// Removes folders of this user in `place` that no agent holds, no process has its library from, and that are
// older than a minute. Links are not followed, and what is another user's is left.
void seep_agent_stale_folders_remove(const char *place);

#endif
