// SPDX-License-Identifier: BSD-2-Clause
//
// A chunk of a recording of any bytes. Besides not crashing: what was understood is written and read again as the
// same events.
#include <stdlib.h>
#include <string.h>

#include "file/event_chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            abort();                                                                                         \
    } while (0)

static bool take(const uint8_t *bytes, size_t nr_bytes, struct seep_chunk *ret_chunk,
                 struct seep_recorded *events) {
    struct seep_take take = {bytes, bytes + nr_bytes, false};
    return seep_chunk_take(&take, ret_chunk) && seep_chunk_take_events(&take, ret_chunk, events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct seep_recorded events[SEEP_CHUNK_EVENTS], again[SEEP_CHUNK_EVENTS];
    struct seep_chunk chunk, same;
    memset(events, 0, sizeof(events)); // padding is compared too
    memset(again, 0, sizeof(again));
    if (!take(data, size, &chunk, events))
        return 0;
    for (uint64_t i = 0; i < chunk.nr_events; i++)
        (void)seep_chunk_ns(&chunk, events[i].stamp);
    struct seep_put put = {0};
    MUST(seep_chunk_put(&put, &chunk, events));
    MUST(take(put.bytes, put.used, &same, again));
    MUST(memcmp(events, again, chunk.nr_events * sizeof(*events)) == 0);
    seep_put_deinit(&put);
    return 0;
}
