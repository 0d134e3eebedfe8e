// SPDX-License-Identifier: BSD-2-Clause
//
// What a program can tell seep about its memory: its own allocators and pools, moments with a name,
// the work of a thread, blocks that are no leaks, and roots that no scan would find.
//
// There is nothing to link. In a program that is not traced each call is one load, one compare and one
// branch; nothing is started, allocated or written. The same binary does its part when `seep run` or
// LD_PRELOAD=libseep.so traces it. Compile with -DSEEP_NO_ANNOTATIONS and nothing is left at all.
//
// C99, C11, C++; gcc and clang; executables of any kind, libraries, plugins. Elsewhere it is empty.
// All may be called from any thread; none from a signal handler. errno stays as it is.
//
// The page: docs/annotations.md. It has the macros of Valgrind and LeakSanitizer line by line.
#ifndef SEEP_H
#define SEEP_H

#include <stddef.h>

#define SEEP_API_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

// The functions of the libseep.so that traces this process. Later versions append to it.
struct seep_api_table {
    unsigned version; // SEEP_API_VERSION of the library
    unsigned bytes;   // sizeof this struct in the library
    void (*pool_create)(const void *pool, const char *name);
    void (*pool_clear)(const void *pool);
    void (*pool_destroy)(const void *pool);
    void (*pool_alloc)(const void *pool, const void *piece, size_t bytes);
    void (*pool_resize)(const void *pool, const void *old_piece, const void *piece, size_t bytes);
    void (*pool_free)(const void *pool, const void *piece);
    void (*mark)(const char *name);
    void (*thread_name)(const char *name);
    void (*ignore)(const void *block, int ignored);
    void (*root_add)(const void *start, size_t bytes);
    void (*root_remove)(const void *start, size_t bytes);
};

#if !defined(SEEP_NO_ANNOTATIONS) && defined(__GNUC__) && defined(__ELF__)
#if defined(__PIC__) || defined(__PIE__)
extern const struct seep_api_table seep_api_1 __attribute__((weak, visibility("default")));
#define SEEP_API_TABLE_ (&seep_api_1)
#else
// Linkers make 0 of a weak symbol in an executable with a fixed address: here the loader is asked, once.
void *seep_dlsym_(void *handle, const char *name) __asm__("dlsym") __attribute__((weak));
char *seep_dlerror_(void) __asm__("dlerror") __attribute__((weak));
static const struct seep_api_table *seep_table_;
static char seep_asked_;
static __attribute__((unused, noinline, cold)) const struct seep_api_table *seep_ask_(void) {
    if (seep_dlsym_) {
        seep_table_ = (const struct seep_api_table *)seep_dlsym_(NULL, "seep_api_1");
        if (!seep_table_ && seep_dlerror_)
            seep_dlerror_(); // that it is not there is no error of the program's
    }
    seep_asked_ = 1;
    return seep_table_;
}
#define SEEP_API_TABLE_ (seep_asked_ ? seep_table_ : seep_ask_())
#endif
#define SEEP_CALL_(member, arguments)                                                                        \
    do {                                                                                                     \
        const struct seep_api_table *seep_table_here_ = SEEP_API_TABLE_;                                     \
        if (__builtin_expect(seep_table_here_ != NULL, 0))                                                   \
            seep_table_here_->member arguments;                                                              \
    } while (0)
#define SEEP_API_ static inline __attribute__((always_inline, artificial, unused))
#else
#define SEEP_API_TABLE_ ((const struct seep_api_table *)0)
#define SEEP_CALL_(member, arguments) ((void)0)
#define SEEP_API_ static inline
#endif

// ---- pools and custom allocators --------------------------------------------------------------------
//
// A piece is what a custom allocator gives out: a part of a block of malloc, of a mapping, of anything.
// Pieces are a class of their own in reports ("pools"), each with the stack that asked for it. They are
// in no figure of the heap: the block that they are cut from is counted there, once.
//
// `pool` is any address that stands for the pool, most often that of its struct; NULL for an allocator
// that has none. A pool need not be created before its first piece; creating it gives it a name.
// Tell of a piece after it has been taken, and before it is freed.

// A pool that begins, without pieces. `name` is copied (up to 255 bytes); NULL: none.
SEEP_API_ void seep_pool_create(const void *pool, const char *name) {
    (void)pool, (void)name;
    SEEP_CALL_(pool_create, (pool, name));
}

// All pieces of the pool are freed at once; the pool stays.
SEEP_API_ void seep_pool_clear(const void *pool) {
    (void)pool;
    SEEP_CALL_(pool_clear, (pool));
}

// The same, and the pool ends.
SEEP_API_ void seep_pool_destroy(const void *pool) {
    (void)pool;
    SEEP_CALL_(pool_destroy, (pool));
}

// `piece` NULL, as when the pool was exhausted, is nothing. `bytes` are those that were asked for.
SEEP_API_ void seep_pool_alloc(const void *pool, const void *piece, size_t bytes) {
    (void)pool, (void)piece, (void)bytes;
    SEEP_CALL_(pool_alloc, (pool, piece, bytes));
}

// As realloc: one piece freed, one taken, perhaps at the same address. Call it when it is done.
SEEP_API_ void seep_pool_resize(const void *pool, const void *old_piece, const void *piece, size_t bytes) {
    (void)pool, (void)old_piece, (void)piece, (void)bytes;
    SEEP_CALL_(pool_resize, (pool, old_piece, piece, bytes));
}

SEEP_API_ void seep_pool_free(const void *pool, const void *piece) {
    (void)pool, (void)piece;
    SEEP_CALL_(pool_free, (pool, piece));
}

// ---- moments and threads ----------------------------------------------------------------------------

// Names this moment: `seep diff app.seep@loaded app.seep` shows what has come since. What each site has
// at the moment is kept; that takes some microseconds for each thousand sites.
SEEP_API_ void seep_mark(const char *name) {
    (void)name;
    SEEP_CALL_(mark, (name));
}

// What this thread does, for `--by thread` and `--thread`: up to 15 bytes. Nothing but seep sees it.
SEEP_API_ void seep_thread_name(const char *name) {
    (void)name;
    SEEP_CALL_(thread_name, (name));
}

// ---- for leak checks --------------------------------------------------------------------------------

// The block of the heap that begins there is held on purpose: it is no leak, nor is what it points to.
// Ends when the block is freed, or moved by realloc.
SEEP_API_ void seep_ignore(const void *block) {
    (void)block;
    SEEP_CALL_(ignore, (block, 1));
}

SEEP_API_ void seep_unignore(const void *block) {
    (void)block;
    SEEP_CALL_(ignore, (block, 0));
}

// Memory that holds pointers to blocks, where a scan would not look: a mapping of the program's own.
SEEP_API_ void seep_root_add(const void *start, size_t bytes) {
    (void)start, (void)bytes;
    SEEP_CALL_(root_add, (start, bytes));
}

SEEP_API_ void seep_root_remove(const void *start, size_t bytes) {
    (void)start, (void)bytes;
    SEEP_CALL_(root_remove, (start, bytes));
}

// Whether libseep.so is in this process.
SEEP_API_ int seep_is_tracing(void) {
    return SEEP_API_TABLE_ != NULL;
}

#ifdef __cplusplus
}
#endif

#endif
