// SPDX-License-Identifier: BSD-2-Clause
//
// The C side of test_trace.py: makes sessions that are always the same, saves them, and writes a
// loaded trace as JSON, every field of it. In that JSON a number above 2^63-1 is a string of its
// digits (jansson has no such integers), and text is latin-1, as paths may be any bytes.
//
//   make_traces list             names of the sessions, one a line
//   make_traces make NAME FILE   saves the session
//   make_traces dump FILE...     loads and writes JSON in a line; on failure the message, the hint in a line
//   of its
//                                own, and status 1
//   make_traces same NAME FILE   status 0 when the loaded trace is the session, compared field by field in C
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/session_file.h"
#include "symbol/symbols.h"

// ---- Making.

// Source: splitmix64 (public domain, Sebastiano Vigna).
static uint64_t random_state;
static uint64_t next_random(void) {
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static void say(struct seep_error *error) {
    fprintf(stdout, "%s\n%s\n", error->message, error->hint ? error->hint : "");
    seep_error_destroy(error);
}

static void fail(struct seep_error *error) {
    say(error);
    exit(1);
}

static void *room(struct seep_profile *profile, size_t nr, size_t bytes) {
    void *memory = seep_arena_alloc(&profile->arena, nr ? nr : 1, bytes);
    if (!memory)
        abort();
    return memory;
}

static struct seep_profile *make_profile(struct seep_session *session, uint32_t nr_modules, uint32_t nr_nodes,
                                         uint32_t nr_sites, uint32_t nr_threads) {
    struct seep_profile *profile;
    struct seep_error *error = seep_profile_create(&profile);
    if (!error)
        error = seep_session_add(session, profile);
    if (error)
        fail(error);
    struct seep_module none = profile->modules[0];
    struct seep_site no_site = profile->sites[0];
    profile->modules = room(profile, profile->nr_modules = nr_modules, sizeof(*profile->modules));
    profile->nodes = room(profile, profile->nr_nodes = nr_nodes, sizeof(*profile->nodes));
    profile->sites = room(profile, profile->nr_sites = nr_sites, sizeof(*profile->sites));
    profile->threads = room(profile, profile->nr_threads = nr_threads, sizeof(*profile->threads));
    profile->modules[0] = none;
    profile->sites[0] = no_site;
    return profile;
}

static struct seep_block *make_blocks(struct seep_profile *profile, size_t nr_blocks) {
    profile->blocks = room(profile, profile->nr_blocks = nr_blocks, sizeof(*profile->blocks));
    for (size_t i = 0; i < nr_blocks; i++)
        profile->blocks[i] = (struct seep_block){.site = 1, .thread = UINT32_MAX, .age_ns = -1};
    return profile->blocks;
}

static void make_args(struct seep_profile *profile, uint32_t nr, const char *const *args) {
    const char **copy = room(profile, nr, sizeof(*copy));
    for (uint32_t i = 0; i < nr; i++)
        copy[i] = args[i];
    profile->process.args = copy;
    profile->process.nr_args = nr;
    profile->process.nr_args_all = nr;
}

static void make_empty(struct seep_session *session) {
    make_profile(session, 1, 1, 1, 0);
}

// One leak of 64 bytes under main: the file that docs/trace-format.md shows byte by byte.
static void make_tiny(struct seep_session *session) {
    struct seep_profile *profile = make_profile(session, 2, 2, 2, 1);
    profile->process = (struct seep_process){.pid = 42,
                                             .ppid = 41,
                                             .exe = "/bin/leak",
                                             .is_main = true,
                                             .start_realtime_ns = 1000,
                                             .duration_ns = 500,
                                             .exit_kind = SEEP_EXIT_CODE};
    make_args(profile, 1, (const char *const[]){"leak"});
    profile->modules[1] = (struct seep_module){.path = "/bin/leak",
                                               .bias_rt = 0x400000,
                                               .start_rt = 0x401000,
                                               .end_rt = 0x402000,
                                               .unloaded_ns = -1,
                                               .build_id_bytes = 2,
                                               .build_id = {0xab, 0xcd}};
    profile->nodes[1] = (struct seep_node){.module = 1, .offset = 0x1136};
    profile->sites[1] = (struct seep_site){
        .node = 1,
        .via = SEEP_VIA_MALLOC,
        .counters = {
            .allocations = 1, .allocated_bytes = 64, .peak_bytes = 64, .size_min = 64, .size_max = 64}};
    profile->threads[0] = (struct seep_thread){
        .tid = 42, .nr_owners = 1, .name = "leak", .allocations = 1, .allocated_bytes = 64};
    make_blocks(profile, 1)[0] =
        (struct seep_block){.address = 0x5000, .size = 64, .site = 1, .thread = UINT32_MAX, .age_ns = -1};
    profile->totals.peak_bytes = 64;
    profile->totals.peak_exact = true;
    profile->totals.size_class[7] = 1;
    profile->totals.releases[SEEP_RELEASE_FREE] = 0;
    profile->health.state = SEEP_STATE_EXITED;
    profile->health.depth_limit = 1024;
}

static void fill_counters(struct seep_counters *counters, uint64_t mask) {
    *counters = (struct seep_counters){.allocations = next_random() & mask,
                                       .allocated_bytes = next_random() & mask,
                                       .frees = next_random() & mask,
                                       .freed_bytes = next_random() & mask,
                                       .temporary = next_random() & mask,
                                       .peak_bytes = next_random() & mask,
                                       .size_min = next_random() & mask,
                                       .size_max = next_random() & mask};
}

static void fill_tables(struct seep_profile *profile, uint64_t mask) {
    for (uint32_t i = 1; i < profile->nr_modules; i++) {
        char *path = seep_arena_printf(&profile->arena, "/usr/lib/libm%u.so.%u", i, i % 7);
        profile->modules[i] = (struct seep_module){.path = path,
                                                   .bias_rt = next_random() >> 17,
                                                   .first_seen_ns = (int64_t)(next_random() >> 24),
                                                   .unloaded_ns = i % 3 ? -1 : (int64_t)i * 1000};
        profile->modules[i].start_rt = profile->modules[i].bias_rt + 0x1000;
        profile->modules[i].end_rt = profile->modules[i].start_rt + i * 4096;
        profile->modules[i].build_id_bytes = i % 45;
        for (uint32_t k = 0; k < i % 45; k++)
            profile->modules[i].build_id[k] = (uint8_t)next_random();
    }
    for (uint32_t i = 1; i < profile->nr_nodes; i++)
        profile->nodes[i] = (struct seep_node){.parent = (uint32_t)(next_random() % i),
                                               .module = (uint32_t)(next_random() % profile->nr_modules),
                                               .offset = next_random() & mask >> 17,
                                               .exact = i % 11 == 0};
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        profile->sites[i].node = (uint32_t)(next_random() % profile->nr_nodes);
        profile->sites[i].via = (uint32_t)(next_random() % SEEP_VIA_HEAP_NR);
        fill_counters(&profile->sites[i].counters, mask);
    }
    for (uint32_t i = 0; i < profile->nr_threads; i++) {
        struct seep_thread *thread = &profile->threads[i];
        *thread = (struct seep_thread){.tid = 1000 + i,
                                       .nr_owners = i,
                                       .allocations = next_random() & mask,
                                       .allocated_bytes = next_random() & mask,
                                       .frees = next_random() & mask,
                                       .freed_bytes = next_random() & mask};
        snprintf(thread->name, sizeof(thread->name), "worker-%u", i % 1000);
    }
}

static void fill_thread_sites(struct seep_profile *profile, uint64_t mask) {
    size_t nr = (size_t)(profile->nr_sites - 1) * profile->nr_threads;
    profile->thread_sites = room(profile, nr, sizeof(*profile->thread_sites));
    for (uint32_t site = 1; site < profile->nr_sites; site++)
        for (uint32_t thread = 0; thread < profile->nr_threads; thread++) {
            if (next_random() % 3 == 0)
                continue;
            struct seep_thread_site *row = &profile->thread_sites[profile->nr_thread_sites++];
            row->site = site;
            row->thread = thread;
            fill_counters(&row->counters, mask);
        }
}

static void fill_blocks(struct seep_profile *profile, size_t nr, bool with_threads, bool with_ages) {
    struct seep_block *blocks = make_blocks(profile, nr);
    uint64_t address = UINT64_C(0x7f0000000010);
    for (size_t i = 0; i < nr; i++) {
        address += 32 + (next_random() % 8) * 16;
        blocks[i].address = address;
        blocks[i].size = next_random() % 5000;
        blocks[i].site = (uint32_t)(1 + next_random() % (profile->nr_sites - 1));
        if (with_threads && i % 5)
            blocks[i].thread = (uint32_t)(next_random() % profile->nr_threads);
        if (with_ages && i % 4)
            blocks[i].age_ns = (int64_t)(next_random() >> 20);
    }
}

static void fill_lists(struct seep_profile *profile) {
    for (size_t i = 0; i < SEEP_LOST_FIRST_NR; i++)
        profile->health.lost[i] = next_random() >> (i * 4);
    for (size_t i = 0; i < SEEP_CUT_NR; i++)
        profile->health.cut[i] = i * 10;
    for (size_t i = 0; i < SEEP_RELEASE_NR; i++)
        profile->totals.releases[i] = next_random() >> (i * 8);
    for (size_t i = 0; i < SEEP_IMAGE_SIZE_CLASSES; i++)
        profile->totals.size_class[i] = next_random() >> i;
}

static void make_modules(struct seep_session *session) {
    struct seep_profile *profile = make_profile(session, 3000, 4000, 10, 2);
    profile->process.exe = "/opt/caf\xe9/p\x01rog\n"; // any bytes but 0 may stand in a path
    fill_tables(profile, UINT64_MAX >> 20);
    profile->modules[1].path = "[vdso]";
    profile->modules[2].path = "/tmp/\xff\xfe/lib \"odd\" \\.so";
    profile->modules[3].path = "";
    fill_blocks(profile, 100, false, true);
}

static void make_cut(struct seep_session *session) {
    struct seep_profile *profile = make_profile(session, 3, 40, 20, 3);
    fill_tables(profile, UINT64_MAX >> 30);
    for (uint32_t i = 1; i <= SEEP_CUT_NR; i++)
        profile->nodes[i] = (struct seep_node){.kind = SEEP_NODE_CUT, .offset = i - 1};
    fill_thread_sites(profile, 0xffff);
    fill_blocks(profile, 50, true, false);
    fill_lists(profile);
    profile->health.state = SEEP_STATE_PASSIVE;
    profile->health.passive_reason = SEEP_PASSIVE_NO_MAP;
    profile->health.flags = SEEP_FLAG_PREEMPTED | SEEP_FLAG_FORKED;
    profile->health.preempted_by = "/usr/lib/libjemalloc.so.2";
    profile->health.depth_limit = 64;
    profile->health.sample_bytes = 524288;
    profile->health.notes = room(profile, 2, sizeof(*profile->health.notes));
    profile->health.notes[0] = "first note";
    profile->health.notes[1] = "";
    profile->health.nr_notes = 2;
    profile->process.exit_kind = SEEP_EXIT_SIGNAL;
    profile->process.exit_value = 9;
}

static void make_huge(struct seep_session *session) {
    struct seep_profile *profile = make_profile(session, 3, 10, 10, 2);
    fill_tables(profile, UINT64_MAX);
    fill_thread_sites(profile, UINT64_MAX);
    fill_lists(profile);
    profile->process = (struct seep_process){.pid = UINT32_MAX,
                                             .ppid = UINT32_MAX,
                                             .forked_from = UINT32_MAX,
                                             .exe = NULL,
                                             .nr_args_all = UINT32_MAX,
                                             .start_realtime_ns = INT64_MIN,
                                             .duration_ns = INT64_MAX,
                                             .exit_kind = SEEP_EXIT_RUNNING,
                                             .exit_value = INT32_MIN};
    make_args(profile, 3, (const char *const[]){"", "a b", "\xc3\xa9"});
    profile->process.nr_args_all = UINT32_MAX;
    memset(&profile->sites[1].counters, 0xff, sizeof(profile->sites[1].counters));
    profile->sites[2].via = UINT32_MAX;
    profile->modules[1].end_rt = 0;
    profile->modules[1].start_rt = UINT64_MAX;
    profile->nodes[9].offset = UINT64_MAX;
    profile->totals.peak_bytes = UINT64_MAX;
    profile->totals.peak_error_bytes = UINT64_MAX;
    profile->totals.failed = UINT64_MAX;
    profile->totals.unknown_frees = UINT64_MAX;
    profile->health.sample_bytes = UINT64_MAX;
    profile->health.depth_limit = UINT32_MAX;
    static const uint64_t addresses[] = {0,
                                         1,
                                         UINT64_C(0x7fffffffffff),
                                         UINT64_C(0x800000000000),
                                         UINT64_C(0x800000000000),
                                         UINT64_C(0xffff800000000000),
                                         UINT64_MAX};
    struct seep_block *blocks = make_blocks(profile, SEEP_ARRAY_SIZE(addresses));
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(addresses); i++)
        blocks[i] = (struct seep_block){.address = addresses[i],
                                        .size = UINT64_MAX - i,
                                        .site = (uint32_t)i,
                                        .thread = i % 2 ? UINT32_MAX : 1,
                                        .age_ns = i % 2 ? INT64_MAX : -1};
}

static void make_family(struct seep_session *session) {
    for (uint32_t i = 0; i < 5; i++) {
        struct seep_profile *profile = make_profile(session, 2 + i, 20, 8, 1 + i);
        fill_tables(profile, UINT64_MAX >> 30);
        fill_thread_sites(profile, 0xffffff);
        fill_blocks(profile, i * 10, i & 1, i & 2);
        profile->process.pid = 100 + i;
        profile->process.ppid = i ? 100 : 1;
        profile->process.forked_from = i ? 100 : 0;
        profile->process.is_main = !i;
        profile->process.exe = "/usr/bin/family";
    }
}

// An index: texts that are shared, one pid twice, one process without arguments.
static void make_indexed(struct seep_session *session) {
    static const char *const args[] = {"sh", "-c", "/bin/tool"};
    for (uint32_t i = 0; i < 4; i++) {
        struct seep_profile *profile = make_profile(session, 2, 3, 2, 1);
        fill_tables(profile, UINT64_MAX >> 30);
        fill_blocks(profile, i, false, false);
        profile->process.pid = i == 3 ? 201 : 200 + i;
        profile->process.is_main = !i;
        profile->process.exe = i % 2 ? "/bin/tool" : "/bin/sh";
        profile->process.args = i == 2 ? NULL : args + i % 2 * 2;
        profile->process.nr_args = profile->process.nr_args_all = i == 2 ? 0 : i % 2 ? 1 : 3;
    }
}

// More than one section of sites and of blocks.
static void make_large(struct seep_session *session) {
    struct seep_profile *profile = make_profile(session, 20, 60000, 60000, 1);
    fill_tables(profile, UINT64_MAX >> 1);
    fill_thread_sites(profile, UINT64_MAX >> 1);
    fill_blocks(profile, 263000, true, true);
}

// Compresses so well that the writer must fill up.
static void make_even(struct seep_session *session) {
    struct seep_profile *profile = make_profile(session, 1, 1, 2, 0);
    struct seep_block *blocks = make_blocks(profile, 100000);
    for (size_t i = 0; i < 100000; i++) {
        blocks[i].address = UINT64_C(0x800000000000) + i * 32;
        blocks[i].size = 24;
    }
}

// Mappings and wrong releases, small and absurd.
static void make_mapped(struct seep_session *session) {
    make_tiny(session);
    struct seep_profile *profile = session->profiles[0];
    struct seep_site *sites = room(profile, 6, sizeof(*sites));
    memcpy(sites, profile->sites, 2 * sizeof(*sites));
    for (uint32_t i = 2; i < 6; i++) {
        sites[i] = (struct seep_site){.node = 1, .via = i < 4 ? SEEP_VIA_MMAP + i : SEEP_VIA_FREE + i - 4};
        sites[i].counters.size_min = UINT64_MAX;
    }
    profile->sites = sites;
    profile->nr_sites = 6;
    profile->map_totals = (struct seep_map_counts){4, 0x9000, 2, 0x3000, 0x8000};
    profile->nr_map_sites = 2;
    profile->map_sites = room(profile, 2, sizeof(*profile->map_sites));
    profile->map_sites[0] = (struct seep_map_site){.site = 2, .counts = {3, 0x5000, 1, 0x1000, 0x5000}};
    profile->map_sites[1] =
        (struct seep_map_site){.site = 3, .counts = {UINT64_MAX, UINT64_MAX, UINT64_MAX - 1, 1, UINT64_MAX}};
    profile->nr_mappings = 3;
    profile->mappings = room(profile, 3, sizeof(*profile->mappings));
    profile->mappings[0] = (struct seep_mapped){0x10000, 0x4000, 2, 0, 5};
    profile->mappings[1] = (struct seep_mapped){0x7f0000000000, 1, 3, SEEP_MAPPING_BREAK, -1};
    profile->mappings[2] = (struct seep_mapped){UINT64_MAX - 10, 10, 3, UINT32_MAX, INT64_MAX};
    profile->account = (struct seep_account){
        .known = true, .by_page = true, .rss_bytes = 1 << 20, .pss_bytes = UINT64_MAX, .untouched_bytes = 7};
    for (uint32_t i = 0; i < SEEP_ACCOUNT_NR; i++)
        profile->account.bytes[i] = i * 4096;
    profile->nr_wrong_releases = 2;
    struct seep_wrong_release *wrong = profile->wrong_releases = room(profile, 2, sizeof(*wrong));
    wrong[0] = (struct seep_wrong_release){SEEP_MISUSE_DOUBLE_FREE, 1, 4, UINT64_MAX, UINT64_MAX, 0};
    wrong[1] = (struct seep_wrong_release){SEEP_MISUSE_MISMATCH, 1, 5, 3, 0x5000, 64};
    seep_profile_derive(profile);
}

static void make_freed(struct seep_session *session) {
    make_mapped(session);
    session->profiles[0]->wrong_releases[0].first_site = 5;
}

// Pools, pieces and marks of the program, small and absurd.
static void make_pooled(struct seep_session *session) {
    make_tiny(session);
    struct seep_profile *profile = session->profiles[0];
    struct seep_site *sites = room(profile, 4, sizeof(*sites));
    memcpy(sites, profile->sites, 2 * sizeof(*sites));
    for (uint32_t i = 2; i < 4; i++) {
        sites[i] = (struct seep_site){.node = 1, .via = SEEP_VIA_POOL_ALLOC + i - 2};
        sites[i].counters = (struct seep_counters){.allocations = 10 * i,
                                                   .allocated_bytes = 640,
                                                   .frees = i,
                                                   .freed_bytes = 64,
                                                   .size_min = 8,
                                                   .size_max = 64};
    }
    profile->sites = sites;
    profile->nr_sites = 4;
    profile->pool_totals.pools_created = 3;
    profile->pool_totals.pools_destroyed = UINT64_MAX;
    profile->pool_totals.unknown_frees = 1;
    profile->nr_pools = 2;
    profile->pools = room(profile, 2, sizeof(*profile->pools));
    profile->pools[0] = (struct seep_pool){0x5000, "sessions", 2, 7};
    profile->pools[1] = (struct seep_pool){UINT64_MAX, NULL, 0, -1};
    profile->nr_pieces = 3;
    profile->pieces = room(profile, 3, sizeof(*profile->pieces));
    profile->pieces[0] = (struct seep_piece){0x5010, 64, 2, 0, 3};
    profile->pieces[1] = (struct seep_piece){0x5011, 0, 3, UINT32_MAX, -1};
    profile->pieces[2] = (struct seep_piece){UINT64_MAX, UINT64_MAX, 3, 1, INT64_MAX};
    struct seep_mark loaded = {.name = "loaded", .at_ns = 100, .tid = 42, .counted = true, .nr_sites = 2};
    loaded.sites = room(profile, 2, sizeof(*loaded.sites));
    loaded.sites[0] = (struct seep_mark_site){1, 1, 64, 0, 0, 0};
    loaded.sites[1] = (struct seep_mark_site){3, UINT64_MAX, 640, 1, 64, 1};
    struct seep_mark late = {.name = "end \xc3\xa9", .at_ns = INT64_MAX};
    if (seep_profile_add_mark(profile, &late) || seep_profile_add_mark(profile, &loaded))
        abort();
    seep_profile_derive(profile);
}

// Snapshots, small and absurd.
static void make_grown(struct seep_session *session) {
    make_pooled(session);
    struct seep_profile *profile = session->profiles[0];
    profile->limit_bytes = 512 << 20;
    profile->limit = "memory.max of /caf\xc3\xa9";
    profile->nr_snapshots = 12;
    profile->snapshots = room(profile, 12, sizeof(*profile->snapshots));
    for (uint32_t i = 0; i < 12; i++) {
        struct seep_snapshot *snapshot = &profile->snapshots[i];
        *snapshot = (struct seep_snapshot){.at_ns = i < 11 ? i * INT64_C(1000000000) : INT64_MAX,
                                           .rss_bytes = i ? 4096 * i : 0,
                                           .used_bytes = i ? UINT64_MAX : 1};
        snapshot->nr_sites = i == 3 ? 0 : i == 0 ? 2 : 1;
        snapshot->sites = room(profile, 2, sizeof(*snapshot->sites));
        snapshot->sites[0] = (struct seep_snapshot_site){1, i + 1, 64 * (i + 1)};
        snapshot->sites[1] = (struct seep_snapshot_site){3, UINT64_MAX, UINT64_MAX};
    }
}

// A module with names of its own: as of the kernel, and absurd ones.
static void make_named(struct seep_session *session) {
    make_tiny(session);
    static const struct seep_symbol_name names[] = {{0x1000, 0x40, "kmem_cache_alloc_noprof"},
                                                    {0x1040, 1, "\xff\xfe"},
                                                    {0x1040, UINT64_MAX - 0x1040, "overlaps"},
                                                    {UINT64_MAX - 1, 1, "at the end"}};
    struct seep_module *module = &session->profiles[0]->modules[1];
    module->names = names;
    module->nr_names = SEEP_ARRAY_SIZE(names);
}

// Who holds what: a chain with every kind of link.
static struct seep_chain *make_chain(struct seep_profile *profile, const struct seep_link *links,
                                     uint32_t nr) {
    struct seep_chain *chain = room(profile, 1, sizeof(*chain));
    chain->links = room(profile, nr, sizeof(*links));
    memcpy(chain->links, links, nr * sizeof(*links));
    chain->nr_links = nr;
    return chain;
}

static void make_held(struct seep_profile *profile) {
    static const struct seep_link_frame frames[] = {{1, 0x1200, UINT64_C(0x7ffe00001000),
                                                     UINT64_C(0x7ffe00000f00), UINT64_C(0x7ffe00000ff0),
                                                     SEEP_LINK_NO_REGISTER},
                                                    {2, UINT64_MAX, 0, UINT64_MAX, 0, 32}};
    const struct seep_link all[] = {
        {.kind = SEEP_LINK_DATA, .id = 2, .at = 0x4010},
        {.kind = SEEP_LINK_STACK, .id = 42},
        {.kind = SEEP_LINK_STACK, .id = 42, .at = UINT64_C(0x7ffe00000f10), .nr_frames = 2, .frames = frames},
        {.kind = SEEP_LINK_REGISTER, .id = 43, .at = 0x5000, .nr_frames = 1, .frames = frames + 1},
        {.kind = SEEP_LINK_TLS, .id = 42},
        {.kind = SEEP_LINK_REALLOC, .id = 42},
        {.kind = SEEP_LINK_KEPT},
        {.kind = SEEP_LINK_IGNORED},
        {.kind = SEEP_LINK_TOLD, .at = 0x7000, .off = 8},
        {.kind = SEEP_LINK_MEMORY, .at = 0x8000, .off = UINT64_MAX},
        {.kind = SEEP_LINK_BLOCK, .id = 1, .at = 64, .off = 8, .vtable_module = 1, .vtable = 0x3d00},
        {.kind = SEEP_LINK_LEFT_OUT, .at = 7},
        {.kind = SEEP_LINK_BLOCK, .lost = true, .id = 1, .at = UINT64_MAX, .off = UINT32_MAX}};
    const struct seep_link several[] = {{.kind = SEEP_LINK_BLOCK, .whole = true, .id = 1, .at = 64},
                                        {.kind = SEEP_LINK_SEVERAL},
                                        {.kind = SEEP_LINK_TOO_LONG, .at = 4096}};
    const struct seep_link data = {.kind = SEEP_LINK_DATA, .whole = true, .id = 1, .at = 0x4000};
    profile->sites[1].held = make_chain(profile, all, SEEP_ARRAY_SIZE(all));
    profile->leaks.nr_holders_all = 5;
    profile->leaks.nr_holders = 2;
    profile->leaks.holders = room(profile, 2, sizeof(*profile->leaks.holders));
    profile->leaks.holders[0] =
        (struct seep_holder){make_chain(profile, several, SEEP_ARRAY_SIZE(several)), UINT64_MAX, 9};
    profile->leaks.holders[1] = (struct seep_holder){make_chain(profile, &data, 1), 1, 1};
    profile->sites[1].retained_bytes = 12345;
}

static void make_scanned(struct seep_session *session) {
    make_tiny(session);
    struct seep_profile *profile = session->profiles[0];
    struct seep_module *modules = room(profile, 3, sizeof(*modules));
    memcpy(modules, profile->modules, 2 * sizeof(*modules));
    modules[2] = modules[1];
    modules[2].path = "/lib/held.so";
    profile->modules = modules;
    profile->nr_modules = 3;
    struct seep_block *blocks = make_blocks(profile, 5);
    static const uint8_t kinds[] = {SEEP_KIND_LOST, SEEP_KIND_INDIRECT, SEEP_KIND_POSSIBLE,
                                    SEEP_KIND_REACHABLE, SEEP_KIND_INDIRECT};
    profile->block_kinds = room(profile, 5, 1);
    for (size_t i = 0; i < 5; i++) {
        blocks[i].address = 0x5000 + 0x100 * i;
        blocks[i].size = 64;
        profile->block_kinds[i] = kinds[i];
    }
    profile->leaks.known = true;
    profile->leaks.pause_ns = 1000000;
    profile->leaks.read_bytes = UINT64_MAX;
    profile->leaks.unread_bytes = 3;
    profile->leaks.nr_threads = 2;
    make_held(profile);
}

// Where the pointers of chains lead.
static void make_arrived(struct seep_session *session) {
    static const struct seep_link_step steps[] = {
        {.nr = 5, .bytes = 24, .off = 8, .arrival = 1},
        {.nr = 2, .bytes = UINT64_MAX, .off = UINT32_MAX, .vtable_module = 2, .vtable = UINT64_MAX}};
    make_scanned(session);
    struct seep_profile *profile = session->profiles[0];
    struct seep_chain *chain =
        make_chain(profile, profile->sites[1].held->links, profile->sites[1].held->nr_links);
    chain->links[10].arrival = 17;
    chain->links[11].steps = steps;
    chain->links[11].nr_steps = SEEP_ARRAY_SIZE(steps);
    profile->sites[1].held = chain;
}

// What a forked process began with; more than it has is none of it.
static void make_forked(struct seep_session *session) {
    for (int i = 0; i < 2; i++) {
        make_tiny(session);
        session->profiles[i]->process.pid += (uint32_t)i;
        session->profiles[i]->totals.inherited_blocks = i ? UINT64_MAX : 1;
        session->profiles[i]->totals.inherited_bytes = i ? UINT64_MAX : 40;
    }
}

static const struct recipe {
    const char *name;
    void (*make)(struct seep_session *session);
} recipes[] = {
    {"empty", make_empty},     {"tiny", make_tiny},       {"modules", make_modules}, {"cut", make_cut},
    {"huge", make_huge},       {"family", make_family},   {"large", make_large},     {"even", make_even},
    {"mapped", make_mapped},   {"pooled", make_pooled},   {"indexed", make_indexed}, {"grown", make_grown},
    {"named", make_named},     {"scanned", make_scanned}, {"forked", make_forked},   {"freed", make_freed},
    {"arrived", make_arrived},
};

static struct seep_session *make(const char *name) {
    struct seep_session *session;
    struct seep_error *error = seep_session_create(&session);
    if (error)
        fail(error);
    random_state = 1;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(recipes); i++)
        if (strcmp(recipes[i].name, name) == 0)
            recipes[i].make(session);
    for (size_t i = 0; i < session->nr_profiles; i++)
        seep_profile_derive(session->profiles[i]);
    return session;
}

// ---- Writing as JSON.

static json_t *number(uint64_t value) {
    char digits[24];
    snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
    return value > INT64_MAX ? json_string(digits) : json_integer((json_int_t)value);
}

static json_t *text(const char *bytes) {
    if (!bytes)
        return json_null();
    size_t length = strlen(bytes);
    char *utf8 = malloc(2 * length + 1);
    size_t used = 0;
    if (!utf8)
        abort();
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte >= 0x80)
            utf8[used++] = (char)(0xc0 | byte >> 6);
        utf8[used++] = (char)(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
    }
    json_t *json = json_stringn(utf8, used);
    free(utf8);
    return json;
}

static json_t *numbers(const uint64_t *values, size_t nr) {
    json_t *array = json_array();
    for (size_t i = 0; i < nr; i++)
        json_array_append_new(array, number(values[i]));
    return array;
}

static json_t *texts(const char *const *values, size_t nr) {
    json_t *array = json_array();
    for (size_t i = 0; i < nr; i++)
        json_array_append_new(array, text(values[i]));
    return array;
}

static void set(json_t *object, const char *key, json_t *value) {
    json_object_set_new(object, key, value);
}

static json_t *process_json(const struct seep_process *process) {
    json_t *json = json_object();
    set(json, "pid", number(process->pid));
    set(json, "ppid", number(process->ppid));
    set(json, "forked_from", number(process->forked_from));
    set(json, "is_main", json_boolean(process->is_main));
    set(json, "exe", text(process->exe));
    set(json, "args", texts(process->args, process->nr_args));
    set(json, "nr_args_all", number(process->nr_args_all));
    set(json, "start_realtime_ns", json_integer(process->start_realtime_ns));
    set(json, "duration_ns", json_integer(process->duration_ns));
    set(json, "exit_kind", number(process->exit_kind));
    set(json, "exit_value", json_integer(process->exit_value));
    return json;
}

static json_t *health_json(const struct seep_health *health) {
    json_t *json = json_object();
    set(json, "events", number(health->events));
    set(json, "lost", numbers(health->lost, SEEP_LOST_NR));
    set(json, "cut", numbers(health->cut, SEEP_CUT_NR));
    set(json, "stacks_cut", number(health->stacks_cut));
    set(json, "state", number(health->state));
    set(json, "passive_reason", number(health->passive_reason));
    set(json, "flags", number(health->flags));
    set(json, "preempted_by", text(health->preempted_by));
    set(json, "depth_limit", number(health->depth_limit));
    set(json, "sample_bytes", number(health->sample_bytes));
    set(json, "notes", texts(health->notes, health->nr_notes));
    return json;
}

static json_t *totals_json(const struct seep_totals *totals) {
    json_t *json = json_object();
    set(json, "allocations", number(totals->allocations));
    set(json, "allocated_bytes", number(totals->allocated_bytes));
    set(json, "frees", number(totals->frees));
    set(json, "freed_bytes", number(totals->freed_bytes));
    set(json, "live_blocks", number(totals->live_blocks));
    set(json, "live_bytes", number(totals->live_bytes));
    set(json, "peak_bytes", number(totals->peak_bytes));
    set(json, "peak_exact", json_boolean(totals->peak_exact));
    set(json, "peak_error_bytes", number(totals->peak_error_bytes));
    set(json, "temporary", number(totals->temporary));
    set(json, "failed", number(totals->failed));
    set(json, "unknown_frees", number(totals->unknown_frees));
    set(json, "inherited", numbers((const uint64_t[]){totals->inherited_blocks, totals->inherited_bytes}, 2));
    set(json, "by_function", numbers(totals->by_function, SEEP_VIA_HEAP_NR));
    set(json, "releases", numbers(totals->releases, SEEP_RELEASE_NR));
    set(json, "size_class", numbers(totals->size_class, SEEP_IMAGE_SIZE_CLASSES));
    return json;
}

static json_t *module_json(const struct seep_module *module) {
    json_t *json = json_object();
    char hex[2 * sizeof(module->build_id) + 1] = "";
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", module->build_id[i]);
    set(json, "path", text(module->path));
    set(json, "bias_rt", number(module->bias_rt));
    set(json, "start_rt", number(module->start_rt));
    set(json, "end_rt", number(module->end_rt));
    set(json, "first_seen_ns", json_integer(module->first_seen_ns));
    set(json, "unloaded_ns", json_integer(module->unloaded_ns));
    set(json, "build_id", json_string(hex));
    json_t *names = json_array();
    for (uint32_t i = 0; i < module->nr_names; i++) {
        json_t *row = json_array();
        json_array_append_new(row, number(module->names[i].offset));
        json_array_append_new(row, number(module->names[i].bytes));
        json_array_append_new(row, text(module->names[i].name));
        json_array_append_new(names, row);
    }
    if (module->nr_names)
        set(json, "names", names);
    else
        json_decref(names);
    return json;
}

static json_t *counters_json(const struct seep_counters *counters) {
    const uint64_t values[] = {counters->allocations, counters->allocated_bytes, counters->frees,
                               counters->freed_bytes, counters->temporary,       counters->peak_bytes,
                               counters->size_min,    counters->size_max};
    return numbers(values, SEEP_ARRAY_SIZE(values));
}

static json_t *steps_json(const struct seep_link *link) {
    json_t *array = json_array();
    for (uint8_t i = 0; i < link->nr_steps; i++) {
        const struct seep_link_step *step = &link->steps[i];
        const uint64_t values[] = {step->nr,      step->bytes,         step->off,
                                   step->arrival, step->vtable_module, step->vtable};
        json_array_append_new(array, numbers(values, SEEP_ARRAY_SIZE(values)));
    }
    return array;
}

// The fields that a link of each kind has: seep_reader.py has the same table.
static json_t *link_json(const struct seep_link *link) {
    static const char *const fields[SEEP_LINK_NR] = {"t", "ia", "i",  "i",    "i", "i", "",
                                                     "",  "ao", "ao", "iaov", "",  "a", "a"};
    const char *has = fields[link->kind];
    json_t *json = json_object(), *frames = json_array();
    set(json, "kind", number(link->kind));
    set(json, "lost", number(link->lost));
    set(json, "whole", number(link->whole));
    if (strchr(has, 't'))
        set(json, "text", text(link->text));
    if (strchr(has, 'i'))
        set(json, "i", number(link->id));
    if (strchr(has, 'a'))
        set(json, "a", number(link->at));
    if (strchr(has, 'o'))
        set(json, "o", number(link->off));
    if (strchr(has, 'v')) {
        set(json, "vtable_module", number(link->vtable_module));
        set(json, "vtable", number(link->vtable));
    }
    if (link->arrival)
        set(json, "arrival", number(link->arrival));
    if (link->nr_steps)
        set(json, "steps", steps_json(link));
    for (uint8_t i = 0; i < link->nr_frames; i++) {
        const struct seep_link_frame *frame = &link->frames[i];
        json_t *row = json_object();
        set(row, "module", number(frame->module));
        set(row, "address", number(frame->address));
        set(row, "cfa", number(frame->cfa));
        set(row, "sp", number(frame->sp));
        set(row, "bp", number(frame->bp));
        set(row, "reg", number(frame->reg));
        json_array_append_new(frames, row);
    }
    if (link->nr_frames) {
        set(json, "at", number(link->at));
        set(json, "frames", json_incref(frames));
    }
    json_decref(frames);
    return json;
}

static json_t *chain_json(const struct seep_chain *chain) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < chain->nr_links; i++)
        json_array_append_new(array, link_json(&chain->links[i]));
    return array;
}

// Only where a scan was made.
static void set_leaks(json_t *json, const struct seep_profile *profile) {
    const struct seep_leaks *leaks = &profile->leaks;
    if (!leaks->known)
        return;
    json_t *object = json_object(), *kinds = json_array(), *holders = json_array(), *chains = json_object(),
           *held = json_object(), *of_holders = json_array();
    for (size_t i = 0; i < profile->nr_blocks; i++)
        json_array_append_new(kinds, number(profile->block_kinds[i]));
    set(object, "pause_ns", json_integer(leaks->pause_ns));
    set(object, "read_bytes", number(leaks->read_bytes));
    set(object, "unread_bytes", number(leaks->unread_bytes));
    set(object, "nr_threads", number(leaks->nr_threads));
    set(object, "kinds", kinds);
    set(object, "held_by", json_object());
    for (uint32_t i = 0; i < leaks->nr_holders; i++) {
        json_t *row = json_object();
        set(row, "what", json_null());
        set(row, "blocks", number(leaks->holders[i].blocks));
        set(row, "bytes", number(leaks->holders[i].bytes));
        json_array_append_new(holders, row);
        json_array_append_new(of_holders, chain_json(leaks->holders[i].chain));
    }
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        char id[16];
        snprintf(id, sizeof(id), "%u", i);
        set(json_array_get(json_object_get(json, "sites"), i), "retained_bytes",
            number(profile->sites[i].retained_bytes));
        if (profile->sites[i].held)
            set(held, id, chain_json(profile->sites[i].held));
    }
    set(chains, "sites", held);
    set(chains, "holders", of_holders);
    set(json, "leaks", object);
    set(json, "holders", holders);
    set(json, "chains", chains);
}

static json_t *site_json(const struct seep_site *site) {
    json_t *json = json_object();
    set(json, "node", number(site->node));
    set(json, "via", number(site->via));
    set(json, "counters", counters_json(&site->counters));
    set(json, "live_blocks", number(site->live_blocks));
    set(json, "live_bytes", number(site->live_bytes));
    return json;
}

static json_t *thread_json(const struct seep_thread *thread) {
    json_t *json = json_object();
    set(json, "tid", number(thread->tid));
    set(json, "nr_owners", number(thread->nr_owners));
    set(json, "name", text(thread->name));
    set(json, "allocations", number(thread->allocations));
    set(json, "allocated_bytes", number(thread->allocated_bytes));
    set(json, "frees", number(thread->frees));
    set(json, "freed_bytes", number(thread->freed_bytes));
    return json;
}

static json_t *map_counts_json(const struct seep_map_counts *counts) {
    const uint64_t values[] = {counts->maps, counts->mapped_bytes, counts->unmaps, counts->unmapped_bytes,
                               counts->peak_bytes};
    return numbers(values, SEEP_ARRAY_SIZE(values));
}

static void set_annotations(json_t *json, const struct seep_profile *profile) {
    const struct seep_pool_totals *totals = &profile->pool_totals;
    const uint64_t figures[] = {totals->pools_created, totals->pools_destroyed, totals->unknown_frees};
    json_t *pools = json_array(), *pieces = json_array(), *marks = json_array(), *snapshots = json_array();
    for (uint32_t i = 0; i < profile->nr_pools; i++) {
        json_t *row = json_array();
        json_array_append_new(row, number(profile->pools[i].handle));
        json_array_append_new(row, text(profile->pools[i].name));
        json_array_append_new(row, number(profile->pools[i].site));
        json_array_append_new(row, json_integer(profile->pools[i].age_ns));
        json_array_append_new(pools, row);
    }
    for (uint32_t i = 0; i < profile->nr_pieces; i++) {
        const struct seep_piece *piece = &profile->pieces[i];
        const uint64_t row[] = {piece->address, piece->bytes, piece->site,
                                piece->pool == UINT32_MAX ? 0 : (uint64_t)piece->pool + 1};
        json_t *array = numbers(row, 4);
        json_array_append_new(array, json_integer(piece->age_ns));
        json_array_append_new(pieces, array);
    }
    for (uint32_t i = 0; i < profile->nr_marks; i++) {
        const struct seep_mark *mark = &profile->marks[i];
        json_t *rows = json_array();
        for (uint32_t j = 0; j < mark->nr_sites; j++) {
            const struct seep_mark_site *site = &mark->sites[j];
            const uint64_t row[] = {site->site,  site->allocations, site->allocated_bytes,
                                    site->frees, site->freed_bytes, site->temporary};
            json_array_append_new(rows, numbers(row, 6));
        }
        json_t *array = json_array();
        json_array_append_new(array, text(mark->name));
        json_array_append_new(array, json_integer(mark->at_ns));
        json_array_append_new(array, number(mark->tid));
        json_array_append_new(array, json_boolean(mark->counted));
        json_array_append_new(array, rows);
        json_array_append_new(marks, array);
    }
    for (uint32_t i = 0; i < profile->nr_snapshots; i++) {
        const struct seep_snapshot *snapshot = &profile->snapshots[i];
        json_t *rows = json_array(), *array = json_array();
        for (uint32_t j = 0; j < snapshot->nr_sites; j++) {
            const struct seep_snapshot_site *site = &snapshot->sites[j];
            const uint64_t row[] = {site->site, site->live_blocks, site->live_bytes};
            json_array_append_new(rows, numbers(row, 3));
        }
        json_array_append_new(array, json_integer(snapshot->at_ns));
        json_array_append_new(array, number(snapshot->rss_bytes));
        json_array_append_new(array, number(snapshot->used_bytes));
        json_array_append_new(array, rows);
        json_array_append_new(snapshots, array);
    }
    json_t *limit = json_array();
    json_array_append_new(limit, number(profile->limit_bytes));
    json_array_append_new(limit, text(profile->limit));
    set(json, "snapshots", snapshots);
    set(json, "limit", limit);
    set(json, "pool_totals", numbers(figures, 3));
    set(json, "pools", pools);
    set(json, "pieces", pieces);
    set(json, "marks", marks);
}

static json_t *profile_json(const struct seep_profile *profile) {
    json_t *json = json_object();
    set(json, "process", process_json(&profile->process));
    set(json, "health", health_json(&profile->health));
    set(json, "totals", totals_json(&profile->totals));
    json_t *modules = json_array(), *nodes = json_array(), *sites = json_array(), *threads = json_array(),
           *thread_sites = json_array(), *blocks = json_array();
    for (uint32_t i = 0; i < profile->nr_modules; i++)
        json_array_append_new(modules, module_json(&profile->modules[i]));
    for (uint32_t i = 0; i < profile->nr_nodes; i++) {
        const struct seep_node *node = &profile->nodes[i];
        const uint64_t row[] = {node->parent, node->module, node->offset, node->exact, node->kind};
        json_array_append_new(nodes, numbers(row, 5));
    }
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        json_array_append_new(sites, site_json(&profile->sites[i]));
    for (uint32_t i = 0; i < profile->nr_threads; i++)
        json_array_append_new(threads, thread_json(&profile->threads[i]));
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        const struct seep_thread_site *row = &profile->thread_sites[i];
        json_t *pair = json_array();
        json_array_append_new(pair, number(row->site));
        json_array_append_new(pair, number(row->thread));
        json_array_append_new(pair, counters_json(&row->counters));
        json_array_append_new(thread_sites, pair);
    }
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        const uint64_t row[] = {block->address, block->size, block->site, block->thread};
        json_t *array = numbers(row, 4);
        json_array_append_new(array, json_integer(block->age_ns));
        json_array_append_new(blocks, array);
    }
    set(json, "modules", modules);
    set(json, "nodes", nodes);
    set(json, "sites", sites);
    set(json, "threads", threads);
    set(json, "thread_sites", thread_sites);
    set(json, "blocks", blocks);
    set_leaks(json, profile);
    json_t *map_sites = json_array(), *mappings = json_array(), *wrong_releases = json_array();
    for (uint32_t i = 0; i < profile->nr_map_sites; i++) {
        json_t *row = map_counts_json(&profile->map_sites[i].counts);
        json_array_insert_new(row, 0, number(profile->map_sites[i].site));
        json_array_append_new(map_sites, row);
    }
    for (uint32_t i = 0; i < profile->nr_mappings; i++) {
        const struct seep_mapped *mapping = &profile->mappings[i];
        const uint64_t row[] = {mapping->start, mapping->bytes, mapping->site, mapping->kind};
        json_t *array = numbers(row, 4);
        json_array_append_new(array, json_integer(mapping->age_ns));
        json_array_append_new(mappings, array);
    }
    for (uint32_t i = 0; i < profile->nr_wrong_releases; i++) {
        const struct seep_wrong_release *wrong = &profile->wrong_releases[i];
        const uint64_t row[] = {wrong->kind,    wrong->site, wrong->release_site, wrong->count,
                                wrong->address, wrong->size, wrong->first_site};
        json_array_append_new(wrong_releases, numbers(row, 7));
    }
    if (profile->account.known) {
        const struct seep_account *a = &profile->account;
        const uint64_t figures[] = {a->rss_bytes, a->pss_bytes, a->swap_bytes, a->untouched_bytes};
        json_t *account = numbers(figures, 4);
        json_array_insert_new(account, 0, json_boolean(a->by_page));
        for (size_t i = 0; i < SEEP_ACCOUNT_NR; i++)
            json_array_append_new(account, number(a->bytes[i]));
        set(json, "account", account);
    }
    set(json, "map_totals", map_counts_json(&profile->map_totals));
    set(json, "map_sites", map_sites);
    set(json, "mappings", mappings);
    set(json, "wrong_releases", wrong_releases);
    set_annotations(json, profile);
    return json;
}

static json_t *session_json(const struct seep_session *session) {
    json_t *array = json_array();
    for (size_t i = 0; i < session->nr_profiles; i++)
        json_array_append_new(array, profile_json(session->profiles[i]));
    return array;
}

// ---- Commands.

static struct seep_session *load(const char *path) {
    struct seep_session *session;
    struct seep_error *error = seep_session_load(path, &session);
    if (error)
        fail(error);
    return session;
}

static int dump(const char *path) {
    struct seep_session *session;
    struct seep_error *error = seep_session_load(path, &session);
    if (error) {
        say(error);
        return 1;
    }
    json_t *json = session_json(session);
    int status = json_dumpf(json, stdout, JSON_COMPACT) == 0 ? 0 : 1;
    putchar('\n');
    json_decref(json);
    seep_session_destroy(session);
    return status;
}

static int same(const char *name, const char *path) {
    struct seep_session *made = make(name);
    struct seep_session *loaded = load(path);
    json_t *a = session_json(made);
    json_t *b = session_json(loaded);
    bool equal = json_equal(a, b);
    json_decref(a);
    json_decref(b);
    seep_session_destroy(made);
    seep_session_destroy(loaded);
    return equal ? 0 : 1;
}

static int save(const char *name, const char *path) {
    struct seep_session *session = make(name);
    struct seep_error *error = seep_session_save(session, path);
    if (error)
        fail(error);
    seep_session_destroy(session);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < SEEP_ARRAY_SIZE(recipes); i++)
            puts(recipes[i].name);
        return 0;
    }
    if (argc == 4 && strcmp(argv[1], "make") == 0)
        return save(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "same") == 0)
        return same(argv[2], argv[3]);
    if (argc >= 3 && strcmp(argv[1], "dump") == 0) {
        int status = 0;
        for (int i = 2; i < argc; i++)
            status |= dump(argv[i]);
        return status;
    }
    fputs("usage: make_traces list | make NAME FILE | same NAME FILE | dump FILE...\n", stderr);
    return 2;
}
