// SPDX-License-Identifier: BSD-2-Clause
// The call tree of a page, see page_tree.h.
#include <limits.h>
#include <stdlib.h>

#include "names/short_name.h"
#include "page/page_tree.h"
#include "view/stacks.h"

struct seep_error *seep_page_tree_init(struct seep_page_tree *tree) {
    *tree = (struct seep_page_tree){.nr_nodes = 1};
    seep_page_column_put(&tree->node_parents, 0);
    uint32_t id;
    if (!seep_grow(&tree->node_frames, &tree->node_frames_capacity, 1, sizeof(*tree->node_frames)))
        return seep_error_no_memory();
    return seep_texts_add(&tree->texts, "", &id);
}

void seep_page_tree_deinit(struct seep_page_tree *tree) {
    seep_texts_deinit(&tree->texts);
    seep_arena_deinit(&tree->arena);
    seep_map_deinit(&tree->functions);
    seep_map_deinit(&tree->places);
    seep_map_deinit(&tree->frames);
    seep_map_deinit(&tree->nodes);
    seep_map_deinit(&tree->file_ids);
    seep_ids_deinit(&tree->known_ids);
    free(tree->known);
    free(tree->first);
    free(tree->node_frames);
    free(tree->files);
    seep_page_column_deinit(&tree->function_names);
    seep_page_column_deinit(&tree->function_modules);
    seep_page_column_deinit(&tree->function_offsets);
    seep_page_column_deinit(&tree->frame_functions);
    seep_page_column_deinit(&tree->frame_files);
    seep_page_column_deinit(&tree->frame_lines);
    seep_page_column_deinit(&tree->node_parents);
}

struct seep_error *seep_page_tree_text(struct seep_page_tree *tree, const char *text, uint32_t *ret_id) {
    *ret_id = 0;
    if (!text || !*text)
        return NULL;
    size_t nr = tree->texts.nr;
    struct seep_error *error = seep_texts_add(&tree->texts, text, ret_id);
    if (error || tree->texts.nr == nr)
        return error;
    const char *copy = seep_arena_strdup(&tree->arena, text);
    if (copy)
        tree->texts.texts[*ret_id] = copy;
    return copy ? NULL : seep_error_no_memory();
}

// A function's name as people read it, with all of its arguments, which tell overloads apart.
static struct seep_error *function_text(struct seep_page_tree *tree, const char *function, uint32_t *ret_id) {
    char *shorter = NULL;
    struct seep_error *error =
        function && !tree->full_names ? seep_name_shorten_to(function, UINT_MAX, 0, &shorter) : NULL;
    if (!error)
        error = seep_page_tree_text(tree, shorter ? shorter : function, ret_id);
    free(shorter);
    return error;
}

// The number of `key`: *nr where it is new, which is one more then.
static struct seep_error *number_of(struct seep_map *map, uint64_t key, uint32_t *nr, bool *ret_new,
                                    uint32_t *ret_id) {
    uint64_t *slot = seep_map_at(map, key, ret_new);
    if (!slot || *nr == UINT32_MAX)
        return seep_error_no_memory();
    if (*ret_new)
        *slot = (*nr)++;
    *ret_id = (uint32_t)*slot;
    return NULL;
}

static struct seep_error *function_of(struct seep_page_tree *tree, const struct seep_symbol_frame *symbol,
                                      const char *module, uint64_t offset, uint32_t *ret_id) {
    uint32_t name = 0, where = 0;
    bool is_new;
    struct seep_error *error = function_text(tree, symbol->function, &name);
    if (!error)
        error = seep_page_tree_text(tree, module, &where);
    if (error)
        return error;
    // Without a name it is its place: the two kinds of keys differ in the uppermost bit.
    uint64_t key = (uint64_t)name << 32 | where;
    if (!name)
        key = seep_hash64(offset ^ seep_hash64(where)) | UINT64_C(1) << 63;
    error = number_of(&tree->functions, key, &tree->nr_functions, &is_new, ret_id);
    if (!error && is_new) {
        seep_page_column_put_signed(&tree->function_names, (int64_t)name - tree->last_name);
        tree->last_name = name;
        seep_page_column_put(&tree->function_modules, where);
        seep_page_column_put(&tree->function_offsets, name ? 0 : offset);
    }
    return error;
}

static struct seep_error *note_file(struct seep_page_tree *tree, uint32_t text, const char *path) {
    bool is_new;
    uint64_t *slot = seep_map_at(&tree->file_ids, text, &is_new);
    if (!slot ||
        (is_new && !seep_grow(&tree->files, &tree->files_capacity, tree->nr_files + 1, sizeof(*tree->files))))
        return seep_error_no_memory();
    if (is_new)
        tree->files[tree->nr_files++] = (struct seep_page_file){text, path};
    return NULL;
}

static struct seep_error *frame_of(struct seep_page_tree *tree, const struct seep_symbol_frame *symbol,
                                   const char *module, const char *file, uint64_t offset, uint32_t *ret_id) {
    uint32_t function = 0, place = 0, file_id = 0;
    bool is_new;
    struct seep_error *error = function_of(tree, symbol, module, offset, &function);
    if (!error)
        error = seep_page_tree_text(tree, file, &file_id);
    if (!error && file_id)
        error = note_file(tree, file_id, symbol->file);
    if (!error)
        error =
            number_of(&tree->places, (uint64_t)function << 32 | file_id, &tree->nr_places, &is_new, &place);
    uint64_t line = (uint64_t)(symbol->line & 0x7fffffff) << 1 | symbol->inlined;
    if (!error)
        error = number_of(&tree->frames, (uint64_t)place << 32 | line, &tree->nr_frames, &is_new, ret_id);
    if (!error && is_new) {
        seep_page_column_put_signed(&tree->frame_functions, (int64_t)function - tree->last_function);
        tree->last_function = function;
        seep_page_column_put(&tree->frame_files, file_id);
        seep_page_column_put(&tree->frame_lines, line);
    }
    return error;
}

// As frame_of, for frames that have a function: most were there already.
static struct seep_error *known_frame_of(struct seep_page_tree *tree, struct seep_stacks *stacks,
                                         const struct seep_symbol_frame *symbol, const char *module,
                                         uint64_t offset, uint32_t *ret_id) {
    uint64_t hash =
        seep_hash64((uintptr_t)symbol->function ^ seep_hash64((uint64_t)symbol->line << 1 | symbol->inlined));
    uint32_t where;
    struct seep_error *error = seep_page_tree_text(tree, module, &where);
    if (error)
        return error;
    size_t at = 0;
    uint32_t id = symbol->function ? seep_ids_first(&tree->known_ids, hash, &at) : SEEP_NO_ID;
    for (; id != SEEP_NO_ID; id = seep_ids_next(&tree->known_ids, hash, &at)) {
        const struct seep_page_known *known = &tree->known[id];
        if (known->function == symbol->function && known->file == symbol->file && known->module == where &&
            known->line == symbol->line && known->inlined == symbol->inlined) {
            *ret_id = known->frame;
            return NULL;
        }
    }
    const char *file = symbol->file ? seep_stacks_file_shown(stacks, symbol->file) : NULL;
    error = frame_of(tree, symbol, module, file, offset, ret_id);
    if (error || !symbol->function)
        return error;
    if (!seep_grow(&tree->known, &tree->known_capacity, tree->nr_known + 1, sizeof(*tree->known)) ||
        !seep_ids_add(&tree->known_ids, hash, (uint32_t)tree->nr_known))
        return seep_error_no_memory();
    tree->known[tree->nr_known++] = (struct seep_page_known){symbol->function, symbol->file,    where,
                                                             symbol->line,     symbol->inlined, *ret_id};
    return NULL;
}

// ---- a view ----

struct seep_error *seep_page_branch_init(struct seep_page_branch *branch, struct seep_view *view) {
    *branch = (struct seep_page_branch){.view = view};
    branch->nodes = calloc(view->stacks->nr_nodes + 1, sizeof(*branch->nodes));
    branch->spans = calloc(view->stacks->nr_frames + 1, sizeof(*branch->spans));
    return branch->nodes && branch->spans ? NULL : seep_error_no_memory();
}

void seep_page_branch_deinit(struct seep_page_branch *branch) {
    free(branch->nodes);
    free(branch->spans);
    free(branch->frames);
    free(branch->path);
    *branch = (struct seep_page_branch){NULL};
}

static struct seep_error *span_of(struct seep_page_tree *tree, struct seep_page_branch *branch,
                                  uint32_t frame, struct seep_page_span *ret_span) {
    struct seep_page_span *span = &branch->spans[frame];
    if (span->nr) {
        *ret_span = *span;
        return NULL;
    }
    struct seep_stacks *stacks = branch->view->stacks;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
    if (error)
        return error;
    const struct seep_stack_frame *f = &stacks->frames[frame];
    if (!seep_grow(&branch->frames, &branch->frames_capacity, branch->nr_frames + symbol->nr_frames,
                   sizeof(*branch->frames)))
        return seep_error_no_memory();
    size_t begin = branch->nr_frames;
    for (unsigned i = symbol->nr_frames; !error && i-- > 0;) {
        error = known_frame_of(tree, stacks, &symbol->frames[i], stacks->modules[f->module].shown, f->offset,
                               &branch->frames[branch->nr_frames]);
        branch->nr_frames++;
    }
    if (error)
        return error;
    *span = (struct seep_page_span){(uint32_t)begin, symbol->nr_frames};
    *ret_span = *span;
    return NULL;
}

static struct seep_error *child_of(struct seep_page_tree *tree, uint32_t parent, uint32_t frame,
                                   uint32_t *ret_node) {
    if (!seep_grow(&tree->first, &tree->first_capacity, tree->nr_nodes + (size_t)1, sizeof(*tree->first)) ||
        !seep_grow(&tree->node_frames, &tree->node_frames_capacity, tree->nr_nodes + (size_t)1,
                   sizeof(*tree->node_frames)))
        return seep_error_no_memory();
    bool is_new = !tree->first[parent].node;
    struct seep_error *error = NULL;
    if (is_new) // most have one child
        *ret_node = tree->nr_nodes++;
    else if (tree->first[parent].frame == frame)
        *ret_node = tree->first[parent].node;
    else
        error = number_of(&tree->nodes, (uint64_t)parent << 32 | frame, &tree->nr_nodes, &is_new, ret_node);
    if (error || !is_new)
        return error;
    if (!tree->first[parent].node)
        tree->first[parent] = (struct seep_page_child){frame, *ret_node};
    seep_page_column_put(&tree->node_parents, *ret_node - parent);
    tree->node_frames[*ret_node] = frame;
    return NULL;
}

struct seep_error *seep_page_branch_node(struct seep_page_tree *tree, struct seep_page_branch *branch,
                                         const struct seep_view_row *row, uint32_t *ret_node) {
    const struct seep_stack_node *nodes = branch->view->stacks->nodes;
    size_t nr = 0;
    uint32_t node = row->node;
    for (; node && !branch->nodes[node]; node = nodes[node].parent) {
        if (!seep_grow(&branch->path, &branch->path_capacity, nr + 1, sizeof(*branch->path)))
            return seep_error_no_memory();
        branch->path[nr++] = node;
    }
    uint32_t at = node ? branch->nodes[node] - 1 : 0;
    while (nr-- > 0) {
        uint32_t frame = nodes[branch->path[nr]].frame;
        struct seep_page_span span = {0};
        struct seep_error *error = frame == SEEP_NO_FRAME ? NULL : span_of(tree, branch, frame, &span);
        for (uint32_t i = 0; !error && i < span.nr; i++)
            error = child_of(tree, at, branch->frames[span.begin + i], &at);
        if (error)
            return error;
        branch->nodes[branch->path[nr]] = at + 1;
    }
    *ret_node = at;
    return NULL;
}

uint32_t seep_page_branch_known(const struct seep_page_branch *branch, const struct seep_view_row *row) {
    uint32_t node = row->node;
    while (node && !branch->nodes[node])
        node = branch->view->stacks->nodes[node].parent;
    return node ? branch->nodes[node] - 1 : 0;
}

struct seep_error *seep_page_tree_words(struct seep_page_tree *tree, uint32_t parent, const char *words,
                                        uint32_t *ret_node, uint32_t *ret_frame) {
    const struct seep_symbol_frame frame = {.function = words};
    struct seep_error *error = frame_of(tree, &frame, NULL, NULL, 0, ret_frame);
    return error ? error : child_of(tree, parent, *ret_frame, ret_node);
}

struct seep_error *seep_page_branch_self(struct seep_page_tree *tree, struct seep_page_branch *branch,
                                         const struct seep_view_row *row, uint32_t *ret_frame) {
    uint32_t frame;
    unsigned inlined;
    struct seep_error *error = seep_stacks_self(branch->view->stacks, row->node, true, &frame, &inlined);
    *ret_frame = 0;
    if (error || frame == SEEP_NO_FRAME)
        return error;
    struct seep_page_span span;
    error = span_of(tree, branch, frame, &span);
    if (!error)
        *ret_frame = branch->frames[span.begin + span.nr - 1 - inlined] + 1;
    return error;
}
