// SPDX-License-Identifier: BSD-2-Clause
//
// A baseline from any bytes. Besides not crashing: every entry is found by its key, and what was read,
// written again and read again is the same.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/baseline.h"
#include "fuzz.h"

static void check(const struct seep_baseline *baseline) {
    for (size_t i = 0; i < baseline->nr_entries; i++) {
        const struct seep_baseline_entry *entry = &baseline->entries[i];
        size_t nr = strlen(entry->key);
        MUST(nr >= 2 && entry->key[0] != '\n' && entry->key[nr - 1] == '\n' && entry->line > 1);
        MUST(seep_baseline_find(baseline, entry->key) == entry);
    }
}

static void write_and_read(struct seep_baseline *baseline) {
    char path[64];
    snprintf(path, sizeof(path), "/tmp/seep-fuzz-baseline.%ld", (long)getpid());
    struct seep_baseline again = SEEP_BASELINE_INIT;
    size_t nr = baseline->nr_entries;
    struct seep_baseline_entry *copy = malloc((nr ? nr : 1) * sizeof(*copy));
    MUST(copy);
    if (nr)
        memcpy(copy, baseline->entries, nr * sizeof(*copy));
    MUST(!seep_baseline_write(path, copy, nr));
    MUST(!seep_baseline_read(&again, path));
    unlink(path);
    MUST(again.nr_entries == nr);
    for (size_t i = 0; i < nr; i++) {
        const struct seep_baseline_entry *entry = seep_baseline_find(&again, baseline->entries[i].key);
        MUST(entry && entry->bytes == baseline->entries[i].bytes &&
             entry->blocks == baseline->entries[i].blocks);
    }
    free(copy);
    seep_baseline_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seep_baseline baseline = SEEP_BASELINE_INIT;
    struct seep_error *error = seep_baseline_parse(&baseline, "input", (const char *)data, size);
    check(&baseline);
    if (error)
        MUST(strncmp(error->message, "input:", 6) == 0 && !strchr(error->message, '\n'));
    else
        write_and_read(&baseline);
    seep_error_destroy(error);
    seep_baseline_deinit(&baseline);
    return 0;
}
