// SPDX-License-Identifier: BSD-2-Clause
//
// The C side of test_trace.py: makes sessions that are always the same, saves them, and writes a
// loaded trace as JSON (trace_json.h).
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

#include "file/session_file.h"
#include "names/symbols.h"
#include "trace_json.h"

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
    for (size_t i = 0; i < 16; i++)
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
    profile->health.notes[0] = (struct seep_note){.text = "first note"};
    profile->health.notes[1] = (struct seep_note){.text = ""};
    profile->health.nr_notes = 2;
    profile->process.exit_kind = SEEP_EXIT_SIGNAL;
    profile->process.exit_value = 9;
}

// A process of another machine: 32-bit PowerPC, big-endian.
static void make_foreign(struct seep_session *session) {
    make_tiny(session);
    session->profiles[0]->process.platform = (struct seep_platform){EM_PPC, 4, 1};
}

// libseep.so gave memory to the program before there was an allocator. A writer takes only what lies in the
// library; the golden file is older.
static void make_given(struct seep_session *session) {
    make_tiny(session);
    struct seep_profile *profile = session->profiles[0];
    static struct seep_image_range given = {.bytes = UINT64_C(0x800)};
    given.start = profile->modules[1].start_rt + 0x100;
    profile->hints.own = &given;
    profile->hints.nr_own = 1;
}

static void make_library(struct seep_session *session) {
    make_given(session);
    session->profiles[0]->modules[1].path = "/usr/lib/seep/libseep.so";
}

// Memory of the kernel: what slabs gave for it, by process.
static void make_slabs(struct seep_session *session) {
    make_tiny(session);
    struct seep_profile *profile = session->profiles[0];
    profile->sites[1].via = SEEP_VIA_KERNEL;
    profile->blocks[0].thread = 0;
    fill_thread_sites(profile, 0);
    profile->nr_thread_sites = 1;
    profile->thread_sites[0] = (struct seep_thread_site){1, 0, profile->sites[1].counters, 96};
}

// Codes that are known and one of a newer seep, as minor version 2 keeps them.
static void make_noted(struct seep_session *session) {
    make_tiny(session);
    struct seep_health *health = &session->profiles[0]->health;
    health->notes = room(session->profiles[0], 4, sizeof(*health->notes));
    health->notes[0] = (struct seep_note){SEEP_NOTE_DEEP_BOUND, SEEP_NOTE_MISSING, "opened"};
    health->notes[1] =
        (struct seep_note){SEEP_NOTE_SCAN_FAILED, SEEP_NOTE_UNSCANNED, "not traced: so it begins"};
    health->notes[2] = (struct seep_note){4711, SEEP_NOTE_UNTRACED, "later"};
    health->notes[3] = (struct seep_note){SEEP_NOTE_SAMPLED, 0, ""};
    health->nr_notes = 4;
    health->flags |= SEEP_HEALTH_MISSING;
}

static void make_huge(struct seep_session *session) {
    struct seep_profile *profile = make_profile(session, 3, 10, 10, 2);
    fill_tables(profile, UINT64_MAX);
    fill_thread_sites(profile, UINT64_MAX);
    fill_lists(profile);
    profile->process = (struct seep_process){.pid = UINT32_MAX,
                                             .ppid = UINT32_MAX,
                                             .forked_from = UINT32_MAX,
                                             .exe = "",
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
    profile->mapping_totals = (struct seep_mapping_counts){4, 0x9000, 2, 0x3000, 0x8000};
    profile->nr_mapping_sites = 2;
    profile->mapping_sites = room(profile, 2, sizeof(*profile->mapping_sites));
    profile->mapping_sites[0] =
        (struct seep_mapping_site){.site = 2, .counts = {3, 0x5000, 1, 0x1000, 0x5000}};
    profile->mapping_sites[1] = (struct seep_mapping_site){
        .site = 3, .counts = {UINT64_MAX, UINT64_MAX, UINT64_MAX - 1, 1, UINT64_MAX}};
    profile->nr_mappings = 3;
    profile->mappings = room(profile, 3, sizeof(*profile->mappings));
    profile->mappings[0] = (struct seep_mapping){0x10000, 0x4000, 2, 0, 5};
    profile->mappings[1] = (struct seep_mapping){0x7f0000000000, 1, 3, SEEP_MAPPING_BREAK, -1};
    profile->mappings[2] = (struct seep_mapping){UINT64_MAX - 10, 10, 3, UINT32_MAX, INT64_MAX};
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

// A module with lines of its own.
static void make_lined(struct seep_session *session) {
    make_tiny(session);
    static const struct seep_symbol_frame inner[] =
        {{.function = "inner", .file = "/src/a.c", .line = 5, .inlined = true},
         {.function = "outer", .file = "/src/a.c", .line = UINT32_MAX}},
                                          absurd[] = {{.file = "\xff\xfe"}}, none[] = {{.function = NULL}};
    static const struct seep_symbol_place places[] = {
        {0, none, 1}, {0x1136, inner, 2}, {0x1140, absurd, 1}, {UINT64_MAX, inner, 2}};
    struct seep_module *module = &session->profiles[0]->modules[1];
    module->places = places;
    module->nr_places = SEEP_ARRAY_SIZE(places);
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

// Several holders of one site: the one that its chain leads from, others.
// What the kernel keeps holds a block.
static void make_kernel(struct seep_session *session) {
    make_scanned(session);
    struct seep_profile *profile = session->profiles[0];
    const struct seep_link links[] = {{.kind = SEEP_LINK_EPOLL, .id = 3, .at = UINT32_MAX},
                                      {.kind = SEEP_LINK_TIMER, .id = UINT32_MAX},
                                      {.kind = SEEP_LINK_KERNEL, .id = UINT32_MAX, .at = SEEP_KERNEL_NR - 1},
                                      {.kind = SEEP_LINK_EPOLL, .whole = true, .id = 1}};
    profile->sites[1].held = make_chain(profile, links, SEEP_ARRAY_SIZE(links));
}

static void make_several(struct seep_session *session) {
    static const struct seep_held held[] = {{1, SEEP_KIND_INDIRECT, 2, 128, NULL},
                                            {1, SEEP_KIND_REACHABLE, UINT64_MAX, 1, NULL},
                                            {1, SEEP_KIND_REACHABLE, 1, UINT64_MAX, NULL}};
    make_arrived(session);
    struct seep_profile *profile = session->profiles[0];
    const struct seep_chain *chain = profile->sites[1].held;
    profile->leaks.nr_held = SEEP_ARRAY_SIZE(held);
    profile->leaks.held = room(profile, SEEP_ARRAY_SIZE(held), sizeof(*held));
    memcpy(profile->leaks.held, held, sizeof(held));
    profile->leaks.held[0].chain = profile->leaks.held[2].chain = chain;
    profile->leaks.held[1].chain = make_chain(profile, chain->links + 10, 3);
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
    {"arrived", make_arrived}, {"several", make_several}, {"kernel", make_kernel},   {"noted", make_noted},
    {"foreign", make_foreign}, {"slabs", make_slabs},     {"lined", make_lined},     {"given", make_given},
    {"library", make_library},
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
