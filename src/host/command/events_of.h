// SPDX-License-Identifier: BSD-2-Clause
// A file of events as the source of an output.
#ifndef SEEP_COMMAND_EVENTS_OF_H
#define SEEP_COMMAND_EVENTS_OF_H

#include "file/event_file.h"
#include "output/event_source.h"
#include "profile/profile.h"

// `file` NULL: a source without events. The file outlives it.
struct seep_event_source seep_events_of(struct seep_event_file *file);

// Adds a note to each profile whose process had more events than the file has, see
// seep_event_file_note_dropped(). Reads all events, if the file may lack some.
SEEP_MUST_CHECK struct seep_error *seep_events_note_dropped(struct seep_event_file *file,
                                                            struct seep_session *session);

#endif
