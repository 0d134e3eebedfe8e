// SPDX-License-Identifier: BSD-2-Clause
// Events as text, one a line (`seep export --events`).
#ifndef SEEP_OUTPUT_REPORT_EVENTS_H
#define SEEP_OUTPUT_REPORT_EVENTS_H

#include <stdio.h>

#include "output/event_source.h"
#include "view/view.h"

// As `seep run --mode log` writes them: function, arguments, result. What a recording does not have (an
// alignment) is '?'.
SEEP_MUST_CHECK struct seep_error *seep_events_log(FILE *out, const struct seep_view *view,
                                                   const struct seep_event_source *source);
// A table with a header: at_ns,process,thread,event,address,size,site,function,place.
SEEP_MUST_CHECK struct seep_error *seep_events_csv(FILE *out, struct seep_view *view,
                                                   const struct seep_event_source *source);

// The same as Parquet: whole numbers and texts, a row for each event.
SEEP_MUST_CHECK struct seep_error *seep_events_parquet(FILE *out, struct seep_view *view,
                                                       const struct seep_event_source *source);

// A walk through the events of the processes of a view.
struct seep_events_walk {
    FILE *out;
    const struct seep_view *view;
    const struct seep_profile *profile; // of the chunk
    size_t process;                     // in the view
    const struct seep_chunk *chunk;
    const struct seep_event_source *source;
    void *data;
};

// Calls `put` for each event, in the order of the file; the first error ends the walk.
SEEP_MUST_CHECK struct seep_error *seep_events_walk_all(
    struct seep_events_walk *walk,
    struct seep_error *(*put)(const struct seep_events_walk *walk, const struct seep_recorded *event));

const char *seep_event_name(uint32_t kind); // "allocation", "kept", or how it was released

#endif
