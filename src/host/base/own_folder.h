// SPDX-License-Identifier: BSD-2-Clause
//
// Folders in places where other users may make some, too: what is ours there, and whether it stays so.
#ifndef SEEP_BASE_OWN_FOLDER_H
#define SEEP_BASE_OWN_FOLDER_H

#include <stdbool.h>

// Whether a folder that we make in `place` stays ours there: it is root's or this user's, and others who may
// write to it may not take away what is not theirs. (A sticky one of another user is that user's.)
bool seep_place_is_safe(const char *place);

// Whether `name` in the folder `place` (a descriptor) is a folder of ours. Another user may have mounted a
// file system on one of such a name, which never answers: even its status may not be asked for.
bool seep_is_own_folder(int place, const char *name);

#endif
