// SPDX-License-Identifier: BSD-2-Clause
// The rings of source/image/image_source.h for the agent, which makes no recordings.
#include "source/image/image_source.h"

struct seep_error *seep_image_copy_around_rings(struct seep_image_copy *copy,
                                                const struct seep_image_source *source,
                                                const struct seep_image_head *head, uint64_t at, uint64_t end,
                                                seep_image_copy_part *part, bool *ret_short) {
    (void)head;
    return part(copy, source, at, end, ret_short);
}
