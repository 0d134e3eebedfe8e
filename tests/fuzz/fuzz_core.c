// SPDX-License-Identifier: BSD-2-Clause
//
// A core file of any bytes. Besides not crashing: segments are in order and none overlaps another, what is
// said to be there can be read, and threads have their registers.
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "scan/core_file.h"
#include "fuzz.h"

static void check_memory(const struct seep_core *core) {
    unsigned char bytes[64];
    for (size_t i = 0; i < core->nr_segments; i++) {
        const struct seep_core_segment *segment = &core->segments[i];
        MUST(segment->start < segment->end && segment->file_bytes <= segment->end - segment->start);
        MUST(!i || segment[-1].end <= segment->start);
        MUST(seep_core_find(core, segment->start) == segment &&
             seep_core_find(core, segment->end - 1) == segment);
        size_t there = seep_core_there(core, segment->start, sizeof(bytes));
        MUST(there <= segment->file_bytes && (!there || seep_core_read(core, segment->start, bytes, there)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct seep_core *core;
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    struct seep_error *err = seep_core_open_fd(fd, "fuzz", &core);
    if (!err) {
        MUST(core->nr_threads && core->nr_segments);
        for (size_t i = 0; i < core->nr_threads; i++)
            MUST(core->threads[i].words && core->threads[i].nr_words);
        for (size_t i = 0; i < core->nr_files; i++)
            MUST(core->files[i].path && (!i || core->files[i - 1].start <= core->files[i].start));
        check_memory(core);
        seep_core_close(core);
    }
    seep_error_destroy(err);
    return 0;
}
