// SPDX-License-Identifier: BSD-2-Clause
//
// Traces for the tests and measurements of the page, always the same:
//
//   page_traces hostile FILE              names that try to be more than text
//   page_traces random SEED FILE          0 to 400 sites of random stacks, names that try the same, extreme figures
//   page_traces sites N MOMENTS FILE      N sites in stacks of about 50 frames, and what they had at MOMENTS moments
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file/session_file.h"
#include "names/symbols.h"

static void check(struct seep_error *error) {
    if (!error)
        return;
    fprintf(stderr, "page_traces: %s\n", error->message);
    exit(1);
}

static void *room(struct seep_profile *profile, size_t nr, size_t bytes) {
    void *memory = seep_arena_alloc(&profile->arena, nr, bytes);
    if (!memory)
        abort();
    return memory;
}

static struct seep_profile *make_profile(struct seep_session *session, uint32_t nr_modules, uint32_t nr_nodes,
                                         uint32_t nr_sites) {
    struct seep_profile *profile;
    check(seep_profile_create(&profile));
    check(seep_session_add(session, profile));
    struct seep_module none = profile->modules[0];
    profile->modules = room(profile, profile->nr_modules = nr_modules, sizeof(*profile->modules));
    profile->modules[0] = none;
    profile->nodes = room(profile, profile->nr_nodes = nr_nodes, sizeof(*profile->nodes));
    profile->sites = room(profile, profile->nr_sites = nr_sites, sizeof(*profile->sites));
    profile->process = (struct seep_process){.pid = 4711,
                                             .ppid = 1,
                                             .exe = "/opt/program",
                                             .start_realtime_ns = INT64_C(1700000000) * 1000000000,
                                             .duration_ns = INT64_C(3600) * 1000000000,
                                             .exit_kind = SEEP_EXIT_CODE,
                                             .is_main = true};
    return profile;
}

static void make_module(struct seep_module *module, const char *path, const struct seep_symbol_name *names,
                        uint32_t nr) {
    *module = (struct seep_module){.path = path,
                                   .start_rt = 0x1000,
                                   .end_rt = 0x100000000,
                                   .unloaded_ns = -1,
                                   .names = names,
                                   .nr_names = nr};
}

static void set_site(struct seep_site *site, uint32_t node, uint64_t blocks, uint64_t size, uint64_t freed) {
    *site = (struct seep_site){.node = node, .via = SEEP_VIA_MALLOC};
    site->counters = (struct seep_counters){.allocations = blocks + freed,
                                            .allocated_bytes = (blocks + freed) * size,
                                            .frees = freed,
                                            .freed_bytes = freed * size,
                                            .temporary = freed / 2,
                                            .peak_bytes = blocks * size,
                                            .size_min = size,
                                            .size_max = size};
}

// ---- hostile ----

static char long_name[10241];

static void make_hostile(struct seep_session *session) {
    for (size_t i = 0; i + 1 < sizeof(long_name); i++)
        long_name[i] = "std::vector<int, "[i % 17];
    static const char *const texts[] = {"<script>ran=1</script>",
                                        "</script><script>ran=2</script>",
                                        "<img src=x onerror=ran=3>",
                                        "a;b;c",
                                        "\"quoted\" 'twice' `thrice`",
                                        "two\nlines\tand\ra tab",
                                        "\x1b[31mred\x1b]0;title\x07",
                                        "\xc2\x9b\x33\x31mred\x7f\xe2\x80\x8b\xf3\xa0\x81\x81",
                                        "left\xe2\x80\xaethgir\xe2\x80\xac",
                                        "broken \xff\xfe\xc3 utf-8",
                                        "__proto__",
                                        "constructor",
                                        "@seep-times@",
                                        "${ran=4} {{ran}} javascript:ran=5",
                                        long_name};
    enum { NR = SEEP_ARRAY_SIZE(texts) };
    struct seep_profile *profile = make_profile(session, 3, NR + 1, NR + 1);
    struct seep_symbol_name *names = room(profile, NR, sizeof(*names));
    for (uint32_t i = 0; i < NR; i++)
        names[i] = (struct seep_symbol_name){0x1000 + 0x100 * (uint64_t)i, 0x100, texts[i]};
    make_module(&profile->modules[1], "/opt/<b>pro\xe2\x80\xaegram</b>", names, NR);
    make_module(&profile->modules[2], "/lib/__proto__", names, NR);
    for (uint32_t i = 1; i <= NR; i++) {
        profile->nodes[i] = (struct seep_node){
            .parent = i - 1, .module = 1 + i % 2, .offset = 0x1000 + 0x100 * (uint64_t)(i - 1) + 0x10};
        set_site(&profile->sites[i], i, i, 1000, i * 3);
    }
    static const char *const args[] = {"<h1>prog</h1>", "</title><script>ran=6</script>",
                                       ("\xe2\x80\xae"
                                        "args"),
                                       ""};
    profile->process.exe = "/opt/<i>program</i>";
    profile->process.args = (const char *const *)args;
    profile->process.nr_args = profile->process.nr_args_all = SEEP_ARRAY_SIZE(args);
    static struct seep_note notes[] = {{.text = "a note with </script> and <b>bold</b> \xe2\x80\xaeletters"}};
    profile->health.notes = notes;
    profile->health.nr_notes = 1;
}

// ---- many sites ----

// Source: splitmix64 (public domain, Sebastiano Vigna).
static uint64_t random_state = 42;
static uint64_t next_random(void) {
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

#define MODULES 40u
#define DEPTH   50u
#define STEP    0x40u // bytes of a function

static void name_modules(struct seep_profile *profile, uint32_t nr_functions) {
    static const char *const words[] = {"parse",  "load",    "update", "render", "merge",  "copy",
                                        "insert", "node",    "cache",  "table",  "string", "buffer",
                                        "index",  "request", "reply",  "session"};
    for (uint32_t m = 0; m < MODULES; m++) {
        uint32_t nr = nr_functions / MODULES + 1;
        struct seep_symbol_name *names = room(profile, nr, sizeof(*names));
        for (uint32_t i = 0; i < nr; i++) {
            char text[96];
            snprintf(text, sizeof(text), "%s::%s_%s%u", words[m % 16], words[next_random() % 16],
                     words[next_random() % 16], i);
            char *name = room(profile, strlen(text) + 1, 1);
            strcpy(name, text);
            names[i] = (struct seep_symbol_name){0x1000 + (uint64_t)i * STEP, STEP, name};
        }
        char *path = room(profile, 64, 1);
        snprintf(path, 64, m ? "/usr/lib/lib%s%u.so" : "/opt/%s%u", m ? words[m % 16] : "program", m);
        make_module(&profile->modules[m + 1], path, names, nr);
    }
}

// Stacks share their outer frames: each leaves the one before it at a random depth, near its end.
static void make_sites(struct seep_session *session, uint32_t nr_sites, uint32_t nr_moments) {
    uint32_t nr_functions = SEEP_MIN(30000u, nr_sites);
    size_t capacity = (size_t)nr_sites * 11 + DEPTH * 2;
    struct seep_profile *profile = make_profile(session, MODULES + 1, (uint32_t)capacity, nr_sites + 1);
    name_modules(profile, nr_functions);
    uint32_t path[2 * DEPTH] = {0}, nr_nodes = 1, depth = 0;
    for (uint32_t i = 1; i <= nr_sites; i++) {
        uint32_t leave = 1 + (uint32_t)(next_random() % 18);
        uint32_t from = depth > leave ? depth - leave : 0;
        uint32_t to = DEPTH + (uint32_t)(next_random() % 7);
        from = SEEP_MAX(from, to > 10 && depth ? to - 10 : 0);
        from = SEEP_MIN(from, depth);
        for (uint32_t at = from; at < to && nr_nodes < capacity; at++) {
            uint64_t module = next_random() % MODULES,
                     function = next_random() % (nr_functions / MODULES + 1);
            uint32_t parent = at ? path[at - 1] : 0;
            profile->nodes[nr_nodes] =
                (struct seep_node){.parent = parent,
                                   .module = (uint32_t)module + 1,
                                   .offset = 0x1000 + function * STEP + 1 + next_random() % (STEP - 2)};
            path[at] = nr_nodes++;
        }
        depth = to;
        uint64_t size = UINT64_C(16) << next_random() % 10;
        set_site(&profile->sites[i], path[depth - 1], next_random() % 50, size, next_random() % 2000);
    }
    profile->nr_nodes = nr_nodes;
    static const char *const marks[] = {"loaded", "<b>warm</b>", "busy"};
    for (uint32_t i = 0; i < SEEP_ARRAY_SIZE(marks); i++)
        check(seep_profile_add_mark(
            profile, &(struct seep_mark){.name = marks[i], .at_ns = INT64_C(600000000000) * (i * 2 + 1)}));
    profile->snapshots = room(profile, nr_moments + 1, sizeof(*profile->snapshots));
    profile->nr_snapshots = nr_moments;
    for (uint32_t m = 0; m < nr_moments; m++) {
        struct seep_snapshot *snapshot = &profile->snapshots[m];
        *snapshot = (struct seep_snapshot){.at_ns = (INT64_C(3600) * 1000000000) * (m + 1) / nr_moments,
                                           .rss_bytes = (UINT64_C(400) + 4 * m) << 20};
        snapshot->sites = room(profile, nr_sites, sizeof(*snapshot->sites));
        for (uint32_t i = 1; i <= nr_sites; i++) {
            const struct seep_counters *c = &profile->sites[i].counters;
            uint64_t blocks = (c->allocations - c->frees) * (m + 1) / nr_moments + next_random() % 3;
            if (m && next_random() % 4 == 0)
                continue;
            snapshot->sites[snapshot->nr_sites++] = (struct seep_snapshot_site){
                .site = i, .live_blocks = blocks, .live_bytes = blocks * c->size_min};
        }
    }
}

// ---- random ----

// Pieces of names: markup, escapes, separators, what JavaScript and templates read, half characters.
static char *random_name(struct seep_profile *profile) {
    static const char *const pieces[] = {"<script>ran=1</script>",
                                         "</script>",
                                         "<img src=x onerror=ran=2>",
                                         "<!--",
                                         "]]>",
                                         "&lt;b&gt;",
                                         "\"'`",
                                         "\\u003c\\",
                                         "\x1b]0;title\x07",
                                         "\xc2\x9b",
                                         "\xe2\x80\xae",
                                         "\xe2\x80\xa8",
                                         "\xf3\xa0\x81\x81",
                                         "\xff\xc3",
                                         "\xf0\x9f\x92\xa7",
                                         "\n",
                                         "\t",
                                         ";",
                                         "__proto__",
                                         "toString",
                                         "${ran=3}",
                                         "javascript:ran=4",
                                         "operator()(int, <x>::*)",
                                         "(.*+?^$|[]{})",
                                         " ",
                                         "0",
                                         "very_long_name_"};
    char text[2048] = "";
    size_t nr = 0;
    for (uint64_t left = next_random() % 5 ? next_random() % 4 : 60; left; left--) {
        const char *piece = pieces[next_random() % SEEP_ARRAY_SIZE(pieces)];
        memcpy(text + nr, piece, strlen(piece) + 1);
        nr += strlen(piece);
    }
    char *name = room(profile, nr + 1, 1);
    return strcpy(name, text);
}

// Mostly small; now and then as much as `most` has room for.
static uint64_t random_figure(uint64_t most) {
    static const uint64_t edges[] = {
        0, 1, 1023, 1024, 999499, UINT32_MAX, (UINT64_C(1) << 53) - 1, (UINT64_C(1) << 53) + 1, UINT64_MAX};
    uint64_t value = next_random() % 4 ? next_random() % 5000 : edges[next_random() % SEEP_ARRAY_SIZE(edges)];
    return SEEP_MIN(value, most);
}

static void random_nodes(struct seep_profile *profile) {
    for (uint32_t i = 1; i < profile->nr_nodes; i++) {
        uint32_t back = next_random() % 3 ? 1 : 1 + (uint32_t)(next_random() % i);
        profile->nodes[i] =
            (struct seep_node){.parent = next_random() % 30 ? i - SEEP_MIN(back, i) : 0,
                               .module = 1 + (uint32_t)(next_random() % (profile->nr_modules - 1)),
                               .offset = 0x1000 + next_random() % 0x2000};
    }
}

static void random_moments(struct seep_profile *profile) {
    uint32_t nr = (uint32_t)(next_random() % 4 * (next_random() % 20));
    profile->snapshots = room(profile, nr + 1, sizeof(*profile->snapshots));
    profile->nr_snapshots = nr;
    for (uint32_t m = 0; m < nr; m++) {
        struct seep_snapshot *snapshot = &profile->snapshots[m];
        *snapshot = (struct seep_snapshot){.at_ns = profile->process.duration_ns / (nr + 1) * (m + 1),
                                           .rss_bytes = random_figure(UINT64_C(1) << 50)};
        snapshot->sites = room(profile, profile->nr_sites, sizeof(*snapshot->sites));
        for (uint32_t i = 1; i < profile->nr_sites; i++)
            if (next_random() % 2)
                snapshot->sites[snapshot->nr_sites++] =
                    (struct seep_snapshot_site){.site = i,
                                                .live_blocks = next_random() % 1000,
                                                .live_bytes = random_figure(UINT64_C(1) << 50)};
    }
    for (uint64_t i = next_random() % 4; i; i--)
        check(seep_profile_add_mark(
            profile, &(struct seep_mark){
                         .name = i % 2 ? "<b>m</b>\x1b[31m" : "\xe2\x80\xae</script>",
                         .at_ns = (int64_t)(next_random() % (uint64_t)(profile->process.duration_ns + 1))}));
}

static void make_random(struct seep_session *session, uint64_t seed) {
    static const uint32_t numbers[] = {0, 1, 2, 7, 60, 400};
    random_state = seed;
    uint32_t nr_sites = numbers[seed % SEEP_ARRAY_SIZE(numbers)];
    struct seep_profile *profile =
        make_profile(session, 2 + (uint32_t)(next_random() % 5), 2 + 3 * nr_sites, nr_sites + 1);
    for (uint32_t m = 1; m < profile->nr_modules; m++) {
        uint32_t nr = (uint32_t)(next_random() % 40);
        struct seep_symbol_name *names = room(profile, nr + 1, sizeof(*names));
        for (uint32_t i = 0; i < nr; i++)
            names[i] = (struct seep_symbol_name){0x1000 + 0x100 * (uint64_t)i, 0x100, random_name(profile)};
        make_module(&profile->modules[m], random_name(profile), names, nr);
    }
    random_nodes(profile);
    for (uint32_t i = 1; i <= nr_sites; i++) {
        // All sums have room in 63 bits.
        uint64_t size = random_figure(UINT64_C(1) << 53), most = (UINT64_C(1) << 53) / (size + 1) + 1;
        set_site(&profile->sites[i], (uint32_t)(next_random() % profile->nr_nodes), random_figure(most), size,
                 random_figure(most));
    }
    profile->process.exe = random_name(profile);
    profile->process.duration_ns = (int64_t)random_figure(UINT64_C(1) << 60);
    static const char *args[3];
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(args); i++)
        args[i] = random_name(profile);
    profile->process.args = args;
    profile->process.nr_args = profile->process.nr_args_all = SEEP_ARRAY_SIZE(args);
    static struct seep_note note;
    note.text = random_name(profile);
    profile->health.notes = &note;
    profile->health.nr_notes = 1;
    random_moments(profile);
}

int main(int argc, char **argv) {
    struct seep_session *session;
    check(seep_session_create(&session));
    const char *file = argv[argc - 1];
    if (argc == 3 && strcmp(argv[1], "hostile") == 0) {
        make_hostile(session);
    } else if (argc == 5 && strcmp(argv[1], "sites") == 0) {
        make_sites(session, (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
    } else if (argc == 4 && strcmp(argv[1], "random") == 0) {
        make_random(session, strtoull(argv[2], NULL, 10));
    } else {
        fprintf(stderr, "usage: page_traces hostile FILE | sites N MOMENTS FILE | random SEED FILE\n");
        return 2;
    }
    seep_profile_derive(session->profiles[0]);
    session->profiles[0]->totals.peak_bytes = session->profiles[0]->totals.live_bytes;
    session->profiles[0]->totals.peak_exact = true;
    check(seep_session_save(session, file));
    seep_session_destroy(session);
    return 0;
}
