// SPDX-License-Identifier: BSD-2-Clause
//
// The other end of seep.h: the table that annotated programs find by name. Not hooks in front of
// anything, but entered as hooks are.
#include <errno.h>
#include <seep.h>

#include "preload/annotation.h"
#include "preload/custom_pool.h"
#include "preload/hooks.h"

static void api_pool_create(const void *pool, const char *name) {
    struct seep_thread *thread = thread_enter();
    if (!thread)
        return;
    seep_pool_begins(thread, (uintptr_t)pool, name, SEEP_HOOK_CALLER());
    thread_leave(thread);
}

static void pool_ends(const void *pool, bool stays) {
    struct seep_thread *thread = thread_enter();
    if (!thread)
        return;
    seep_pool_ends(thread, (uintptr_t)pool, stays);
    thread_leave(thread);
}

static void api_pool_clear(const void *pool) {
    pool_ends(pool, true);
}

static void api_pool_destroy(const void *pool) {
    pool_ends(pool, false);
}

static void api_pool_alloc(const void *pool, const void *piece, size_t bytes) {
    struct seep_thread *thread = piece ? thread_enter() : NULL;
    if (!thread)
        return;
    seep_piece_taken(thread, (uintptr_t)pool, (uintptr_t)piece, bytes, SEEP_VIA_POOL_ALLOC,
                     SEEP_HOOK_CALLER());
    thread_leave(thread);
}

static void api_pool_resize(const void *pool, const void *old_piece, const void *piece, size_t bytes) {
    struct seep_thread *thread = piece ? thread_enter() : NULL; // NULL: it failed, the old one stays
    if (!thread)
        return;
    if (old_piece)
        seep_piece_freed(thread, (uintptr_t)pool, (uintptr_t)old_piece);
    seep_piece_taken(thread, (uintptr_t)pool, (uintptr_t)piece, bytes, SEEP_VIA_POOL_RESIZE,
                     SEEP_HOOK_CALLER());
    thread_leave(thread);
}

static void api_pool_free(const void *pool, const void *piece) {
    struct seep_thread *thread = piece ? thread_enter() : NULL;
    if (!thread)
        return;
    seep_piece_freed(thread, (uintptr_t)pool, (uintptr_t)piece);
    thread_leave(thread);
}

static void api_mark(const char *name) {
    struct seep_thread *thread = name ? thread_enter() : NULL;
    if (!thread)
        return;
    seep_mark_moment(thread, name);
    thread_leave(thread);
}

static void api_thread_name(const char *name) {
    struct seep_thread *thread = name ? thread_enter() : NULL;
    if (!thread)
        return;
    seep_name_thread(thread, name);
    thread_leave(thread);
}

static void region(enum seep_region_kind kind, const void *start, size_t bytes, bool added) {
    struct seep_thread *thread = start ? thread_enter() : NULL;
    if (!thread)
        return;
    if (added)
        seep_region_add(kind, (uintptr_t)start, bytes);
    else
        seep_region_remove(kind, (uintptr_t)start, bytes);
    thread_leave(thread);
}

static void api_ignore(const void *block, int is_ignored) {
    region(SEEP_REGION_IGNORED, block, 0, is_ignored != 0);
}

static void api_root_add(const void *start, size_t bytes) {
    region(SEEP_REGION_ROOT, start, bytes, true);
}

static void api_root_remove(const void *start, size_t bytes) {
    region(SEEP_REGION_ROOT, start, bytes, false);
}

SEEP_EXPORT const struct seep_api_table seep_api_1;
SEEP_EXPORT const struct seep_api_table seep_api_1 = {
    .version = SEEP_API_VERSION,
    .bytes = sizeof(struct seep_api_table),
    .pool_create = api_pool_create,
    .pool_clear = api_pool_clear,
    .pool_destroy = api_pool_destroy,
    .pool_alloc = api_pool_alloc,
    .pool_resize = api_pool_resize,
    .pool_free = api_pool_free,
    .mark = api_mark,
    .thread_name = api_thread_name,
    .ignore = api_ignore,
    .root_add = api_root_add,
    .root_remove = api_root_remove,
};
