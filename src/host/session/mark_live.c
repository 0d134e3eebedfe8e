// SPDX-License-Identifier: BSD-2-Clause
// The record of a mark as the library would write it (image/layout.h), see mark_live.h.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "source/image/image_copy.h"
#include "image/sample.h"
#include "session/mark_live.h"
#include "session/session_open.h"
#include "base/records.h"

static void put_counts(struct seep_put *put, const struct seep_profile *profile) {
    // Where sampled, in the units of the counters.
    unsigned shift = profile->health.sample_bytes ? SEEP_WEIGHT_SHIFT : 0;
    uint32_t last = 0;
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        const struct seep_counters *counters = &profile->sites[i].counters;
        if (!counters->allocations)
            continue;
        seep_put_leb(put, i - last);
        seep_put_leb(put, counters->allocations << shift);
        seep_put_leb(put, counters->allocated_bytes);
        seep_put_leb(put, counters->frees << shift);
        seep_put_leb(put, counters->freed_bytes);
        seep_put_leb(put, counters->temporary << shift);
        last = i;
    }
}

struct seep_error *seep_mark_live(pid_t pid, const char *name) {
    struct seep_session *session = NULL;
    struct seep_error *err = seep_session_from_pid(pid, &session);
    if (err)
        return err;
    struct seep_image_mark record = {
        .is_counted = 1,
        .at_ns = (uint64_t)seep_monotonic_ns(),
        .name_bytes = (uint32_t)SEEP_MIN(strlen(name), (size_t)SEEP_MARK_NAME_MAX),
    };
    struct seep_put put = {0};
    seep_put_bytes(&put, &record, sizeof(record));
    seep_put_bytes(&put, name, record.name_bytes);
    size_t before = put.used;
    put_counts(&put, session->profiles[0]);
    seep_session_destroy(session);
    record.counts_bytes = (uint32_t)(put.used - before);
    seep_put_bytes(&put, "\0\0\0\0\0\0\0", (8 - put.used % 8) % 8);
    record.bytes = (uint32_t)put.used;
    if (put.failed) {
        err = seep_error_no_memory();
    } else {
        memcpy(put.bytes, &record, sizeof(record));
        err = seep_image_mark_pid(pid, put.bytes, put.used);
    }
    seep_put_deinit(&put);
    return err;
}
