// SPDX-License-Identifier: BSD-2-Clause
//
// Our own folders in places where other users can also make folders.
#ifndef SEEP_BASE_OWN_FOLDER_H
#define SEEP_BASE_OWN_FOLDER_H

#include <stdbool.h>

// Whether no other user can exchange a folder that we make in `place`: root or this user owns `place`, and it
// is sticky or closed to other writers. (The owner of a sticky folder may remove everything in it.)
bool seep_place_is_safe(const char *place);

// Whether `name` in the folder `place` (a descriptor) is a folder of ours. Another user may have mounted a
// file system there that never answers, so the status of a mount is not asked for.
bool seep_is_own_folder(int place, const char *name);

#endif
