// SPDX-License-Identifier: BSD-2-Clause
//
// The file of a library that recorded alone, of any bytes. Besides not crashing: events come in the order of their
// stamps, of kinds that there are, no more of them than bytes, and the same again after a rewind.
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file/event_chunk.h"
#include "source/image/event_alone.h"
#include "fuzz.h"

// How many there were.
static uint64_t walk(struct seep_event_alone *alone) {
    static struct seep_recorded events[SEEP_CHUNK_EVENTS];
    struct seep_chunk chunk;
    uint64_t nr = 0;
    for (;;) {
        struct seep_error *error = seep_event_alone_next(alone, &chunk, events);
        MUST(!error && chunk.nr_events <= SEEP_CHUNK_EVENTS);
        if (!chunk.nr_events)
            return nr;
        for (uint64_t i = 0; i < chunk.nr_events; i++) {
            MUST(seep_event_is_free(events[i].kind) || events[i].kind == SEEP_EVENT_ALLOCATION ||
                 events[i].kind == SEEP_EVENT_KEPT);
            (void)seep_chunk_ns(&chunk, events[i].stamp);
        }
        nr += chunk.nr_events;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { MEMORY_MOST = 64 << 20 };
    struct seep_event_alone *alone = NULL;
    int fd = memfd_create("input", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    struct seep_error *error = seep_event_alone_create(fd, "input", MEMORY_MOST, &alone);
    if (!error) {
        uint64_t nr = walk(alone);
        MUST(nr <= size);
        error = seep_event_alone_rewind(alone);
        MUST(!error && walk(alone) == nr);
    }
    seep_event_alone_destroy(alone);
    seep_error_destroy(error);
    close(fd);
    return 0;
}
