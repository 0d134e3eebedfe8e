// SPDX-License-Identifier: BSD-2-Clause
//
// Operators new and delete that a library has for itself, see own_operators.h. Array forms often jump to the
// plain forms and leave no frame, so all forms count as one.
#include <string.h>

#include "core/attr.h"
#include "image/layout.h"
#include "names/library_code.h"
#include "view/own_operators.h"

// Mangled names too, because --no-demangle keeps them.
static bool is_operator(const char *function) {
    static const char *const beginnings[] = {"operator new", "operator delete", "_Znw",
                                             "_Zna",         "_ZdlP",           "_ZdaP"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(beginnings); i++)
        if (strncmp(function, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static bool is_of_c(const char *function) {
    static const char *const names[] = {
        "malloc",        "calloc",         "realloc",       "reallocarray",   "memalign",
        "valloc",        "pvalloc",        "aligned_alloc", "posix_memalign", "free",
        "cfree",         "__libc_malloc",  "__libc_calloc", "__libc_realloc", "__libc_memalign",
        "__libc_valloc", "__libc_pvalloc", "__libc_free"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++)
        if (strcmp(function, names[i]) == 0)
            return true;
    return false;
}

static bool is_operators(uint32_t via) {
    return via == SEEP_VIA_NEW || via == SEEP_VIA_NEW_ARRAY || via == SEEP_VIA_FREE + SEEP_RELEASE_DELETE ||
           via == SEEP_VIA_FREE + SEEP_RELEASE_DELETE_ARRAY;
}

static struct seep_error *ask_module(struct seep_stacks *stacks, const struct seep_module *module,
                                     unsigned *ret_id) {
    return seep_symbols_module(stacks->symbols, module->path, module->build_id, module->build_id_bytes,
                               ret_id);
}

static struct seep_error *has_own_runtime(struct seep_stacks *stacks, const struct seep_module *module,
                                          bool *ret_has) {
    unsigned id;
    *ret_has = false;
    if (seep_module_is_runtime(module->path))
        return NULL;
    struct seep_error *error = ask_module(stacks, module, &id);
    return error ? error : seep_symbols_has_cxx_runtime(stacks->symbols, id, ret_has);
}

// Whether any module has. Asked once: a trace may have as many wrong releases as modules, and many of both.
static struct seep_error *any_has_runtime(struct seep_stacks *stacks, const struct seep_profile *profile,
                                          bool *ret_has) {
    bool has = false;
    struct seep_error *error = NULL;
    if (stacks->runtime_of != profile) {
        for (uint32_t i = 1; !error && !has && i < profile->nr_modules; i++)
            error = has_own_runtime(stacks, &profile->modules[i], &has);
        if (error)
            return error;
        stacks->runtime_of = profile;
        stacks->has_runtime = has;
    }
    *ret_has = stacks->has_runtime;
    return NULL;
}

// Whether an operator without a name, or an operator delete without a frame, may have made the call. An
// operator new looks at what malloc returned, so it has a frame.
static struct seep_error *is_unseen_operator(struct seep_stacks *stacks, const struct seep_profile *profile,
                                             const struct seep_node *node, bool is_named, bool is_release,
                                             bool *ret_is) {
    const struct seep_module *module = &profile->modules[node->module];
    bool has = false;
    unsigned id;
    struct seep_error *error = NULL;
    if (!is_named) {
        error = has_own_runtime(stacks, module, ret_is);
        if (error || *ret_is)
            return error;
    }
    if (!is_release)
        return NULL;
    error = any_has_runtime(stacks, profile, &has);
    if (error || !has)
        return error;
    const char *import = NULL;
    error = ask_module(stacks, module, &id);
    if (!error)
        error = seep_symbols_called_import(stacks->symbols, id, node->offset, &import);
    *ret_is = !error && !(import && is_of_c(import));
    return error;
}

struct seep_error *seep_is_own_operator(struct seep_stacks *stacks, const struct seep_profile *profile,
                                        const uint32_t *nodes, const struct seep_wrong_release *wrong,
                                        bool *ret_is) {
    *ret_is = false;
    if (wrong->kind != SEEP_MISUSE_MISMATCH)
        return NULL;
    const struct seep_site *made = &profile->sites[wrong->site];
    const struct seep_site *freed = &profile->sites[wrong->release_site];
    if (is_operators(made->via) == is_operators(freed->via))
        return NULL;
    const struct seep_site *other = is_operators(made->via) ? freed : made;
    uint32_t frame = stacks->nodes[nodes[other->node]].frame;
    if (frame == SEEP_NO_FRAME)
        return NULL;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
    bool is_named = false;
    for (unsigned i = 0; !error && i < symbol->nr_frames; i++) {
        is_named |= symbol->frames[i].function != NULL;
        *ret_is |= symbol->frames[i].function && is_operator(symbol->frames[i].function);
    }
    const struct seep_node *node = &profile->nodes[other->node];
    if (error || *ret_is || node->kind != SEEP_NODE_FRAME || !node->module || node->exact)
        return error;
    return is_unseen_operator(stacks, profile, node, is_named, other == freed, ret_is);
}
