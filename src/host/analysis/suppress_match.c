// SPDX-License-Identifier: BSD-2-Clause
//
// Which rule of suppression matches which stack, and what that takes out, see suppress.h.
//
// Cost: thousands of stacks against hundreds of rules share their frames. Whether a line of a rule
// matches a frame is asked once and kept in two bits. A rule that names modules is first held against
// the modules of the stack, which needs no symbols; so programs whose leaks no rule is about are not
// symbolized for it.
#include <stdlib.h>
#include <string.h>

#include "view/stacks.h"
#include "analysis/suppress.h"

// One function of a stack: inlined ones have their own.
struct place {
    const char *function;
    const char *plain; // a name of the C library without what it has in front; NULL: the same
    const char *linkage;
    const char *file;
    const char *module;
    bool below_main; // Valgrind has one name for all of these
    uint8_t **known; // by line of the rules, in chunks that are made when they are needed
};

// Two bits of a line: 0 not asked, 2 no, 3 yes.
#define CHUNK_LINES 256u
#define CHUNK_BYTES (CHUNK_LINES / 4)

struct frame_places { // of one return address
    uint32_t first;
    uint32_t nr; // 0: not expanded yet
};

struct matcher {
    const struct seep_suppress_rules *rules;
    struct seep_session *session;
    struct seep_stacks *stacks;
    struct seep_arena arena;
    struct place *places;
    size_t nr_places;
    size_t places_capacity;
    struct frame_places *frames; // by frame of the stacks
    uint8_t *module_known;       // by module of the stacks and line, two bits each
    struct place vias[SEEP_VIA_HEAP_NR];
    // The stack at work, the allocation function first.
    const struct place **stack;
    size_t nr_stack;
    size_t stack_capacity;
};

// ---- lines and places ----

static unsigned get_known(const uint8_t *bits, size_t index) {
    return bits[index / 4] >> (index % 4 * 2) & 3;
}

static void set_known(uint8_t *bits, size_t index, bool yes) {
    bits[index / 4] |= (uint8_t)((yes ? 3u : 2u) << (index % 4 * 2));
}

static bool is_source(const char *pattern, const char *file) {
    if (!file)
        return false;
    const char *slash = strrchr(file, '/');
    // FILE or FILE:LINE; lines move, and a rule that was written for one is about the file as much.
    const char *colon = strrchr(pattern, ':');
    char bare[1024];
    if (colon && colon[1] && strspn(colon + 1, "0123456789*?") == strlen(colon + 1) &&
        (size_t)(colon - pattern) < sizeof(bare)) {
        memcpy(bare, pattern, (size_t)(colon - pattern));
        bare[colon - pattern] = 0;
        pattern = bare;
    }
    return seep_suppress_glob(pattern, file) || (slash && seep_suppress_glob(pattern, slash + 1));
}

static bool is_function(const char *pattern, const struct place *place) {
    if (place->below_main && strcmp(pattern, "(below main)") == 0)
        return true;
    if (!place->function)
        return seep_suppress_glob(pattern, "???");
    return seep_suppress_glob(pattern, place->function) ||
           (place->plain && seep_suppress_glob(pattern, place->plain)) ||
           (place->linkage && seep_suppress_glob(pattern, place->linkage));
}

static bool is_found(const char *pattern, const struct place *place) {
    const char *const texts[] = {place->module, place->function, place->plain, place->linkage, place->file};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(texts); i++)
        if (texts[i] && seep_suppress_search(pattern, texts[i]))
            return true;
    return false;
}

static bool line_matches(struct matcher *matcher, uint32_t index, const struct place *place) {
    uint8_t **chunk = &place->known[index / CHUNK_LINES];
    if (!*chunk)
        *chunk = seep_arena_alloc(&matcher->arena, CHUNK_BYTES, 1);
    unsigned known = *chunk ? get_known(*chunk, index % CHUNK_LINES) : 0;
    if (known)
        return known == 3;
    const struct seep_suppress_line *line = &matcher->rules->lines[index];
    bool yes = line->kind == SEEP_SUPPRESS_FUNCTION ? is_function(line->pattern, place)
               : line->kind == SEEP_SUPPRESS_MODULE ? seep_suppress_glob(line->pattern, place->module)
               : line->kind == SEEP_SUPPRESS_SOURCE ? is_source(line->pattern, place->file)
                                                    : is_found(line->pattern, place);
    if (*chunk) // without memory it is asked again
        set_known(*chunk, index % CHUNK_LINES, yes);
    return yes;
}

// The lines of an entry from the innermost place on; frames beyond its last line do not matter.
static bool entry_matches(struct matcher *matcher, const struct seep_suppress_rule *rule) {
    uint32_t end = rule->first_line + rule->nr_lines;
    uint32_t line = rule->first_line, after_dots = UINT32_MAX;
    size_t at = 0, dots_from = 0;
    while (line < end) {
        if (matcher->rules->lines[line].kind == SEEP_SUPPRESS_ANY_FRAMES) {
            after_dots = ++line;
            dots_from = at;
        } else if (at < matcher->nr_stack && line_matches(matcher, line, matcher->stack[at])) {
            line++;
            at++;
        } else if (after_dots != UINT32_MAX && dots_from < matcher->nr_stack) {
            line = after_dots;
            at = ++dots_from;
        } else {
            return false;
        }
    }
    return true;
}

static bool rule_matches(struct matcher *matcher, const struct seep_suppress_rule *rule) {
    if (matcher->rules->lines[rule->first_line].kind != SEEP_SUPPRESS_LSAN)
        return entry_matches(matcher, rule);
    for (size_t i = 0; i < matcher->nr_stack; i++)
        if (line_matches(matcher, rule->first_line, matcher->stack[i]))
            return true;
    return false;
}

// ---- stacks ----

static uint8_t **new_known(struct matcher *matcher) {
    return seep_arena_alloc(&matcher->arena, matcher->rules->nr_lines / CHUNK_LINES + 1, sizeof(uint8_t *));
}

static const char *plain_name(const char *function) {
    if (!function || function[0] != '_')
        return NULL;
    const char *plain = strncmp(function, "__GI_", 5) == 0 ? function + 5 : function;
    plain += strspn(plain, "_");
    return *plain ? plain : NULL;
}

static bool is_below_main(const char *function) {
    static const char *const names[] = {"_start",
                                        "__start",
                                        "__libc_start_main",
                                        "__libc_start_main_impl",
                                        "__libc_start_call_main",
                                        "generic_start_main"};
    for (size_t i = 0; function && i < SEEP_ARRAY_SIZE(names); i++)
        if (strcmp(function, names[i]) == 0)
            return true;
    return false;
}

static struct seep_error *expand_frame(struct matcher *matcher, uint32_t frame) {
    struct frame_places *places = &matcher->frames[frame];
    if (places->nr)
        return NULL;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(matcher->stacks, frame, &symbol);
    if (error)
        return error;
    const struct seep_stack_module *module = &matcher->stacks->modules[matcher->stacks->frames[frame].module];
    if (matcher->nr_places + symbol->nr_frames > UINT32_MAX ||
        !seep_grow(&matcher->places, &matcher->places_capacity, matcher->nr_places + symbol->nr_frames,
                   sizeof(*matcher->places)))
        return seep_error_no_memory();
    places->first = (uint32_t)matcher->nr_places;
    for (unsigned i = 0; i < symbol->nr_frames; i++) {
        const struct seep_symbol_frame *f = &symbol->frames[i];
        uint8_t **known = new_known(matcher);
        if (!known)
            return seep_error_no_memory();
        matcher->places[matcher->nr_places++] = (struct place){
            .function = f->function,
            .plain = module->runtime ? plain_name(f->function) : NULL,
            .linkage = f->linkage,
            .file = f->file,
            .module = module->path,
            .below_main = is_below_main(f->function),
            .known = known,
        };
    }
    places->nr = symbol->nr_frames;
    return NULL;
}

// The allocation function as the two tools name it. A form of operator new that is not told apart
// here has the name of the usual one.
static struct seep_error *init_vias(struct matcher *matcher) {
    for (uint32_t via = 0; via < SEEP_VIA_HEAP_NR; via++) {
        struct place *place = &matcher->vias[via];
        *place = (struct place){
            .function = seep_via_name(via), .module = "libseep.so", .known = new_known(matcher)};
        if (!place->known)
            return seep_error_no_memory();
        if (via == SEEP_VIA_NEW || via == SEEP_VIA_NEW_ARRAY) {
            place->function =
                via == SEEP_VIA_NEW ? "operator new(unsigned long)" : "operator new[](unsigned long)";
            place->linkage = via == SEEP_VIA_NEW ? "_Znwm" : "_Znam";
        } else if (via == SEEP_VIA_REALLOCARRAY) {
            place->plain = "realloc"; // that it is a call of
        }
    }
    return NULL;
}

static struct seep_error *push(struct matcher *matcher, const struct place *place) {
    if (!seep_grow(&matcher->stack, &matcher->stack_capacity, matcher->nr_stack + 1, sizeof(*matcher->stack)))
        return seep_error_no_memory();
    matcher->stack[matcher->nr_stack++] = place;
    return NULL;
}

static struct seep_error *expand_stack(struct matcher *matcher, uint32_t innermost, uint32_t via) {
    struct seep_error *error = NULL;
    // First all frames: `places` moves while they are made.
    for (uint32_t node = innermost; !error && node; node = matcher->stacks->nodes[node].parent)
        if (matcher->stacks->nodes[node].frame != SEEP_NO_FRAME)
            error = expand_frame(matcher, matcher->stacks->nodes[node].frame);
    matcher->nr_stack = 0;
    if (!error)
        error = push(matcher, &matcher->vias[via < SEEP_VIA_HEAP_NR ? via : SEEP_VIA_NONE]);
    for (uint32_t node = innermost; !error && node; node = matcher->stacks->nodes[node].parent) {
        if (matcher->stacks->nodes[node].frame == SEEP_NO_FRAME)
            continue;
        const struct frame_places *places = &matcher->frames[matcher->stacks->nodes[node].frame];
        for (uint32_t i = 0; !error && i < places->nr; i++)
            error = push(matcher, &matcher->places[places->first + i]);
    }
    return error;
}

// ---- without symbols ----

static bool module_matches(struct matcher *matcher, uint32_t line, uint32_t module) {
    size_t index = (size_t)module * matcher->rules->nr_lines + line;
    unsigned known = get_known(matcher->module_known, index);
    if (known)
        return known == 3;
    bool yes = seep_suppress_glob(matcher->rules->lines[line].pattern, matcher->stacks->modules[module].path);
    set_known(matcher->module_known, index, yes);
    return yes;
}

// Whether each module that the rule names is in the stack (or could be the allocation function's).
static bool may_match(struct matcher *matcher, const struct seep_suppress_rule *rule, uint32_t innermost) {
    for (uint32_t line = rule->first_line; line < rule->first_line + rule->nr_lines; line++) {
        const struct seep_suppress_line *l = &matcher->rules->lines[line];
        if (l->kind != SEEP_SUPPRESS_MODULE || seep_suppress_glob(l->pattern, "libseep.so"))
            continue;
        bool found = false;
        for (uint32_t node = innermost; !found && node; node = matcher->stacks->nodes[node].parent) {
            uint32_t frame = matcher->stacks->nodes[node].frame;
            found = frame != SEEP_NO_FRAME &&
                    module_matches(matcher, line, matcher->stacks->frames[frame].module);
        }
        if (!found)
            return false;
    }
    return true;
}

// ---- sites ----

// Bits of the kinds that live blocks of each site have.
static uint8_t *kinds_of_sites(const struct seep_profile *profile) {
    uint8_t *kinds = calloc(profile->nr_sites, 1);
    for (size_t i = 0; kinds && profile->block_kinds && i < profile->nr_blocks; i++)
        kinds[profile->blocks[i].site] |= (uint8_t)(1u << profile->block_kinds[i]);
    for (uint32_t i = 1; kinds && !profile->block_kinds && i < profile->nr_sites; i++)
        kinds[i] = profile->sites[i].live_blocks ? 1u << SEEP_KIND_UNKNOWN : 0;
    return kinds;
}

static struct seep_error *match_site(struct matcher *matcher, const struct seep_site *site, uint32_t node,
                                     uint32_t kinds, uint32_t ret_rules[SEEP_KIND_NR]) {
    bool expanded = false;
    for (uint32_t r = 0; kinds && r < matcher->rules->nr_rules; r++) {
        const struct seep_suppress_rule *rule = &matcher->rules->rules[r];
        if (!(rule->kinds & kinds) || !may_match(matcher, rule, node))
            continue;
        struct seep_error *error = expanded ? NULL : expand_stack(matcher, node, site->via);
        if (error)
            return error;
        expanded = true;
        if (!rule_matches(matcher, rule))
            continue;
        for (uint32_t kind = 0; kind < SEEP_KIND_NR; kind++)
            if (rule->kinds & kinds & 1u << kind)
                ret_rules[kind] = r + 1;
        kinds &= ~rule->kinds;
    }
    return NULL;
}

static void count(struct seep_session *session, uint32_t rule, uint64_t blocks, uint64_t bytes) {
    struct seep_suppression *suppression = &session->suppressions[rule - 1];
    session->suppressions_applied = true;
    suppression->blocks += blocks;
    if (__builtin_add_overflow(suppression->bytes, bytes, &suppression->bytes))
        suppression->bytes = UINT64_MAX;
}

// false: no site has anything that is suppressed, so no block is either.
static bool count_all(struct seep_session *session, struct seep_profile *profile) {
    bool any = profile->let_go != NULL;
    for (uint32_t i = 1; profile->suppressed && i < profile->nr_sites; i++) {
        for (uint32_t kind = 0; kind < SEEP_KIND_NR; kind++)
            if (profile->suppressed[i][kind]) {
                session->suppressions[profile->suppressed[i][kind] - 1].nr_sites++;
                any = true;
            }
        const struct seep_site *site = &profile->sites[i];
        if (profile->block_kinds || !profile->suppressed[i][SEEP_KIND_UNKNOWN])
            continue;
        count(session, profile->suppressed[i][SEEP_KIND_UNKNOWN], site->live_blocks, site->live_bytes);
        profile->leaks.suppressed_blocks += site->live_blocks;
        profile->leaks.suppressed_bytes += site->live_bytes;
    }
    for (size_t i = 0; any && profile->block_kinds && i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        uint32_t rule = seep_profile_block_suppressed(profile, i);
        if (rule)
            count(session, rule, 1, block->size);
    }
    return any;
}

// Blocks that only a suppressed block leads to.
static struct seep_error *let_go(struct seep_profile *profile) {
    for (size_t i = 0; profile->leaders && i < profile->nr_blocks; i++) {
        uint32_t leader = profile->leaders[i];
        uint32_t rule =
            leader == SEEP_NO_LEADER ? 0 : profile->suppressed[profile->blocks[leader].site][SEEP_KIND_LOST];
        if (!rule)
            continue;
        if (!profile->let_go)
            profile->let_go = seep_arena_alloc(&profile->arena, profile->nr_blocks, sizeof(*profile->let_go));
        if (!profile->let_go)
            return seep_error_no_memory();
        profile->let_go[i] = rule;
    }
    return NULL;
}

static struct seep_error *apply(struct matcher *matcher, struct seep_profile *profile,
                                const uint32_t *nodes) {
    uint8_t *kinds = kinds_of_sites(profile);
    struct seep_error *error = kinds ? NULL : seep_error_no_memory();
    uint32_t none[SEEP_KIND_NR] = {0};
    profile->suppressed = NULL;
    for (uint32_t i = 1; !error && i < profile->nr_sites; i++) {
        uint32_t taken[SEEP_KIND_NR] = {0};
        error = match_site(matcher, &profile->sites[i], nodes[profile->sites[i].node], kinds[i], taken);
        if (error || memcmp(taken, none, sizeof(taken)) == 0)
            continue;
        if (!profile->suppressed) // most processes have none
            profile->suppressed =
                seep_arena_alloc(&profile->arena, profile->nr_sites, sizeof(*profile->suppressed));
        if (profile->suppressed)
            memcpy(profile->suppressed[i], taken, sizeof(taken));
        else
            error = seep_error_no_memory();
    }
    free(kinds);
    if (!error && profile->suppressed)
        error = let_go(profile);
    if (error)
        return error;
    bool any = count_all(matcher->session, profile);
    if (profile->leaks.known && (any || profile->leaks.suppressed_blocks))
        seep_profile_derive_leaks(profile);
    return NULL;
}

// ---- the whole ----

static struct seep_error *list_suppressions(const struct seep_suppress_rules *rules,
                                            struct seep_session *session) {
    struct seep_arena *arena = &session->profiles[0]->arena;
    session->suppressions =
        seep_arena_alloc(arena, SEEP_MAX(rules->nr_rules, (size_t)1), sizeof(*session->suppressions));
    if (!session->suppressions)
        return seep_error_no_memory();
    for (size_t i = 0; i < rules->nr_rules; i++) {
        const struct seep_suppress_rule *rule = &rules->rules[i];
        struct seep_suppression *suppression = &session->suppressions[i];
        *suppression = (struct seep_suppression){.name = seep_arena_strdup(arena, rule->name),
                                                 .file = seep_arena_strdup(arena, rule->file),
                                                 .line = rule->line,
                                                 .given = rule->line && !rule->of_program,
                                                 .reason = rule->reason};
        if (!suppression->name || !suppression->file)
            return seep_error_no_memory();
    }
    session->nr_suppressions = (uint32_t)rules->nr_rules;
    session->nr_suppressions_skipped = rules->nr_skipped;
    for (size_t i = 0; i < rules->nr_rules; i++)
        session->suppressions_applied |= rules->rules[i].line != 0;
    session->suppressions_applied |= rules->nr_skipped != 0;
    return NULL;
}

static struct seep_error *init_matcher(struct matcher *matcher) {
    const struct seep_stacks *stacks = matcher->stacks;
    size_t nr_lines = matcher->rules->nr_lines;
    matcher->frames = calloc(SEEP_MAX(stacks->nr_frames, (size_t)1), sizeof(*matcher->frames));
    matcher->module_known = calloc((SEEP_MAX(stacks->nr_modules, (size_t)1) * nr_lines) / 4 + 1, 1);
    if (!matcher->frames || !matcher->module_known)
        return seep_error_no_memory();
    return init_vias(matcher);
}

static void matcher_deinit(struct matcher *matcher) {
    seep_stacks_destroy(matcher->stacks);
    seep_arena_deinit(&matcher->arena);
    free(matcher->places);
    free(matcher->frames);
    free(matcher->module_known);
    free(matcher->stack);
}

struct seep_error *seep_suppress_session(const struct seep_suppress_rules *rules,
                                         struct seep_session *session, struct seep_symbols *symbols) {
    if (!session->nr_profiles || !(rules->nr_rules || rules->nr_skipped))
        return NULL;
    struct matcher matcher = {.rules = rules, .session = session};
    uint32_t **nodes = calloc(session->nr_profiles, sizeof(*nodes));
    struct seep_error *error = nodes ? list_suppressions(rules, session) : seep_error_no_memory();
    if (!error)
        error = seep_stacks_create(symbols, &matcher.stacks);
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = seep_stacks_add(matcher.stacks, session->profiles[i], &nodes[i]);
    if (!error)
        error = init_matcher(&matcher);
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = apply(&matcher, session->profiles[i], nodes[i]);
    for (size_t i = 0; nodes && i < session->nr_profiles; i++)
        free(nodes[i]);
    free(nodes);
    matcher_deinit(&matcher);
    return error;
}
