// SPDX-License-Identifier: BSD-2-Clause
//
// The emergency pool of libstdc++, see exception_pool.h. The constructor of its pool is the only initializer
// of that library that allocates (libsupc++/eh_alloc.cc); its size depends on the version and on
// GLIBCXX_TUNABLES.
#include <string.h>

#include "base/file_name.h"
#include "view/exception_pool.h"

static const struct seep_stack_module *module_of(const struct seep_stacks *stacks, uint32_t node) {
    uint32_t frame = stacks->nodes[node].frame;
    return frame == SEEP_NO_FRAME ? NULL : &stacks->modules[stacks->frames[frame].module];
}

static bool is_named(const struct seep_stack_module *module, const char *beginning) {
    return strncmp(seep_file_name(module->path), beginning, strlen(beginning)) == 0;
}

// The library's frames, and below them the loader that initializes it. Needs no names, which stripped
// libraries do not have.
static bool is_initializer(const struct seep_stacks *stacks, uint32_t node) {
    bool is_inside = false;
    const struct seep_stack_module *module;
    while ((module = module_of(stacks, node)) && is_named(module, "libstdc++.so")) {
        is_inside = true;
        node = stacks->nodes[node].parent;
    }
    return is_inside && module && (is_named(module, "ld-") || is_named(module, "ld64.so"));
}

static bool ends_in(const char *text, const char *end) {
    size_t nr = strlen(text), nr_end = strlen(end);
    return nr >= nr_end && strcmp(text + nr - nr_end, end) == 0;
}

// What the compiler calls the initializers of that file: by the file, or by its first global.
static bool is_initializer_name(const char *function) {
    return strncmp(function, "_GLOBAL__sub_I_", 15) == 0 &&
           (ends_in(function, "eh_alloc.cc") || ends_in(function, "9__gnu_cxx9__freeresEv"));
}

struct seep_error *seep_is_exception_pool(struct seep_stacks *stacks, uint32_t node, bool *ret_is) {
    *ret_is = is_initializer(stacks, node);
    if (*ret_is || !module_of(stacks, node))
        return NULL;
    // Linked into the program.
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, stacks->nodes[node].frame, &symbol);
    for (unsigned i = 0; !error && i < symbol->nr_frames; i++)
        *ret_is |= symbol->frames[i].function && is_initializer_name(symbol->frames[i].function);
    return error;
}

struct seep_error *seep_is_stdio_buffer(struct seep_stacks *stacks, uint32_t node, bool *ret_is) {
    *ret_is = false;
    if (!module_of(stacks, node))
        return NULL;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, stacks->nodes[node].frame, &symbol);
    for (unsigned i = 0; !error && i < symbol->nr_frames; i++)
        *ret_is |=
            symbol->frames[i].function && strcmp(symbol->frames[i].function, "_IO_file_doallocate") == 0;
    return error;
}

static bool is_data(const struct seep_chain *chain) {
    return chain && chain->nr_links == 1 && chain->links[0].kind == SEEP_LINK_DATA;
}

static struct seep_error *holds_pool(struct seep_view *view, uint32_t process,
                                     const struct seep_holder *holder, bool *ret_is, bool *ret_is_stdio) {
    const struct seep_profile *profile = view->session->profiles[process];
    const uint32_t *nodes = view->nodes[process - view->first_process];
    *ret_is = *ret_is_stdio = false;
    if (holder->blocks != 1 || !is_data(holder->chain))
        return NULL;
    struct seep_error *error = NULL;
    // If a site has one holder, a saved trace has the chain only with the site.
    for (uint32_t i = 1; !error && !*ret_is && !*ret_is_stdio && i < profile->nr_sites; i++) {
        const struct seep_site *site = &profile->sites[i];
        if (site->live_blocks != 1 || site->live_bytes != holder->bytes || !is_data(site->held) ||
            site->held->links[0].id != holder->chain->links[0].id)
            continue;
        error = seep_is_exception_pool(view->stacks, nodes[site->node], ret_is);
        if (!error && !*ret_is)
            error = seep_is_stdio_buffer(view->stacks, nodes[site->node], ret_is_stdio);
    }
    return error;
}

struct seep_error *seep_view_holder(struct seep_view *view, uint32_t process,
                                    const struct seep_holder *holder, const char **ret_text,
                                    bool *ret_is_pool) {
    bool is_pool, is_stdio;
    struct seep_error *error = holds_pool(view, process, holder, &is_pool, &is_stdio);
    if (!error)
        error = seep_view_chain(view, process, holder->chain, ret_text, NULL);
    if (!error && is_pool) {
        *ret_text = seep_arena_printf(&view->arena, SEEP_EXCEPTION_POOL ": %s", *ret_text);
        error = *ret_text ? NULL : seep_error_no_memory();
    }
    if (ret_is_pool)
        *ret_is_pool = is_pool || is_stdio;
    return error;
}

struct seep_error *seep_view_holder_short(struct seep_view *view, uint32_t process,
                                          const struct seep_holder *holder, const char **ret_text,
                                          bool *ret_is_pool) {
    const struct seep_chain *chain = holder->chain;
    *ret_text = NULL;
    *ret_is_pool = false;
    if (holder->blocks == 1 && chain && chain->nr_links && chain->links[0].kind == SEEP_LINK_BLOCK)
        return NULL;
    const char *root;
    struct seep_error *error = seep_view_holder(view, process, holder, ret_text, ret_is_pool);
    if (!error)
        error = seep_view_root(view, process, chain, &root);
    if (!error && root && !*ret_is_pool)
        *ret_text = root;
    return error;
}
