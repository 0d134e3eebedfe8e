// SPDX-License-Identifier: BSD-2-Clause
//
// The agent contains libseep.so. It is written to a new folder when a program is started, because loaders
// need a file. Where there is no folder that code may be loaded from, it is a memory file of this process.
#ifndef SEEP_AGENT_LIBRARY_INSIDE_H
#define SEEP_AGENT_LIBRARY_INSIDE_H

// Removes what seep_library_find() wrote, unless a process may still execute programs with it.
void seep_library_inside_remove(void);
const char *seep_library_inside_folder(void); // NULL: there is none

#endif
