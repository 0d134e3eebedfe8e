// SPDX-License-Identifier: BSD-2-Clause
// Hand-made profiles for tests, see synthetic.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "synthetic.h"

static void *must(void *memory) {
    if (!memory)
        abort();
    return memory;
}

static void check(struct seep_error *error) {
    if (error) {
        fprintf(stderr, "%s\n", error->message);
        abort();
    }
}

static void limit(size_t nr) {
    if (nr >= SYNTHETIC_MAX)
        abort();
}

// ---- profiles ----

static void *room(struct seep_profile *profile, const void *first, size_t size) {
    char *array = must(seep_arena_alloc(&profile->arena, SYNTHETIC_MAX, size));
    if (first)
        memcpy(array, first, size);
    return array;
}

struct seep_profile *synthetic_profile(uint32_t pid, const char *exe) {
    struct seep_profile *profile = NULL;
    check(seep_profile_create(&profile));
    profile->modules = room(profile, profile->modules, sizeof(*profile->modules));
    profile->nodes = room(profile, profile->nodes, sizeof(*profile->nodes));
    profile->sites = room(profile, profile->sites, sizeof(*profile->sites));
    profile->threads = room(profile, NULL, sizeof(*profile->threads));
    profile->thread_sites = room(profile, NULL, sizeof(*profile->thread_sites));
    profile->blocks = room(profile, NULL, sizeof(*profile->blocks));
    profile->process.pid = pid;
    profile->process.ppid = 1;
    profile->process.exe = exe;
    profile->process.start_realtime_ns = 1700000000123000000;
    profile->process.duration_ns = 1234000000;
    profile->process.exit_kind = SEEP_EXIT_CODE;
    profile->health.state = SEEP_STATE_EXITED;
    profile->totals.peak_exact = true;
    return profile;
}

uint32_t synthetic_module(struct seep_profile *profile, const char *path) {
    limit(profile->nr_modules);
    struct seep_module *module = &profile->modules[profile->nr_modules];
    *module = (struct seep_module){.path = path, .unloaded_ns = -1, .build_id_bytes = 4};
    memcpy(module->build_id, "id01", 4);
    return profile->nr_modules++;
}

uint32_t synthetic_node(struct seep_profile *profile, uint32_t parent, uint32_t module, uint64_t offset) {
    limit(profile->nr_nodes);
    profile->nodes[profile->nr_nodes] =
        (struct seep_node){.parent = parent, .module = module, .offset = offset};
    return profile->nr_nodes++;
}

uint32_t synthetic_cut(struct seep_profile *profile, enum seep_cut reason) {
    uint32_t node = synthetic_node(profile, 0, 0, reason);
    profile->nodes[node].kind = SEEP_NODE_CUT;
    return node;
}

uint32_t synthetic_thread(struct seep_profile *profile, uint32_t tid, const char *name) {
    limit(profile->nr_threads);
    struct seep_thread *thread = &profile->threads[profile->nr_threads];
    *thread = (struct seep_thread){.tid = tid, .nr_owners = 1};
    snprintf(thread->name, sizeof(thread->name), "%s", name);
    return profile->nr_threads++;
}

uint32_t synthetic_site(struct seep_profile *profile, uint32_t node, uint32_t via, uint32_t thread,
                        uint64_t size, uint64_t allocations, uint64_t frees, uint64_t temporary) {
    limit(profile->nr_sites);
    limit(profile->nr_thread_sites);
    uint32_t site = profile->nr_sites++;
    struct seep_counters counters = {.allocations = allocations,
                                     .allocated_bytes = allocations * size,
                                     .frees = frees,
                                     .freed_bytes = frees * size,
                                     .temporary = temporary,
                                     .peak_bytes = (allocations - frees + (frees ? 1 : 0)) * size,
                                     .size_min = size,
                                     .size_max = size};
    profile->sites[site] = (struct seep_site){.node = node, .via = via, .counters = counters};
    profile->thread_sites[profile->nr_thread_sites++] = (struct seep_thread_site){site, thread, counters};
    unsigned bits = size ? 64 - (unsigned)__builtin_clzll(size) : 0;
    profile->totals.size_class[bits] += allocations;
    return site;
}

void synthetic_block(struct seep_profile *profile, uint32_t site, uint64_t address, uint64_t size,
                     uint32_t thread, int64_t age_ns) {
    limit(profile->nr_blocks);
    profile->blocks[profile->nr_blocks++] = (struct seep_block){address, size, site, thread, age_ns};
}

// ---- symbols ----

static const struct synthetic_symbol *symbol_table;
static size_t nr_symbols;
static unsigned nr_resolved;

struct seep_symbols {
    const char *modules[SYNTHETIC_MAX];
    unsigned nr_modules;
    struct seep_symbol results[SYNTHETIC_MAX];
    unsigned nr_results;
};

void synthetic_symbols(const struct synthetic_symbol *table, size_t nr) {
    symbol_table = table;
    nr_symbols = nr;
    nr_resolved = 0;
}

unsigned synthetic_resolved(void) {
    return nr_resolved;
}

struct seep_error *seep_symbols_create(const struct seep_symbols_options *options,
                                       struct seep_symbols **ret_symbols) {
    *ret_symbols = must(calloc(1, sizeof(**ret_symbols)));
    return NULL;
}

void seep_symbols_destroy(struct seep_symbols *symbols) {
    free(symbols);
}

struct seep_error *seep_symbols_module(struct seep_symbols *symbols, const char *path,
                                       const uint8_t *build_id, size_t build_id_bytes, unsigned *ret_module) {
    limit(symbols->nr_modules);
    symbols->modules[symbols->nr_modules] = path;
    *ret_module = symbols->nr_modules++;
    return NULL;
}

struct seep_error *seep_symbols_add_places(struct seep_symbols *symbols, unsigned module,
                                           const struct seep_symbol_place *places, size_t nr) {
    (void)symbols;
    (void)module;
    (void)places;
    (void)nr;
    return NULL;
}

struct seep_error *seep_symbols_add_names(struct seep_symbols *symbols, unsigned module,
                                          const struct seep_symbol_name *names, size_t nr) {
    (void)symbols;
    (void)module;
    (void)names;
    (void)nr;
    return NULL;
}

struct seep_error *seep_symbols_resolve(struct seep_symbols *symbols, unsigned module, uint64_t offset,
                                        bool exact, const struct seep_symbol **ret_symbol) {
    static const struct seep_symbol_frame unknown_frame = {0};
    static const struct seep_symbol unknown = {&unknown_frame, 1};
    nr_resolved++;
    *ret_symbol = &unknown;
    for (size_t i = 0; i < nr_symbols; i++) {
        if (symbol_table[i].offset != offset || strcmp(symbol_table[i].module, symbols->modules[module]) != 0)
            continue;
        limit(symbols->nr_results);
        struct seep_symbol *result = &symbols->results[symbols->nr_results++];
        *result = (struct seep_symbol){symbol_table[i].frames, symbol_table[i].nr_frames};
        *ret_symbol = result;
    }
    return NULL;
}

struct seep_error *seep_symbols_variable(struct seep_symbols *symbols, unsigned module, uint64_t offset,
                                         const char **ret_name, uint64_t *ret_variable_offset) {
    (void)symbols;
    (void)module;
    (void)offset;
    *ret_name = NULL;
    *ret_variable_offset = 0;
    return NULL;
}

void seep_symbols_close_files(struct seep_symbols *symbols) {
    (void)symbols;
}

// Without debug information.
struct seep_error *seep_symbols_global(struct seep_symbols *symbols, unsigned module, uint64_t offset,
                                       bool whole, struct seep_variable *ret_variable) {
    (void)symbols, (void)module, (void)offset, (void)whole;
    *ret_variable = (struct seep_variable){NULL};
    return NULL;
}

struct seep_error *seep_symbols_local(struct seep_symbols *symbols, unsigned module,
                                      const struct seep_call_frame *frame,
                                      const struct seep_thread_stack *stack, uint64_t address, uint64_t value,
                                      struct seep_variable *ret_variable) {
    (void)symbols, (void)module, (void)frame, (void)stack, (void)address, (void)value;
    *ret_variable = (struct seep_variable){NULL};
    return NULL;
}

struct seep_error *seep_symbols_declare(struct seep_symbols *symbols, const struct seep_type *type,
                                        const char *name, const char **ret_text) {
    (void)symbols, (void)type, (void)name;
    *ret_text = NULL;
    return NULL;
}

struct seep_error *seep_symbols_pointee(struct seep_symbols *symbols, const struct seep_type *type,
                                        const struct seep_type **ret_type) {
    (void)symbols, (void)type;
    *ret_type = NULL;
    return NULL;
}

bool seep_symbols_types_are_same(const struct seep_type *a, const struct seep_type *b) {
    return a == b;
}

struct seep_error *seep_symbols_class(struct seep_symbols *symbols, unsigned module, const char *name,
                                      const struct seep_type **ret_type) {
    (void)symbols, (void)module, (void)name;
    *ret_type = NULL;
    return NULL;
}

struct seep_error *seep_symbols_member(struct seep_symbols *symbols, const struct seep_pointed *pointed,
                                       uint64_t off, struct seep_variable *ret_member) {
    (void)symbols, (void)pointed, (void)off;
    *ret_member = (struct seep_variable){NULL};
    return NULL;
}

struct seep_error *seep_symbols_called_import(struct seep_symbols *symbols, unsigned module,
                                              uint64_t return_address, const char **ret_name) {
    *ret_name = NULL;
    return NULL;
}

struct seep_error *seep_symbols_has_cxx_runtime(struct seep_symbols *symbols, unsigned module,
                                                bool *ret_has) {
    *ret_has = false;
    return NULL;
}

enum seep_symbols_quality seep_symbols_quality(const struct seep_symbols *symbols, unsigned module) {
    for (size_t i = 0; i < nr_symbols; i++)
        if (strcmp(symbol_table[i].module, symbols->modules[module]) == 0)
            return SEEP_SYMBOLS_DEBUG;
    return SEEP_SYMBOLS_NONE;
}

const char *seep_symbols_trouble(const struct seep_symbols *symbols, unsigned module) {
    return seep_symbols_quality(symbols, module) == SEEP_SYMBOLS_NONE ? "file is gone" : NULL;
}

// ---- sessions ----

#define APP  "/opt/app/bin/app"
#define LIB  "/usr/lib/libparse.so.2"
#define LIBC "/usr/lib/libc.so.6"

static const struct synthetic_symbol plain_symbols[] = {
    {APP, 0x1010, {{"load_file", "/src/app/load.c", 42, true}, {"load_all", "/src/app/load.c", 77}}, 2},
    {APP, 0x1020, {{"main", "/src/app/main.c", 12}}, 1},
    {APP, 0x1030, {{"walk", "/src/app/walk.c", 8}}, 1},
    {APP, 0x1040, {{"visit", "/src/app/walk.c", 20}}, 1},
    {APP, 0x1050, {{"walk", "/src/app/walk.c", 9}}, 1},
    {LIB, 0x2010, {{"parse_line", "/build/libparse/main.c", 300}}, 1},
    {LIB, 0x2020, {{"parse_init", NULL, 0, false, 0x1c}}, 1},
    {LIBC, 0x3010, {{"strdup", "/build/glibc/string/strdup.c", 42}}, 1},
    {LIBC, 0x3020, {{"__libc_start_main", NULL, 0, false, 0x85}}, 1},
};

static struct seep_session *session_of(struct seep_profile *profile) {
    struct seep_session *session = NULL;
    check(seep_session_create(&session));
    seep_profile_derive(profile);
    check(seep_session_add(session, profile));
    return session;
}

struct seep_session *synthetic_leaky(void) {
    static const char *const args[] = {"./app", "--in", "data file.txt"};
    synthetic_symbols(plain_symbols, SEEP_ARRAY_SIZE(plain_symbols));
    struct seep_profile *p = synthetic_profile(4242, APP);
    p->process.args = args;
    p->process.nr_args = p->process.nr_args_all = 3;
    uint32_t app = synthetic_module(p, APP), lib = synthetic_module(p, LIB), libc = synthetic_module(p, LIBC);
    uint32_t t0 = synthetic_thread(p, 4242, "app"), t1 = synthetic_thread(p, 4243, "worker");
    uint32_t start = synthetic_node(p, 0, libc, 0x3020);
    uint32_t main_node = synthetic_node(p, start, app, 0x1020);
    uint32_t load = synthetic_node(p, main_node, app, 0x1010);
    uint32_t parse = synthetic_node(p, load, lib, 0x2010);
    uint32_t dup = synthetic_node(p, parse, libc, 0x3010);
    uint32_t deep = main_node; // main > walk > visit > walk > visit > walk > visit, then walk x4
    for (int i = 0; i < 3; i++)
        deep = synthetic_node(p, synthetic_node(p, deep, app, 0x1030), app, 0x1040);
    for (int i = 0; i < 4; i++)
        deep = synthetic_node(p, deep, app, 0x1050);
    uint32_t a = synthetic_site(p, dup, SEEP_VIA_MALLOC, t0, 1000, 12, 2, 0);
    uint32_t b = synthetic_site(p, deep, SEEP_VIA_CALLOC, t1, 64, 1000, 995, 900);
    synthetic_site(p, load, SEEP_VIA_REALLOC, t0, 4096, 3, 3, 3);
    uint32_t d =
        synthetic_site(p, synthetic_node(p, main_node, lib, 0x2020), SEEP_VIA_MALLOC, t0, 1, 1, 0, 0);
    synthetic_site(p, 0, SEEP_VIA_MALLOC, t1, 8, 2, 2, 0);
    for (unsigned i = 0; i < 10; i++)
        synthetic_block(p, a, 0x55550000 + i * 0x400, 1000, t0, (int64_t)i * 100000000);
    for (unsigned i = 0; i < 5; i++)
        synthetic_block(p, b, 0x55560000 + i * 0x50, 64, t1, 50000000);
    synthetic_block(p, d, 0x55570000, 1, t0, 1200000000);
    p->totals.peak_bytes = 23456;
    p->totals.failed = 1;
    return session_of(p);
}

struct seep_session *synthetic_clean(void) {
    synthetic_symbols(plain_symbols, SEEP_ARRAY_SIZE(plain_symbols));
    struct seep_profile *p = synthetic_profile(77, APP);
    uint32_t app = synthetic_module(p, APP);
    uint32_t t0 = synthetic_thread(p, 77, "app");
    uint32_t main_node = synthetic_node(p, 0, app, 0x1020);
    synthetic_site(p, synthetic_node(p, main_node, app, 0x1010), SEEP_VIA_NEW, t0, 24, 5000, 5000, 4999);
    synthetic_site(p, main_node, SEEP_VIA_NEW_ARRAY, t0, 100000, 2, 2, 0);
    p->totals.peak_bytes = 200024;
    return session_of(p);
}

struct seep_session *synthetic_empty(void) {
    synthetic_symbols(NULL, 0);
    return session_of(synthetic_profile(5, "/bin/true"));
}

struct seep_session *synthetic_hurt(void) {
    static struct seep_note notes[] = {
        {SEEP_NOTE_TRACE_CUT, SEEP_NOTE_MISSING, "the trace was cut at its end"}};
    synthetic_symbols(plain_symbols, SEEP_ARRAY_SIZE(plain_symbols));
    struct seep_profile *p = synthetic_profile(900, APP);
    uint32_t app = synthetic_module(p, APP), gone = synthetic_module(p, "/tmp/plugin.so");
    uint32_t t0 = synthetic_thread(p, 900, "app");
    uint32_t cut = synthetic_cut(p, SEEP_CUT_NO_CFI);
    uint32_t jit = synthetic_node(p, cut, 0, 0x7f0012345678);
    synthetic_site(p, synthetic_node(p, jit, gone, 0x1234), SEEP_VIA_MALLOC, t0, 10, 10, 0, 0);
    synthetic_site(p, synthetic_node(p, synthetic_cut(p, SEEP_CUT_DEPTH), app, 0x1020), SEEP_VIA_MALLOC, t0,
                   3, 4, 1, 0);
    p->health.lost[SEEP_LOST_REENTERED] = 3;
    p->health.lost[SEEP_LOST_PASSIVE] = 1200;
    p->health.cut[SEEP_CUT_NO_CFI] = 1;
    p->health.cut[SEEP_CUT_DEPTH] = 1;
    p->health.state = SEEP_STATE_PASSIVE;
    p->health.passive_reason = SEEP_PASSIVE_NO_MAP;
    p->health.flags = SEEP_FLAG_PREEMPTED;
    p->health.preempted_by = "/usr/lib/libother.so";
    p->health.notes = notes;
    p->health.nr_notes = 1;
    p->health.flags |= SEEP_HEALTH_MISSING;
    p->process.exit_kind = SEEP_EXIT_SIGNAL;
    p->process.exit_value = 11;
    p->process.duration_ns = 125000000000;
    p->totals.peak_bytes = 100000;
    p->totals.peak_exact = false;
    p->totals.peak_error_bytes = 4096;
    p->totals.unknown_frees = 7;
    return session_of(p);
}

struct seep_session *synthetic_family(void) {
    synthetic_symbols(plain_symbols, SEEP_ARRAY_SIZE(plain_symbols));
    struct seep_session *session = NULL;
    for (uint32_t i = 0; i < 3; i++) {
        struct seep_profile *p = synthetic_profile(100 + i, i == 2 ? "/usr/bin/helper" : APP);
        // Other modules and an other order: ids differ, stacks do not.
        if (i == 1)
            synthetic_module(p, "/usr/lib/libfirst.so");
        uint32_t app = synthetic_module(p, APP);
        uint32_t t = synthetic_thread(p, 100 + i, "app");
        uint32_t main_node = synthetic_node(p, 0, app, 0x1020);
        synthetic_site(p, synthetic_node(p, main_node, app, 0x1010), SEEP_VIA_MALLOC, t, 100, 10 + i, 5, 0);
        if (i == 2)
            synthetic_site(p, main_node, SEEP_VIA_MALLOC, t, 7, 1, 0, 0);
        p->totals.peak_bytes = 1500;
        p->process.ppid = i ? 100 : 1;
        p->process.is_main = i == 0;
        if (i == 1) {
            p->health.flags = SEEP_FLAG_FORKED;
            p->totals.inherited_blocks = 5;
            p->totals.inherited_bytes = 500;
            p->process.forked_from = 100;
            p->process.exit_kind = SEEP_EXIT_SIGNAL;
            p->process.exit_value = 9;
        }
        if (!session) {
            session = session_of(p);
        } else {
            seep_profile_derive(p);
            check(seep_session_add(session, p));
        }
    }
    return session;
}

struct seep_session *synthetic_strange(void) {
#define STRANGE "/opt/caf\xc3\xa9/pro\033[31mgram"
    static const struct synthetic_symbol table[] = {
        {STRANGE,
         0x10,
         {{"std::vector<std::map<std::__cxx11::basic_string<char>, int> >::_M_realloc_insert<int const&>(int "
           "const&)",
           "/usr/include/c++/12/bits/vector.tcc", 500, true},
          {"void app::Cache<std::map<int, long>, 16ul>::insert<app::Key>(app::Key&&) const",
           "/src/\xe6\x97\xa5\xe6\x9c\xac/cache, \"new\".cpp", 10}},
         2},
        {STRANGE,
         0x20,
         {{"evil\033]0;title\007\n\xe2\x80\xae"
           "desrever\xff",
           "/src/a\tb.c", 1}},
         1},
        {STRANGE, 0x30, {{"=cmd()", "/src/x/main.c", 2}}, 1},
        {STRANGE, 0x40, {{"other", "/src/y/main.c", 3}}, 1},
    };
    static const char *const args[] = {"prog\033[2J", "two\nlines", "\xc3\xa9t\xc3\xa9", "bad\xfe"};
    synthetic_symbols(table, SEEP_ARRAY_SIZE(table));
    struct seep_profile *p = synthetic_profile(31337, STRANGE);
    p->process.args = args;
    p->process.nr_args = 4;
    p->process.nr_args_all = 1004;
    uint32_t m = synthetic_module(p, STRANGE);
    uint32_t t = synthetic_thread(p, 31337, "na\033me");
    uint32_t outer = synthetic_node(p, synthetic_node(p, 0, m, 0x40), m, 0x30);
    synthetic_site(p, synthetic_node(p, outer, m, 0x10), SEEP_VIA_NEW, t, 48, 3, 0, 0);
    synthetic_site(p, synthetic_node(p, outer, m, 0x20), SEEP_VIA_NEW_ARRAY, t, 5, 2, 1, 1);
    p->totals.peak_bytes = 149;
    return session_of(p);
}

struct seep_session *synthetic_many(void) {
    synthetic_symbols(plain_symbols, SEEP_ARRAY_SIZE(plain_symbols));
    struct seep_profile *p = synthetic_profile(1, APP);
    uint32_t app = synthetic_module(p, APP);
    uint32_t t = synthetic_thread(p, 1, "app");
    for (uint32_t i = 0; i < 200; i++)
        synthetic_site(p, synthetic_node(p, 0, app, 0x9000 + 0x400 * i), SEEP_VIA_MALLOC, t, i + 1, i + 1,
                       i / 2, i / 4);
    p->totals.peak_bytes = 1000000;
    return session_of(p);
}
