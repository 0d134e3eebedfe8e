// SPDX-License-Identifier: BSD-2-Clause
//
// Makes a big trace that is always the same, for `make bench ONLY=reports` and tests of limits:
//
//   big_trace FILE SITES DEPTH [MODULE|- [MOMENTS]]
//
// As in real programs, neighbouring sites share the outer part of their stacks: of each stack about ten frames,
// spread geometrically, are not those of the one before. Frames are of 30,000 places in a few modules that are not
// there, or all in MODULE, an ELF file whose names are then looked up. At each of the MOMENTS a third of the sites
// has another number of blocks than before.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file/session_file.h"
#include "profile/profile.h"

#define NR_PLACES  30000u
#define NEW_FRAMES 10u

// Source: splitmix64 (public domain, Sebastiano Vigna).
static uint64_t random_state = 20261123;
static uint64_t next_random(void) {
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void check(struct seep_error *error) {
    if (!error)
        return;
    fprintf(stderr, "big_trace: %s\n", error->message);
    exit(1);
}

static void *room(struct seep_profile *profile, size_t nr, size_t bytes) {
    void *memory = seep_arena_alloc(&profile->arena, nr, bytes);
    if (!memory)
        abort();
    return memory;
}

static void make_modules(struct seep_profile *profile, const char *module, uint64_t text_bytes) {
    static const char *const paths[] = {"/opt/big/bin/app", "/opt/big/lib/libcore.so.1",
                                        "/opt/big/lib/libparse.so.3", "/usr/lib/libc.so.6"};
    struct seep_module none = profile->modules[0];
    uint32_t nr = module ? 1 : SEEP_ARRAY_SIZE(paths);
    profile->modules = room(profile, nr + 1, sizeof(*profile->modules));
    profile->nr_modules = nr + 1;
    profile->modules[0] = none;
    for (uint32_t i = 0; i < nr; i++)
        profile->modules[i + 1] = (struct seep_module){.path = module ? module : paths[i],
                                                       .start_rt = (i + UINT64_C(1)) << 32,
                                                       .end_rt = ((i + UINT64_C(1)) << 32) + text_bytes,
                                                       .bias_rt = (i + UINT64_C(1)) << 32,
                                                       .unloaded_ns = -1};
}

static void make_stacks(struct seep_profile *profile, uint32_t nr_sites, uint32_t depth,
                        uint64_t text_bytes) {
    uint32_t *path = calloc(depth + 1, sizeof(*path)); // path[0] is the root
    size_t most = (size_t)nr_sites * SEEP_MIN(depth, 4 * NEW_FRAMES) + depth + 1;
    profile->nodes = room(profile, most, sizeof(*profile->nodes));
    profile->nr_nodes = 1;
    profile->sites = room(profile, nr_sites + 1, sizeof(*profile->sites));
    profile->nr_sites = nr_sites + 1;
    uint32_t now = 0;
    for (uint32_t i = 1; path && i <= nr_sites; i++) {
        uint32_t dropped = 1;
        while (dropped < 3 * NEW_FRAMES && next_random() % NEW_FRAMES)
            dropped++;
        now = now > dropped ? now - dropped : 0;
        uint32_t wanted = depth - (uint32_t)(next_random() % (NEW_FRAMES / 2));
        wanted = SEEP_MIN(SEEP_MAX(wanted, now + 1), depth);
        for (; now < wanted; now++) {
            uint64_t place = next_random() % NR_PLACES;
            profile->nodes[profile->nr_nodes] = (struct seep_node){
                .parent = path[now],
                .module = 1 + (uint32_t)(place % (profile->nr_modules - 1)),
                .offset = text_bytes / 8 + place * (text_bytes * 3 / 4 / NR_PLACES),
            };
            path[now + 1] = profile->nr_nodes++;
        }
        uint64_t nr = 1 + next_random() % 1000, live = next_random() % 4, size = 16 + next_random() % 4096;
        profile->sites[i] = (struct seep_site){
            .node = path[now],
            .via = SEEP_VIA_MALLOC,
            .counters = {nr + live, (nr + live) * size, nr, nr * size, nr / 3, (live + 1) * size, size, size},
        };
    }
    free(path);
}

static void make_blocks(struct seep_profile *profile) {
    size_t nr = 0;
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        nr += profile->sites[i].counters.allocations - profile->sites[i].counters.frees;
    profile->blocks = room(profile, SEEP_MAX(nr, (size_t)1), sizeof(*profile->blocks));
    uint64_t address = UINT64_C(0x550000000000);
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        const struct seep_counters *c = &profile->sites[i].counters;
        for (uint64_t k = c->frees; k < c->allocations; k++, address += 8192)
            profile->blocks[profile->nr_blocks++] =
                (struct seep_block){address, c->size_min, i, UINT32_MAX, -1};
    }
}

static void make_moments(struct seep_profile *profile, uint32_t nr_moments) {
    profile->snapshots = room(profile, SEEP_MAX(nr_moments, 1u), sizeof(*profile->snapshots));
    for (uint32_t i = 0; i < nr_moments; i++) {
        struct seep_snapshot *moment = &profile->snapshots[profile->nr_snapshots++];
        *moment =
            (struct seep_snapshot){.at_ns = (i + INT64_C(1)) * 900000000, .rss_bytes = UINT64_C(1) << 30};
        moment->sites = room(profile, profile->nr_sites, sizeof(*moment->sites));
        for (uint32_t site = 1; site < profile->nr_sites; site++) {
            uint64_t nr = 1 + next_random() % 300;
            if (next_random() % 3 == 0)
                moment->sites[moment->nr_sites++] =
                    (struct seep_snapshot_site){.site = site,
                                                .live_blocks = nr,
                                                .live_bytes = nr * profile->sites[site].counters.size_min};
        }
    }
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fputs("usage: big_trace FILE SITES DEPTH [MODULE|- [MOMENTS]]\n", stderr);
        return 2;
    }
    const char *module = argc > 4 && strcmp(argv[4], "-") != 0 ? argv[4] : NULL;
    struct stat status = {.st_size = 64 << 20};
    if (module && stat(module, &status) != 0) {
        perror(module);
        return 1;
    }
    struct seep_session *session;
    struct seep_profile *profile;
    check(seep_session_create(&session));
    check(seep_profile_create(&profile));
    check(seep_session_add(session, profile));
    static const char *const args[] = {"app"};
    profile->process = (struct seep_process){.pid = 4711,
                                             .exe = module ? module : "/opt/big/bin/app",
                                             .args = args,
                                             .nr_args = 1,
                                             .nr_args_all = 1,
                                             .start_realtime_ns = INT64_C(1700000000000000000),
                                             .duration_ns = INT64_C(60000000000),
                                             .exit_kind = SEEP_EXIT_CODE,
                                             .is_main = true};
    make_modules(profile, module, (uint64_t)status.st_size);
    make_stacks(profile, (uint32_t)atol(argv[2]), (uint32_t)atol(argv[3]), (uint64_t)status.st_size);
    make_blocks(profile);
    if (argc > 5)
        make_moments(profile, (uint32_t)atol(argv[5]));
    profile->health.state = SEEP_STATE_LIVE;
    seep_profile_derive(profile);
    profile->totals.peak_bytes = profile->totals.live_bytes;
    check(seep_session_save(session, argv[1]));
    printf("%u sites, %u nodes, %zu blocks\n", profile->nr_sites - 1, profile->nr_nodes, profile->nr_blocks);
    seep_session_destroy(session);
    return 0;
}
