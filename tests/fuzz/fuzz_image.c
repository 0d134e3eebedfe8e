// SPDX-License-Identifier: BSD-2-Clause
//
// A raw dump from any bytes. Besides not crashing: whatever comes out keeps the promises of
// profile.h about its ids. tests/fuzz/corpus/image is written by tests/unit/image_builder.h's images
// (make_image_seeds).
#include <stdint.h>
#include <string.h>

#include "source/image/profile_image.h"
#include "fuzz.h"

static void check(const struct seep_profile *profile) {
    MUST(profile->nr_modules >= 1 && profile->nr_nodes >= 1 && profile->nr_sites >= 1);
    for (uint32_t i = 1; i < profile->nr_modules; i++)
        MUST(profile->modules[i].path[0] &&
             profile->modules[i].build_id_bytes <= sizeof(profile->modules[i].build_id));
    for (uint32_t i = 1; i < profile->nr_nodes; i++)
        MUST(profile->nodes[i].parent < i && profile->nodes[i].module < profile->nr_modules);
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        MUST(profile->sites[i].node < profile->nr_nodes && profile->sites[i].via < SEEP_VIA_NR);
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        MUST(profile->blocks[i].site > 0 && profile->blocks[i].site < profile->nr_sites);
        MUST(i == 0 || profile->blocks[i - 1].address < profile->blocks[i].address);
    }
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        const struct seep_thread_site *at = &profile->thread_sites[i];
        MUST(at->site < profile->nr_sites && at->thread < profile->nr_threads);
        MUST(i == 0 || at[-1].site < at->site || (at[-1].site == at->site && at[-1].thread < at->thread));
    }
    for (uint32_t i = 0; i < profile->process.nr_args; i++)
        MUST(strlen(profile->process.args[i]) < UINT32_MAX);
    for (uint32_t i = 0; i < profile->nr_wrong_releases; i++) {
        const struct seep_wrong_release *at = &profile->wrong_releases[i];
        MUST(at->site < profile->nr_sites && at->release_site < profile->nr_sites &&
             at->first_site < profile->nr_sites);
    }
    MUST(profile->totals.peak_bytes >= profile->totals.live_bytes);
    MUST(profile->process.duration_ns >= 0);
}

// What `seep whois` asks of memory that is no block any more.
static void look_for_freed(const uint8_t *data, size_t size, const struct seep_profile *profile) {
    struct seep_image_copy *copy;
    struct seep_error *err = seep_image_copy_from_raw(data, size, "input", &copy);
    MUST(!err);
    copy->head.header.flags |= SEEP_FLAG_FREE_STACKS;
    const uint64_t addresses[] = {0, profile->nr_blocks ? profile->blocks[0].address + 8 : 4096, UINT64_MAX};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(addresses); i++) {
        struct seep_freed freed;
        seep_image_find_freed(copy, profile, addresses[i], &freed);
        MUST(freed.site < profile->nr_sites && freed.release_site < profile->nr_sites);
        MUST(!freed.address || freed.address <= addresses[i]);
    }
    seep_image_copy_destroy(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seep_session *session = NULL;
    struct seep_error *err = seep_session_from_raw(data, size, "input", &session);
    if (err) {
        MUST(!session && err->message[0] && !strchr(err->message, '\n'));
        seep_error_destroy(err);
        return 0;
    }
    MUST(session->nr_profiles == 1);
    check(session->profiles[0]);
    look_for_freed(data, size, session->profiles[0]);
    seep_session_destroy(session);
    return 0;
}
