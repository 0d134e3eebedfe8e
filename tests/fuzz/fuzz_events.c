// SPDX-License-Identifier: BSD-2-Clause
//
// A chunk of a recording of any bytes. Besides not crashing: what was understood is written and read again as the
// same events.
#include <string.h>

#include "file/event_chunk.h"
#include "fuzz.h"

static struct seep_chunk_packer *packer;
static struct seep_chunk_unpacker *unpacker;

static bool take(const uint8_t *bytes, size_t nr_bytes, unsigned version, struct seep_chunk *ret_chunk,
                 struct seep_recorded *events) {
    struct seep_take take = {bytes, bytes + nr_bytes, false};
    return seep_chunk_take(&take, ret_chunk) &&
           seep_chunk_take_events(unpacker, &take, version, ret_chunk, events);
}

static void go_round(const uint8_t *data, size_t size, unsigned version) {
    static struct seep_recorded events[SEEP_CHUNK_EVENTS], again[SEEP_CHUNK_EVENTS];
    struct seep_chunk chunk, same;
    memset(events, 0, sizeof(events)); // padding is compared too
    memset(again, 0, sizeof(again));
    if (!take(data, size, version, &chunk, events))
        return;
    for (uint64_t i = 0; i < chunk.nr_events; i++)
        (void)seep_chunk_ns(&chunk, events[i].stamp);
    struct seep_put put = {0};
    struct seep_chunk_starts starts;
    MUST(seep_chunk_put(packer, &put, &chunk, events, &starts));
    MUST(take(put.bytes, put.used, SEEP_CHUNK_VERSION, &same, again));
    MUST(memcmp(events, again, chunk.nr_events * sizeof(*events)) == 0);
    seep_put_deinit(&put);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    packer = packer ? packer : seep_chunk_packer_create();
    unpacker = unpacker ? unpacker : seep_chunk_unpacker_create();
    MUST(packer && unpacker);
    for (unsigned version = 1; version <= SEEP_CHUNK_VERSION; version++)
        go_round(data, size, version);
    return 0;
}
