// SPDX-License-Identifier: BSD-2-Clause
//
// A RESIDENCE section of any bytes. Besides not crashing: what was understood is written and read again as the same.
#include <stdlib.h>
#include <string.h>

#include "file/event_residence.h"
#include "fuzz.h"

static uint64_t take(const uint8_t *bytes, size_t nr_bytes, struct seep_residence_head *ret_head,
                     struct seep_resident_block *blocks) {
    struct seep_take take = {bytes, bytes + nr_bytes, false};
    struct seep_resident_block block = {0};
    uint64_t nr = 0;
    if (!seep_residence_take_head(&take, ret_head))
        return UINT64_MAX;
    while (nr < ret_head->nr_blocks && seep_residence_take_block(&take, &block))
        blocks[nr++] = block;
    return nr;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct seep_resident_block blocks[SEEP_RESIDENCE_MAX], again[SEEP_RESIDENCE_MAX];
    struct seep_residence_head head, same;
    uint64_t nr = take(data, size, &head, blocks);
    if (nr == UINT64_MAX)
        return 0;
    head.nr_blocks = nr;
    struct seep_put put = {0};
    seep_residence_put(&put, &head, blocks);
    if (put.failed || take(put.bytes, put.used, &same, again) != nr || same.cpu_ns != head.cpu_ns ||
        memcmp(blocks, again, nr * sizeof(*blocks)) != 0)
        abort();
    seep_put_deinit(&put);
    return 0;
}
