// SPDX-License-Identifier: BSD-2-Clause
// The parts of a look, whether it was made here or by a server. See live.h.
#include <stdlib.h>
#include <unistd.h>

#include "live/live.h"

void seep_look_deinit(struct seep_look *look) {
    for (size_t i = 0; i < look->nr_images; i++)
        if (look->image_fds[i] >= 0)
            close(look->image_fds[i]);
    free(look->image_fds);
    seep_session_destroy(look->session);
    seep_error_destroy(look->error);
    int64_t at_ns = look->at_ns, took_ns = look->took_ns, noted_ns = look->noted_ns;
    *look = (struct seep_look){.at_ns = at_ns, .took_ns = took_ns, .noted_ns = noted_ns};
}
