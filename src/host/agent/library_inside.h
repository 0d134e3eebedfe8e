// SPDX-License-Identifier: BSD-2-Clause
//
// libseep.so, which the agent has inside: written to a folder of its own when a program is started, because
// the loader of the program, and of those that it executes, wants a file. Where there is no folder that code
// may be loaded from, it is a memory file of this process.
#ifndef SEEP_AGENT_LIBRARY_INSIDE_H
#define SEEP_AGENT_LIBRARY_INSIDE_H

// Takes away what seep_library_find() wrote, unless somebody may still execute programs with it.
void seep_library_inside_remove(void);
const char *seep_library_inside_folder(void); // NULL: there is none

#endif
