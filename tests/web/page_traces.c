// SPDX-License-Identifier: BSD-2-Clause
//
// Traces for the tests and measurements of the page, always the same:
//
//   page_traces hostile FILE              names that try to be more than text
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

int main(int argc, char **argv) {
    struct seep_session *session;
    check(seep_session_create(&session));
    const char *file = argv[argc - 1];
    if (argc == 3 && strcmp(argv[1], "hostile") == 0) {
        make_hostile(session);
    } else if (argc == 5 && strcmp(argv[1], "sites") == 0) {
        make_sites(session, (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]));
    } else {
        fprintf(stderr, "usage: page_traces hostile FILE | sites N MOMENTS FILE\n");
        return 2;
    }
    seep_profile_derive(session->profiles[0]);
    session->profiles[0]->totals.peak_bytes = session->profiles[0]->totals.live_bytes;
    session->profiles[0]->totals.peak_exact = true;
    check(seep_session_save(session, file));
    seep_session_destroy(session);
    return 0;
}
