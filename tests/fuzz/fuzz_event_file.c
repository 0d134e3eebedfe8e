// SPDX-License-Identifier: BSD-2-Clause
//
// A recording of any bytes, read as a file: its chunks, its index and its sums. Besides not crashing: what is
// found by its place is what is found on the way, and sums that were understood are written and read again as the
// same. The first byte says whether the rest is a file or one section of sums.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file/event_file.h"
#include "fuzz.h"
#include "trace_repair.h"

static void go_round(const uint8_t *data, size_t size) {
    struct seep_take take = {data, data + size, false};
    struct seep_event_sums sums, same;
    if (!seep_event_sums_take(&take, &sums))
        return;
    struct seep_put put = {0};
    seep_event_sums_put(&put, &sums);
    MUST(!put.failed);
    take = seep_take_of(&put);
    MUST(seep_event_sums_take(&take, &same));
    MUST(same.nr_sites == sums.nr_sites && same.nr_last == sums.nr_last && same.nr_events == sums.nr_events);
    MUST(memcmp(same.sites, sums.sites, sums.nr_sites * sizeof(*sums.sites)) == 0);
    MUST(memcmp(same.counters, sums.counters, sums.nr_sites * sizeof(*sums.counters)) == 0);
    seep_event_sums_deinit(&same);
    seep_event_sums_deinit(&sums);
    seep_put_deinit(&put);
}

static struct seep_error *walk(struct seep_event_file *file) {
    for (;;) {
        const struct seep_chunk *chunk;
        struct seep_error *error = seep_event_file_next(file, &chunk);
        if (error || !chunk)
            return error;
        MUST(chunk->nr_events <= SEEP_CHUNK_EVENTS);
    }
}

static void read_file(struct seep_event_file *file) {
    struct seep_event_sums_place *places;
    size_t nr;
    struct seep_error *error = walk(file);
    (void)seep_event_file_trouble(file);
    seep_error_destroy(error);
    static const int64_t times[] = {INT64_MIN, 0, 1000000, INT64_MAX};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(times); i++) {
        error = seep_event_file_seek(file, times[i], INT64_MAX);
        seep_error_destroy(error ? error : walk(file));
    }
    error = seep_event_file_sums(file, &places, &nr);
    for (size_t i = 0; !error && i < nr && i < 100; i++) {
        struct seep_event_sums sums;
        struct seep_error *wrong = seep_event_file_sums_at(file, places[i].place, &sums);
        if (!wrong)
            seep_event_sums_deinit(&sums);
        seep_error_destroy(wrong);
    }
    if (!error)
        free(places);
    seep_error_destroy(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    if (data[0] & 1) {
        go_round(data + 1, size - 1);
        return 0;
    }
    uint8_t *copy = malloc(size);
    int fd = memfd_create("recording", MFD_CLOEXEC);
    MUST(copy && fd >= 0);
    memcpy(copy, data + 1, size - 1);
    trace_repair(copy, size - 1);
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct seep_event_file *file = NULL;
    struct seep_error *error = NULL;
    if (write(fd, copy, size - 1) == (ssize_t)(size - 1))
        error = seep_event_file_open(path, &file);
    if (file)
        read_file(file);
    seep_event_file_close(file);
    seep_error_destroy(error);
    close(fd);
    free(copy);
    return 0;
}
