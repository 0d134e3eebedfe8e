// SPDX-License-Identifier: BSD-2-Clause
//
// Budgets and baseline, see check.h. Sites that leak are put together by key, held against the
// baseline, and summed; a process whose figures cannot be relied on makes the whole unsure.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "analysis/check.h"
#include "analysis/leak_places.h"
#include "base/file_name.h"
#include "names/library_code.h"
#include "profile/verdict.h"
#include "view/own_operators.h"
#include "view/stacks.h"

struct builder {
    struct seep_check *check;
    struct seep_stacks *stacks;
    uint32_t **nodes;  // by process, by node of its profile: the node of stacks
    bool *node_passes; // by node of stacks; NULL: all stacks pass
    size_t leaks_capacity;
    size_t wrong_frees_capacity;
    size_t holders_capacity;
    struct seep_map by_key; // hash of the key to index + 1; where two share a hash, the next free one
    char *text;             // the key at work
    size_t text_bytes;
    size_t text_capacity;
};

struct seep_leaked seep_leak_beyond(const struct seep_leak *leak) {
    return (struct seep_leaked){leak->blocks - leak->accepted_blocks, leak->bytes - leak->accepted_bytes};
}

// ---- keys ----

static bool put(struct builder *builder, const char *text, size_t length) {
    if (!seep_grow(&builder->text, &builder->text_capacity, builder->text_bytes + length + 1, 1))
        return false;
    for (size_t i = 0; i < length; i++) // names are foreign: a line stays a line
        builder->text[builder->text_bytes++] = (unsigned char)text[i] < ' ' ? '?' : text[i];
    builder->text[builder->text_bytes] = 0;
    return true;
}

static bool end_line(struct builder *builder) {
    if (!put(builder, "", 1))
        return false;
    builder->text[builder->text_bytes - 1] = '\n';
    return true;
}

// The file's own name, of a library without its version.
static bool put_module(struct builder *builder, const char *path) {
    const char *name = seep_file_name(path);
    const char *version = strstr(name, ".so.");
    return put(builder, "[", 1) &&
           put(builder, name, version ? (size_t)(version - name) + 3 : strlen(name)) && put(builder, "]", 1);
}

static bool put_frame(struct builder *builder, const struct seep_leak_frame *frame) {
    const char *function = frame->function ? frame->function : "??";
    const char *file = frame->file ? seep_file_name(frame->file) : NULL;
    if (!frame->runtime && !put(builder, function, strlen(function)))
        return false;
    if (!frame->runtime && file &&
        !(put(builder, " (", 2) && put(builder, file, strlen(file)) && put(builder, ")", 1)))
        return false;
    if (frame->program)
        return put(builder, " [program]", 10) && end_line(builder);
    return (frame->runtime || put(builder, " ", 1)) && put_module(builder, frame->module) &&
           end_line(builder);
}

// A line that is the same as the one before it says nothing more: recursion of any depth is one.
static void drop_repeated_line(struct builder *builder, size_t line_start, size_t *previous_start) {
    size_t nr = builder->text_bytes - line_start;
    if (*previous_start != SIZE_MAX && line_start - *previous_start == nr &&
        memcmp(builder->text + *previous_start, builder->text + line_start, nr) == 0)
        builder->text_bytes = line_start;
    else
        *previous_start = line_start;
    builder->text[builder->text_bytes] = 0;
}

static bool is_main(const struct seep_leak_frame *frame) {
    return frame->function && strcmp(frame->function, "main") == 0 && !frame->inlined;
}

static bool make_key(struct builder *builder, const struct seep_check_stack *stack, uint32_t via) {
    const struct seep_leak_frame *frames = stack->frames;
    uint32_t nr = stack->nr_frames;
    builder->text_bytes = 0;
    const char *name = seep_via_name(via);
    if (!put(builder, name, strlen(name)) || !end_line(builder))
        return false;
    size_t previous = SIZE_MAX;
    uint32_t end = nr;
    while (end && frames[end - 1].runtime) // what is outside of a thread's function
        end--;
    for (uint32_t i = 0; i < (end ? end : nr); i++) {
        size_t start = builder->text_bytes;
        if (!put_frame(builder, &frames[i]))
            return false;
        drop_repeated_line(builder, start, &previous);
        if (is_main(&frames[i]))
            break;
    }
    return true;
}

// ---- leaks ----

bool seep_leak_frame_is_library(const struct seep_leak_frame *frame) {
    return frame->runtime || seep_function_is_std(frame->function, frame->file);
}

static uint32_t frame_to_blame(const struct seep_leak_frame *frames, uint32_t nr) {
    enum seep_blame best = SEEP_BLAME_NR;
    uint32_t blamed = 0;
    for (uint32_t i = 0; i < nr && best != SEEP_BLAME_LINE; i++) {
        enum seep_blame blame =
            seep_blame_of(frames[i].function, frames[i].file, frames[i].line, frames[i].runtime);
        if (blame < best) {
            best = blame;
            blamed = i;
        }
    }
    return blamed;
}

static struct seep_error *expand(struct builder *builder, uint32_t process, uint32_t innermost,
                                 struct seep_check_stack *ret_stack) {
    struct seep_stacks *stacks = builder->stacks;
    const char *exe = builder->check->session->profiles[process]->process.exe;
    const struct seep_symbol *symbol;
    uint32_t nr = 0;
    for (uint32_t node = innermost; node; node = stacks->nodes[node].parent) {
        if (stacks->nodes[node].frame == SEEP_NO_FRAME)
            continue;
        struct seep_error *error = seep_stacks_resolve(stacks, stacks->nodes[node].frame, &symbol);
        if (error)
            return error;
        nr += symbol->nr_frames;
    }
    struct seep_leak_frame *frames =
        seep_arena_alloc(&builder->check->arena, SEEP_MAX(nr, 1u), sizeof(*frames));
    if (!frames)
        return seep_error_no_memory();
    nr = 0;
    for (uint32_t node = innermost; node; node = stacks->nodes[node].parent) {
        if (stacks->nodes[node].frame == SEEP_NO_FRAME)
            continue;
        const struct seep_stack_frame *frame = &stacks->frames[stacks->nodes[node].frame];
        for (unsigned i = 0; i < frame->symbol->nr_frames; i++) {
            const struct seep_symbol_frame *f = &frame->symbol->frames[i];
            const struct seep_stack_module *module = &stacks->modules[frame->module];
            frames[nr++] = (struct seep_leak_frame){.function = f->function,
                                                    .file = f->file,
                                                    .line = f->line,
                                                    .module = module->path,
                                                    .offset = frame->offset,
                                                    .runtime = module->runtime,
                                                    .program = strcmp(module->path, exe) == 0,
                                                    .inlined = f->inlined};
        }
    }
    *ret_stack =
        (struct seep_check_stack){.frames = frames, .nr_frames = nr, .blame = frame_to_blame(frames, nr)};
    return NULL;
}

// The leak of the key at work, which is added when it is new.
static struct seep_error *find_leak(struct builder *builder, uint32_t via, struct seep_leak **ret_leak) {
    struct seep_check *check = builder->check;
    for (uint64_t at = seep_hash_bytes(builder->text, builder->text_bytes);; at++) {
        uint64_t *index = seep_map_at(&builder->by_key, at, NULL);
        if (!index ||
            !seep_grow(&check->leaks, &builder->leaks_capacity, check->nr_leaks + 1, sizeof(*check->leaks)))
            return seep_error_no_memory();
        if (!*index) {
            struct seep_leak *leak = &check->leaks[check->nr_leaks];
            *leak = (struct seep_leak){
                .via = via, .key = seep_arena_strndup(&check->arena, builder->text, builder->text_bytes)};
            if (!leak->key)
                return seep_error_no_memory();
            *index = ++check->nr_leaks;
        }
        *ret_leak = &check->leaks[*index - 1];
        if (strcmp((*ret_leak)->key, builder->text) == 0)
            return NULL;
    }
}

// Processes come one after the other, so a leak's share of the present one is its last.
static struct seep_error *add_share(struct builder *builder, struct seep_leak *leak, uint32_t process,
                                    struct seep_leaked leaked) {
    if (!leak->nr_shares || leak->shares[leak->nr_shares - 1].process != process) {
        uint32_t nr = leak->nr_shares;
        if ((nr & (nr - 1)) == 0) { // room for the power of two at or above nr
            struct seep_leak_share *larger =
                seep_arena_alloc(&builder->check->arena, nr ? nr * (size_t)2 : 1, sizeof(*larger));
            if (!larger)
                return seep_error_no_memory();
            if (nr)
                memcpy(larger, leak->shares, nr * sizeof(*larger));
            leak->shares = larger;
        }
        leak->shares[leak->nr_shares++] = (struct seep_leak_share){.process = process};
    }
    struct seep_leak_share *share = &leak->shares[leak->nr_shares - 1];
    share->blocks += leaked.blocks;
    seep_add_up(&share->bytes, leaked.bytes);
    return NULL;
}

static bool passes(const struct builder *builder, uint32_t node) {
    return !builder->node_passes || builder->node_passes[node];
}

// What leaked of a site, and what its blocks lead to.
struct site_leaks {
    struct seep_leaked own;
    struct seep_leaked owned;
};

static struct seep_error *add_site(struct builder *builder, uint32_t process, uint32_t site, uint32_t node,
                                   const struct site_leaks *leaks) {
    const struct seep_profile *profile = builder->check->session->profiles[process];
    const struct seep_site *s = &profile->sites[site];
    struct seep_check_stack stack = {NULL};
    struct seep_leak *leak = NULL;
    if (!passes(builder, node))
        return NULL;
    struct seep_error *error = expand(builder, process, node, &stack);
    if (!error && !make_key(builder, &stack, s->via))
        error = seep_error_no_memory();
    if (!error)
        error = find_leak(builder, s->via, &leak);
    if (error)
        return error;
    if (!seep_leak_add_place(&builder->check->arena, &leak->places, &stack, leaks->own.blocks,
                             leaks->own.bytes))
        return seep_error_no_memory();
    if (!leak->stack.frames || leaks->own.bytes > leak->most_bytes) {
        leak->stack = stack;
        leak->most_bytes = leaks->own.bytes;
    }
    if (s->kind && (!leak->kind || s->kind < leak->kind))
        leak->kind = s->kind;
    leak->blocks += leaks->own.blocks;
    seep_add_up(&leak->bytes, leaks->own.bytes);
    leak->owned_blocks += leaks->owned.blocks;
    seep_add_up(&leak->owned_bytes, leaks->owned.bytes);
    return add_share(builder, leak, process, leaks->own);
}

// ---- frees in a wrong way ----

static struct seep_error *add_wrong_free(struct builder *builder, uint32_t process,
                                         const struct seep_wrong_release *wrong) {
    struct seep_check *check = builder->check;
    const struct seep_profile *profile = check->session->profiles[process];
    const uint32_t *nodes = builder->nodes[process];
    uint32_t freed = nodes[profile->sites[wrong->release_site].node];
    uint32_t allocated = nodes[profile->sites[wrong->site].node];
    if (seep_profile_may_be_right(profile, wrong) ||
        !(passes(builder, freed) || (wrong->site && passes(builder, allocated))))
        return NULL;
    struct seep_wrong_free fresh = {.kind = wrong->kind,
                                    .process = process,
                                    .via = profile->sites[wrong->site].via,
                                    .release_via = profile->sites[wrong->release_site].via,
                                    .count = wrong->count};
    bool is_none;
    struct seep_error *error = seep_is_own_operator(builder->stacks, profile, nodes, wrong, &is_none);
    if (error || is_none)
        return error;
    error = expand(builder, process, freed, &fresh.freed);
    if (!error && wrong->site)
        error = expand(builder, process, allocated, &fresh.allocated);
    if (error)
        return error;
    if (seep_profile_is_uncertain(profile, wrong)) {
        seep_add_up(&check->nr_uncertain, wrong->count);
        return NULL;
    }
    if (!seep_grow(&check->wrong_frees, &builder->wrong_frees_capacity, check->nr_wrong_frees + 1,
                   sizeof(*check->wrong_frees)))
        return seep_error_no_memory();
    check->wrong_frees[check->nr_wrong_frees++] = fresh;
    seep_add_up(&check->mismatches, wrong->count);
    return NULL;
}

// ---- who held the peak ----

struct at_peak {
    uint32_t site;
    uint64_t bytes;
};

static int compare_at_peak(const void *left, const void *right) {
    const struct at_peak *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes > b->bytes ? -1 : 1) : (a->site > b->site) - (a->site < b->site);
}

static int compare_holders(const void *left, const void *right) {
    const struct seep_peak_holder *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes > b->bytes ? -1 : 1) : strcmp(a->key, b->key);
}

static struct seep_error *add_peak_holder(struct builder *builder, const struct seep_site *site,
                                          const struct seep_check_stack *stack) {
    struct seep_check *check = builder->check;
    if (!make_key(builder, stack, site->via))
        return seep_error_no_memory();
    size_t i = 0;
    while (i < check->nr_peak_holders && strcmp(check->peak_holders[i].key, builder->text) != 0)
        i++;
    if (i == check->nr_peak_holders) {
        if (!seep_grow(&check->peak_holders, &builder->holders_capacity, i + 1, sizeof(*check->peak_holders)))
            return seep_error_no_memory();
        check->peak_holders[i] = (struct seep_peak_holder){
            .via = site->via,
            .stack = *stack,
            .key = seep_arena_strndup(&check->arena, builder->text, builder->text_bytes)};
        if (!check->peak_holders[i].key)
            return seep_error_no_memory();
        check->nr_peak_holders++;
    }
    struct seep_peak_holder *holder = &check->peak_holders[i];
    const struct seep_counters *counters = &site->counters;
    holder->blocks += counters->at_peak_blocks;
    seep_add_up(&holder->bytes, counters->at_peak_bytes);
    return seep_leak_add_place(&check->arena, &holder->places, stack, counters->at_peak_blocks,
                               counters->at_peak_bytes)
               ? NULL
               : seep_error_no_memory();
}

// Of the sites that held most: a budget is broken by few.
static struct seep_error *find_peak_holders(struct builder *builder) {
    enum { SITES_MAX = 64 };
    struct seep_check *check = builder->check;
    const struct seep_profile *profile = check->session->profiles[check->peak_process];
    if (check->peak_bytes <= check->options.max_peak || !profile->at_peak.counted)
        return NULL;
    struct at_peak *sites = calloc(profile->nr_sites, sizeof(*sites));
    const uint32_t *nodes = builder->nodes[check->peak_process];
    uint32_t nr = 0;
    struct seep_error *error = sites ? NULL : seep_error_no_memory();
    for (uint32_t i = 1; !error && i < profile->nr_sites; i++)
        if (profile->sites[i].counters.at_peak_bytes)
            sites[nr++] = (struct at_peak){i, profile->sites[i].counters.at_peak_bytes};
    if (nr)
        qsort(sites, nr, sizeof(*sites), compare_at_peak);
    for (uint32_t i = 0; !error && i < nr && i < SITES_MAX; i++) {
        const struct seep_site *site = &profile->sites[sites[i].site];
        struct seep_check_stack stack;
        error = expand(builder, check->peak_process, nodes[site->node], &stack);
        if (!error)
            error = add_peak_holder(builder, site, &stack);
    }
    for (size_t i = 0; i < check->nr_peak_holders; i++)
        seep_leak_join_places(&check->peak_holders[i].places, &check->peak_holders[i].stack);
    if (check->nr_peak_holders)
        qsort(check->peak_holders, check->nr_peak_holders, sizeof(*check->peak_holders), compare_holders);
    check->peak_known_bytes = profile->at_peak_bytes;
    free(sites);
    return error;
}

// ---- one process ----

static struct seep_error *say_unsure(struct seep_check *check, uint32_t process, const char *why) {
    check->processes[process].unsure = why;
    check->unsure |= why != NULL;
    return NULL;
}

static struct seep_error *judge_health(struct seep_check *check, uint32_t process) {
    const struct seep_profile *profile = check->session->profiles[process];
    const char *why;
    enum seep_verdict verdict = seep_profile_verdict(profile);
    if (verdict != SEEP_VERDICT_COMPLETE) {
        why = seep_profile_why_incomplete(profile, &check->arena);
        if (why && verdict == SEEP_VERDICT_NOT_TRACED)
            why = seep_arena_printf(&check->arena, "not traced: %s", why);
        return why ? say_unsure(check, process, why) : seep_error_no_memory();
    }
    if (profile->health.sample_bytes)
        return say_unsure(check, process, "only samples were recorded: which blocks leaked is not known");
    if (profile->leaks.known || !profile->totals.live_blocks)
        return NULL;
    why = seep_profile_why_not_looked(profile);
    switch (profile->process.exit_kind) {
    case SEEP_EXIT_EXEC: // it became another program: its memory went with that, and nothing can have leaked
        return NULL;
    case SEEP_EXIT_RUNNING:
        return say_unsure(check, process, "it was still running when the program had ended");
    case SEEP_EXIT_CODE: // with --scan no what is live counts as leaked: more than the truth at worst
        return why ? say_unsure(check, process, why) : NULL;
    case SEEP_EXIT_UNKNOWN:
        return say_unsure(check, process,
                          why ? why : "a signal ended it, or its own system call: what leaked is not known");
    case SEEP_EXIT_SIGNAL:
        break;
    }
    const char *name = sigabbrev_np(profile->process.exit_value);
    why = name ? seep_arena_printf(&check->arena, "SIG%s ended it before its leaks could be looked for", name)
               : seep_arena_printf(&check->arena, "signal %d ended it before its leaks could be looked for",
                                   profile->process.exit_value);
    return why ? say_unsure(check, process, why) : seep_error_no_memory();
}

static bool counts(const struct seep_check *check, const struct seep_profile *profile, size_t block) {
    return check->options.kinds >> profile->block_kinds[block] & 1 &&
           !seep_profile_block_suppressed(profile, block) &&
           !seep_profile_is_late(profile, &profile->blocks[block], check->options.ignore_last);
}

static void add_block(struct seep_leaked *leaked, const struct seep_block *block) {
    leaked->blocks++;
    seep_add_up(&leaked->bytes, block->size);
}

// By site: what leaked. Without a scan, what is live.
static struct site_leaks *leaks_of_sites(const struct seep_check *check, const struct seep_profile *profile) {
    struct site_leaks *leaks = calloc(profile->nr_sites, sizeof(*leaks));
    bool told = profile->process.exit_kind == SEEP_EXIT_CODE && !profile->health.sample_bytes &&
                !seep_profile_why_not_looked(profile);
    for (uint32_t i = 1; leaks && told && !profile->leaks.known && i < profile->nr_sites; i++)
        if (!seep_profile_suppressed(profile, i, SEEP_KIND_UNKNOWN))
            leaks[i].own = (struct seep_leaked){profile->sites[i].live_blocks, profile->sites[i].live_bytes};
    // What is live and not known block by block cannot have been born late.
    for (size_t i = 0; leaks && told && !profile->leaks.known && i < profile->nr_blocks; i++) {
        struct seep_leaked *of_site = &leaks[profile->blocks[i].site].own;
        if (!seep_profile_is_late(profile, &profile->blocks[i], check->options.ignore_last))
            continue;
        of_site->blocks -= SEEP_MIN(of_site->blocks, UINT64_C(1));
        of_site->bytes -= SEEP_MIN(of_site->bytes, profile->blocks[i].size);
    }
    for (uint32_t i = 1; leaks && !profile->leaks.known && i < profile->nr_sites; i++)
        leaks[i].owned = leaks[i].own;
    for (size_t i = 0; leaks && profile->leaks.known && i < profile->nr_blocks; i++) {
        if (!counts(check, profile, i))
            continue;
        uint32_t leader = profile->leaders ? profile->leaders[i] : SEEP_NO_LEADER;
        bool led = leader != SEEP_NO_LEADER && counts(check, profile, leader);
        add_block(&leaks[profile->blocks[i].site].own, &profile->blocks[i]);
        add_block(&leaks[profile->blocks[led ? leader : i].site].owned, &profile->blocks[i]);
    }
    return leaks;
}

static struct seep_error *add_process(struct builder *builder, uint32_t process) {
    struct seep_check *check = builder->check;
    const struct seep_profile *profile = check->session->profiles[process];
    struct seep_error *error = judge_health(check, process);
    if (error)
        return error;
    if (profile->totals.peak_bytes > check->peak_bytes) {
        check->peak_bytes = profile->totals.peak_bytes;
        check->peak_process = process;
    }
    seep_add_up(&check->allocations, profile->totals.allocations - profile->totals.inherited_blocks);
    seep_add_up(&check->suppressed_blocks, profile->leaks.suppressed_blocks);
    seep_add_up(&check->suppressed_bytes, profile->leaks.suppressed_bytes);
    if (!(check->options.kinds >> SEEP_KIND_POSSIBLE & 1)) {
        check->possible_blocks += profile->leaks.blocks[SEEP_KIND_POSSIBLE];
        seep_add_up(&check->possible_bytes, profile->leaks.bytes[SEEP_KIND_POSSIBLE]);
    }
    struct site_leaks *leaks = leaks_of_sites(check, profile);
    const uint32_t *nodes = builder->nodes[process];
    if (!leaks)
        return seep_error_no_memory();
    for (uint32_t i = 1; !error && i < profile->nr_sites; i++)
        if (leaks[i].own.blocks)
            error = add_site(builder, process, i, nodes[profile->sites[i].node], &leaks[i]);
    for (uint32_t i = 0; !error && i < profile->nr_wrong_releases; i++)
        error = add_wrong_free(builder, process, &profile->wrong_releases[i]);
    free(leaks);
    return error;
}

// ---- filters ----

static struct seep_error *make_stacks(struct builder *builder) {
    const struct seep_check_options *options = &builder->check->options;
    const struct seep_session *session = builder->check->session;
    const struct seep_stacks_wanted wanted = {
        .function = options->function, .file = options->file, .module = options->module};
    builder->nodes = calloc(SEEP_MAX(session->nr_profiles, (size_t)1), sizeof(*builder->nodes));
    struct seep_error *error = builder->nodes ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        error = seep_stacks_add(builder->stacks, session->profiles[i], &builder->nodes[i]);
    if (!error && (options->function || options->file || options->module))
        error = seep_stacks_match(builder->stacks, &wanted, &builder->node_passes);
    return error;
}

// A library that was loaded and allocated nothing is no misspelt one.
static bool is_loaded(const struct seep_profile *profile, const regex_t *module) {
    for (uint32_t i = 1; i < profile->nr_modules; i++)
        if (regexec(module, profile->modules[i].path, 0, NULL, 0) == 0)
            return true;
    return false;
}

static bool has_passing(const struct builder *builder, size_t process) {
    const struct seep_check_options *options = &builder->check->options;
    const struct seep_profile *profile = builder->check->session->profiles[process];
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        if (passes(builder, builder->nodes[process][profile->sites[i].node]))
            return true;
    return !options->function && !options->file && is_loaded(profile, options->module);
}

// A filter that nothing passes leaves nothing to judge: a misspelt one would pass for ever.
static struct seep_error *judge_filters(struct builder *builder) {
    struct seep_check *check = builder->check;
    const struct seep_check_options *options = &check->options;
    bool passing = !builder->node_passes;
    for (size_t i = 0; !passing && i < check->session->nr_profiles; i++)
        passing = has_passing(builder, i);
    if (passing || check->processes[0].unsure)
        return NULL;
    const char *why = seep_arena_printf(&check->arena,
                                        "no stack of the run passes%s%s%s, so no leak and no wrong free was "
                                        "judged; 'seep run' shows the names",
                                        options->function ? " --function" : "",
                                        options->file ? " --file" : "", options->module ? " --module" : "");
    return why ? say_unsure(check, 0, why) : seep_error_no_memory();
}

// ---- baseline and budgets ----

// What is beyond the baseline is the last processes' that have the leak: the first to have it are those
// that the baseline was made of.
static void charge(struct seep_check *check, const struct seep_leak *leak) {
    struct seep_leaked beyond = seep_leak_beyond(leak);
    for (uint32_t i = leak->nr_shares; i-- > 0 && (beyond.blocks || beyond.bytes);) {
        struct seep_check_process *process = &check->processes[leak->shares[i].process];
        uint64_t blocks = SEEP_MIN(beyond.blocks, leak->shares[i].blocks);
        uint64_t bytes = SEEP_MIN(beyond.bytes, leak->shares[i].bytes);
        process->leaked_blocks += blocks;
        seep_add_up(&process->leaked_bytes, bytes);
        beyond.blocks -= blocks;
        beyond.bytes -= bytes;
    }
}

static void compare_with_baseline(struct seep_check *check) {
    const struct seep_baseline *baseline = check->options.baseline;
    uint64_t nr_used = 0;
    for (size_t i = 0; i < check->nr_leaks; i++) {
        struct seep_leak *leak = &check->leaks[i];
        const struct seep_baseline_entry *entry = baseline ? seep_baseline_find(baseline, leak->key) : NULL;
        if (entry) {
            nr_used++;
            leak->accepted_blocks = SEEP_MIN(leak->blocks, entry->blocks);
            leak->accepted_bytes = SEEP_MIN(leak->bytes, entry->bytes);
        }
        struct seep_leaked beyond = seep_leak_beyond(leak);
        check->leaked_blocks += beyond.blocks;
        seep_add_up(&check->leaked_bytes, beyond.bytes);
        check->accepted_blocks += leak->accepted_blocks;
        seep_add_up(&check->accepted_bytes, leak->accepted_bytes);
        charge(check, leak);
    }
    // What a filter left out may leak as it did.
    bool all = !check->options.function && !check->options.file && !check->options.module;
    check->nr_gone = baseline && all ? baseline->nr_entries - nr_used : 0;
}

// As in a report: what to mend is where the block is lost that leads to the most.
static int compare_leaks(const void *left, const void *right) {
    const struct seep_leak *l = left, *r = right;
    struct seep_leaked a = seep_leak_beyond(l), b = seep_leak_beyond(r);
    if (l->owned_bytes != r->owned_bytes)
        return l->owned_bytes > r->owned_bytes ? -1 : 1;
    if (a.bytes != b.bytes)
        return a.bytes > b.bytes ? -1 : 1;
    if (a.blocks != b.blocks)
        return a.blocks > b.blocks ? -1 : 1;
    return strcmp(l->key, r->key);
}

static void judge(struct seep_check *check) {
    const struct seep_check_options *options = &check->options;
    check->broken[SEEP_BUDGET_LEAKED] =
        check->leaked_bytes > options->max_leaked || (options->max_leaked == 0 && check->leaked_blocks);
    check->broken[SEEP_BUDGET_PEAK] = check->peak_bytes > options->max_peak;
    check->broken[SEEP_BUDGET_ALLOCATIONS] = check->allocations > options->max_allocations;
    check->broken[SEEP_BUDGET_MISMATCHES] = check->mismatches > options->max_mismatches;
    // A peak that is known to within a bound, and a budget within that bound.
    for (size_t i = 0; options->max_peak != SEEP_NO_BUDGET && i < check->session->nr_profiles; i++) {
        const struct seep_totals *totals = &check->session->profiles[i]->totals;
        uint64_t highest = totals->peak_bytes;
        seep_add_up(&highest, totals->peak_exact ? 0 : totals->peak_error_bytes);
        if (totals->peak_bytes <= options->max_peak && highest > options->max_peak &&
            !check->processes[i].unsure)
            say_unsure(check, (uint32_t)i,
                       "its peak is known to within a bound only, and --max-peak lies within that bound");
    }
}

struct seep_error *seep_check_create(const struct seep_session *session, struct seep_symbols *symbols,
                                     const struct seep_check_options *options,
                                     struct seep_check **ret_check) {
    struct seep_check *check = calloc(1, sizeof(*check));
    if (!check)
        return seep_error_no_memory();
    check->session = session;
    check->options = *options;
    check->processes =
        seep_arena_alloc(&check->arena, SEEP_MAX(session->nr_profiles, (size_t)1), sizeof(*check->processes));
    struct builder builder = {.check = check};
    struct seep_error *error =
        check->processes ? seep_stacks_create(symbols, &builder.stacks) : seep_error_no_memory();
    if (!error)
        error = make_stacks(&builder);
    for (uint32_t i = 0; !error && i < session->nr_profiles; i++)
        error = add_process(&builder, i);
    if (!error && session->nr_profiles)
        error = find_peak_holders(&builder);
    if (!error && session->nr_profiles)
        error = judge_filters(&builder);
    for (size_t i = 0; builder.nodes && i < session->nr_profiles; i++)
        free(builder.nodes[i]);
    free(builder.nodes);
    free(builder.node_passes);
    seep_stacks_destroy(builder.stacks);
    seep_map_deinit(&builder.by_key);
    free(builder.text);
    if (error) {
        seep_check_destroy(check);
        return error;
    }
    for (size_t i = 0; i < check->nr_leaks; i++)
        seep_leak_join_places(&check->leaks[i].places, &check->leaks[i].stack);
    compare_with_baseline(check);
    if (check->nr_leaks)
        qsort(check->leaks, check->nr_leaks, sizeof(*check->leaks), compare_leaks);
    judge(check);
    *ret_check = check;
    return NULL;
}

void seep_check_destroy(struct seep_check *check) {
    if (!check)
        return;
    free(check->leaks);
    free(check->peak_holders);
    free(check->wrong_frees);
    seep_arena_deinit(&check->arena);
    free(check);
}

bool seep_check_passed(const struct seep_check *check) {
    bool broken = check->unsure;
    for (size_t i = 0; i < SEEP_BUDGET_NR; i++)
        broken |= check->broken[i];
    return !broken;
}

static bool are_unsure_alike(const struct seep_check *check, size_t one, size_t other) {
    const char *why_one = check->processes[one].unsure, *why_other = check->processes[other].unsure;
    const struct seep_session *session = check->session;
    return why_one && why_other && strcmp(why_one, why_other) == 0 &&
           strcmp(session->profiles[one]->process.name, session->profiles[other]->process.name) == 0;
}

size_t seep_check_nr_unsure_alike(const struct seep_check *check, size_t process) {
    for (size_t i = 0; i < process; i++)
        if (are_unsure_alike(check, i, process))
            return 0;
    size_t nr = 0;
    for (size_t i = process; i < check->session->nr_profiles; i++)
        nr += are_unsure_alike(check, i, process);
    return nr;
}

struct seep_error *seep_check_save_baseline(const struct seep_check *check, const char *path) {
    struct seep_baseline_entry *entries = calloc(SEEP_MAX(check->nr_leaks, (size_t)1), sizeof(*entries));
    if (!entries)
        return seep_error_no_memory();
    for (size_t i = 0; i < check->nr_leaks; i++)
        entries[i] = (struct seep_baseline_entry){
            .key = check->leaks[i].key, .bytes = check->leaks[i].bytes, .blocks = check->leaks[i].blocks};
    struct seep_error *error = seep_baseline_write(path, entries, check->nr_leaks);
    free(entries);
    return error;
}
