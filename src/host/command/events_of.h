// SPDX-License-Identifier: BSD-2-Clause
// A file of events as the source of an output.
#ifndef SEEP_COMMAND_EVENTS_OF_H
#define SEEP_COMMAND_EVENTS_OF_H

#include "file/event_file.h"
#include "output/event_source.h"

// `file` NULL: a source without events. The file outlives it.
struct seep_event_source seep_events_of(struct seep_event_file *file);

#endif
