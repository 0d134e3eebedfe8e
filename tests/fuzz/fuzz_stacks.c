// SPDX-License-Identifier: BSD-2-Clause
//
// What events of a recording refer to, of any bytes. Besides not crashing: what was understood is written and read
// again as the same, and a profile takes it only where it continues what the profile has, with no id out of range.
#include <string.h>

#include "file/event_stacks.h"
#include "fuzz.h"

static void check_profile(const struct seep_profile *profile) {
    for (uint32_t i = 1; i < profile->nr_modules; i++)
        MUST(profile->modules[i].path && profile->modules[i].path[0]);
    for (uint32_t i = 1; i < profile->nr_nodes; i++)
        MUST(profile->nodes[i].parent < i && profile->nodes[i].module < profile->nr_modules);
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        MUST(profile->sites[i].node < profile->nr_nodes);
    for (uint32_t i = 0; i < profile->nr_threads; i++)
        MUST(memchr(profile->threads[i].name, 0, sizeof(profile->threads[i].name)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seep_take take = {data, data + size, false};
    struct seep_recorded_stacks stacks, same;
    struct seep_profile *profile = NULL;
    if (seep_recorded_stacks_take(&take, &stacks))
        return 0;
    struct seep_put put = {0}, again = {0};
    seep_recorded_stacks_put(&put, &stacks);
    take = (struct seep_take){put.bytes, put.bytes + put.used, false};
    MUST(!seep_recorded_stacks_take(&take, &same));
    seep_recorded_stacks_put(&again, &same);
    MUST(put.used == again.used && memcmp(put.bytes, again.bytes, put.used) == 0);
    struct seep_error *error = seep_profile_create(&profile);
    MUST(!error);
    struct seep_recorded_growing growing = {.profile = profile};
    for (int i = 0; i < 2 && !seep_recorded_stacks_add(&growing, &stacks); i++)
        check_profile(profile);
    seep_profile_destroy(profile);
    seep_recorded_stacks_deinit(&stacks);
    seep_recorded_stacks_deinit(&same);
    seep_put_deinit(&put);
    seep_put_deinit(&again);
    return 0;
}
