// SPDX-License-Identifier: BSD-2-Clause
//
// operator new and delete, all forms. Nothing here may be on the stack as a guard when an exception
// passes (bad_alloc, or whatever a new_handler throws): so where operator new is the C++ library's,
// which only calls malloc, we call malloc and record; when that fails, the real operator new runs
// unguarded and does what it must (handlers, throwing). An allocator with a new of its own
// (jemalloc, tcmalloc) is called unguarded too; what it returns is recorded unless a nested malloc
// hook has just done so.
//
// A program, or a library that it is linked with, may define some operators and leave the others to the C++
// library, whose operators call the defined ones (seep_g.operators_replaced). Then the operators here record
// nothing: an allocation counts where the defined operators call malloc and free. Blocks from a pool of these
// operators are not seen.
//
// Names: Itanium C++ ABI 5.1.5. What calls what: ISO C++, [new.delete].
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "preload/boot_allocator.h"
#include "preload/hooks.h"
#include "preload/loader_lists.h"
#include "preload/quiet_calls.h"

enum real_new {
    NEW,
    NEW_ARRAY,
    NEW_NOTHROW,
    NEW_ARRAY_NOTHROW,
    NEW_ALIGNED,
    NEW_ARRAY_ALIGNED,
    NEW_ALIGNED_NOTHROW,
    NEW_ARRAY_ALIGNED_NOTHROW,
    NEW_NR
};

static const char *const new_names[NEW_NR] = {
    [NEW] = SEEP_CXX_NEW,
    [NEW_ARRAY] = "_Zna" SEEP_CXX_SIZE,
    [NEW_NOTHROW] = "_Znw" SEEP_CXX_SIZE "RKSt9nothrow_t",
    [NEW_ARRAY_NOTHROW] = "_Zna" SEEP_CXX_SIZE "RKSt9nothrow_t",
    [NEW_ALIGNED] = "_Znw" SEEP_CXX_SIZE "St11align_val_t",
    [NEW_ARRAY_ALIGNED] = "_Zna" SEEP_CXX_SIZE "St11align_val_t",
    [NEW_ALIGNED_NOTHROW] = "_Znw" SEEP_CXX_SIZE "St11align_val_tRKSt9nothrow_t",
    [NEW_ARRAY_ALIGNED_NOTHROW] = "_Zna" SEEP_CXX_SIZE "St11align_val_tRKSt9nothrow_t",
};

// All real forms are called with three arguments: what a form does not take it does not look at.
typedef void *real_new_fn(size_t, const void *, const void *);
static _Atomic(real_new_fn *) real_news[NEW_NR];

// The real function. A C++ library that came with dlopen is not in our search order: ask it by name.
static SEEP_NOINLINE real_new_fn *look_up_new(enum real_new form) {
    real_new_fn *function;
    int kept = errno; // as it would be without us, whatever the look-up does to it
    void *found = seep_loader_dlsym(RTLD_NEXT, new_names[form]);
    static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1"};
    for (size_t i = 0; !found && i < SEEP_ARRAY_SIZE(libraries); i++) {
        void *library = dlopen(libraries[i], RTLD_NOLOAD | RTLD_LAZY);
        found = library ? seep_loader_dlsym(library, new_names[form]) : NULL;
    }
    void *(*hook)(size_t) = malloc;
    if (!found && seep_g.operators_replaced && form < NEW_ALIGNED)
        __builtin_memcpy(&found, &hook, sizeof(found)); // a library of C that defines some
    if (!found)
        abort(); // out of memory, and no C++ library to say so: as an uncaught bad_alloc
    errno = kept;
    __builtin_memcpy(&function, &found, sizeof(function));
    atomic_store_explicit(&real_news[form], function, memory_order_relaxed);
    return function;
}

static real_new_fn *real_new(enum real_new form) {
    real_new_fn *function = atomic_load_explicit(&real_news[form], memory_order_relaxed);
    return function ? function : look_up_new(form);
}

static SEEP_COLD void *call_real_new(enum real_new form, size_t size, const void *second, const void *third,
                                     enum seep_via via, struct seep_caller caller) {
    struct seep_nested nested = {.thread = NULL};
    if (SEEP_UNLIKELY(seep_g.apart) && !seep_g.operators_replaced)
        seep_nested_begin(&nested);
    void *block = real_new(form)(size, second, third);
    if (seep_g.operators_replaced)
        return block;
    struct seep_thread *thread = thread_enter();
    if (!thread)
        return block;
    seep_nested_end(thread, &nested);
    if (!block)
        thread->slot->failed++;
    else if (seep_record_again(thread, block, size, via, caller, &nested))
        ; // a malloc hook that it called was first
    else if (!sample_skips(thread, block, size))
        seep_record_allocation(thread, block, size, via, caller.pc, caller.sp, caller.bp);
    thread_leave(thread);
    return block;
}

SEEP_NOINLINE void *seep_new_here(size_t size, enum seep_via via) {
    return call_real_new(via == SEEP_VIA_NEW ? NEW : NEW_ARRAY, size, NULL, NULL, via, SEEP_HOOK_CALLER());
}

SEEP_INLINE void *new_plain(size_t size, enum seep_via via) {
    if (SEEP_UNLIKELY(seep_g.apart))
        return seep_new_apart(size, via);
    uint64_t bytes = SEEP_KEPT(size);
    if (SEEP_LIKELY(seep_g.new_is_malloc)) {
        void *block = seep_g.real.malloc(size ? size : 1);
        if (SEEP_LIKELY(block != NULL))
            return allocated(block, bytes, via);
    }
    return seep_new_here(bytes, via);
}

// As libstdc++ and libc++ do it: the size rounded up to the alignment, then aligned_alloc.
static void *aligned_block(size_t size, size_t alignment) {
    size_t unit = SEEP_MAX(alignment, sizeof(void *));
    bool valid = alignment && !(alignment & (alignment - 1)) && size <= SIZE_MAX - unit;
    return valid ? seep_g.real.aligned_alloc(unit, ((size ? size : 1) + unit - 1) & ~(unit - 1)) : NULL;
}

// The forms that few programs call share one body: the library is small where it can be.
static SEEP_COLD void *new_rare(enum real_new form, size_t size, size_t alignment, const void *nothrow,
                                enum seep_via via, struct seep_caller caller) {
    bool aligned = form >= NEW_ALIGNED;
    void *block = !seep_g.new_is_malloc ? NULL
                  : aligned             ? aligned_block(size, alignment)
                                        : seep_g.real.malloc(size ? size : 1);
    if (SEEP_LIKELY(block != NULL))
        return allocated_rarely(block, size, via, caller);
    return aligned ? call_real_new(form, size, (const void *)alignment, nothrow, via, caller)
                   : call_real_new(form, size, nothrow, NULL, via, caller);
}

#define OPERATOR(type, name, symbol, ...)                                                                    \
    SEEP_EXPORT type name(__VA_ARGS__) __asm__(symbol);                                                      \
    SEEP_EXPORT type name(__VA_ARGS__)

OPERATOR(void *, operator_new, SEEP_CXX_NEW, size_t size) {
    return new_plain(size, SEEP_VIA_NEW);
}
OPERATOR(void *, operator_new_array, "_Zna" SEEP_CXX_SIZE, size_t size) {
    return new_plain(size, SEEP_VIA_NEW_ARRAY);
}
OPERATOR(void *, operator_new_nothrow, "_Znw" SEEP_CXX_SIZE "RKSt9nothrow_t", size_t size,
         const void *nothrow) {
    return new_rare(NEW_NOTHROW, size, 0, nothrow, SEEP_VIA_NEW, SEEP_HOOK_CALLER());
}
OPERATOR(void *, operator_new_array_nothrow, "_Zna" SEEP_CXX_SIZE "RKSt9nothrow_t", size_t size,
         const void *nothrow) {
    return new_rare(NEW_ARRAY_NOTHROW, size, 0, nothrow, SEEP_VIA_NEW_ARRAY, SEEP_HOOK_CALLER());
}
OPERATOR(void *, operator_new_aligned, "_Znw" SEEP_CXX_SIZE "St11align_val_t", size_t size,
         size_t alignment) {
    return new_rare(NEW_ALIGNED, size, alignment, NULL, SEEP_VIA_NEW, SEEP_HOOK_CALLER());
}
OPERATOR(void *, operator_new_array_aligned, "_Zna" SEEP_CXX_SIZE "St11align_val_t", size_t size,
         size_t alignment) {
    return new_rare(NEW_ARRAY_ALIGNED, size, alignment, NULL, SEEP_VIA_NEW_ARRAY, SEEP_HOOK_CALLER());
}
OPERATOR(void *, operator_new_aligned_nothrow, "_Znw" SEEP_CXX_SIZE "St11align_val_tRKSt9nothrow_t",
         size_t size, size_t alignment, const void *nothrow) {
    return new_rare(NEW_ALIGNED_NOTHROW, size, alignment, nothrow, SEEP_VIA_NEW, SEEP_HOOK_CALLER());
}
OPERATOR(void *, operator_new_array_aligned_nothrow, "_Zna" SEEP_CXX_SIZE "St11align_val_tRKSt9nothrow_t",
         size_t size, size_t alignment, const void *nothrow) {
    return new_rare(NEW_ARRAY_ALIGNED_NOTHROW, size, alignment, nothrow, SEEP_VIA_NEW_ARRAY,
                    SEEP_HOOK_CALLER());
}

// ---- delete: never throws -------------------------------------------------------------------------

// By the standard the sized and nothrow forms call the plain ones, and every known allocator does so. The
// forms are separate here because a program or library may define only some of them.
enum real_delete {
    DELETE,
    DELETE_ARRAY,
    DELETE_ALIGNED,
    DELETE_ARRAY_ALIGNED,
    PLAIN_NR,
    DELETE_SIZED = PLAIN_NR,
    DELETE_ARRAY_SIZED,
    DELETE_SIZED_ALIGNED,
    DELETE_ARRAY_SIZED_ALIGNED,
    DELETE_NOTHROW,
    DELETE_ARRAY_NOTHROW,
    DELETE_ALIGNED_NOTHROW,
    DELETE_ARRAY_ALIGNED_NOTHROW,
    DELETE_NR
};

static const char *const delete_names[DELETE_NR] = {
    [DELETE] = "_ZdlPv",
    [DELETE_ARRAY] = "_ZdaPv",
    [DELETE_ALIGNED] = "_ZdlPvSt11align_val_t",
    [DELETE_ARRAY_ALIGNED] = "_ZdaPvSt11align_val_t",
    [DELETE_SIZED] = "_ZdlPv" SEEP_CXX_SIZE,
    [DELETE_ARRAY_SIZED] = "_ZdaPv" SEEP_CXX_SIZE,
    [DELETE_SIZED_ALIGNED] = "_ZdlPv" SEEP_CXX_SIZE "St11align_val_t",
    [DELETE_ARRAY_SIZED_ALIGNED] = "_ZdaPv" SEEP_CXX_SIZE "St11align_val_t",
    [DELETE_NOTHROW] = "_ZdlPvRKSt9nothrow_t",
    [DELETE_ARRAY_NOTHROW] = "_ZdaPvRKSt9nothrow_t",
    [DELETE_ALIGNED_NOTHROW] = "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    [DELETE_ARRAY_ALIGNED_NOTHROW] = "_ZdaPvSt11align_val_tRKSt9nothrow_t",
};

// Whether the first definition is in a library other than the C++ library and the allocator (call_real_new).
// A C++ library may be linked statically into another one.
static bool is_of_library(const char *name, const char *allocator) {
    const char *module = seep_loader_behind(name, "_ZSt15set_new_handlerPFvvE");
    return module && !seep_path_contains(module, "libstdc++") && !seep_path_contains(module, "libc++") &&
           !(allocator && seep_path_contains(module, allocator));
}

SEEP_COLD bool seep_operators_replaced(const char *allocator) {
    for (size_t i = 0; i < NEW_NR + DELETE_NR; i++) {
        const char *name = i < NEW_NR ? new_names[i] : delete_names[i - NEW_NR];
        if (seep_loader_in_front(name) || is_of_library(name, allocator))
            return true;
    }
    return false;
}

// All real forms are called with three arguments, as those of new.
typedef void real_delete_fn(void *, const void *, const void *);
static _Atomic(real_delete_fn *) real_deletes[DELETE_NR];

// NULL: there is none.
static real_delete_fn *real_delete(uint32_t form) {
    real_delete_fn *function = atomic_load_explicit(&real_deletes[form], memory_order_relaxed);
    if (function)
        return function;
    int kept = errno;
    void *found = seep_loader_dlsym(RTLD_NEXT, delete_names[form]);
    errno = kept;
    __builtin_memcpy(&function, &found, sizeof(function));
    atomic_store_explicit(&real_deletes[form], function, memory_order_relaxed);
    return function;
}

// If operators are replaced: calls the function that the program would have called without this library. The
// C++ library's sized and nothrow forms call the plain ones by name, so these calls come here again.
static SEEP_COLD void hand_on(uint32_t form, void *block, const void *second, const void *third) {
    real_delete_fn *function = real_delete(form);
    if (function)
        function(block, second, third);
    else if (form >= PLAIN_NR && (function = real_delete(form % 2)))
        function(block, NULL, NULL); // the C++ library is too old to have this form
    else
        free(block);
}

static SEEP_COLD void call_real_delete(uint32_t form, void *block, size_t alignment) {
    real_delete_fn *function = real_delete(form);
    if (!function) {
        seep_g.real.free(block);
        return;
    }
    // A delete that calls free comes to our hook again, for a block that the map no longer has: the
    // guard keeps it from being counted. Nothing can pass it: delete does not throw.
    if (seep_g.apart) {
        struct seep_thread *quiet = seep_quiet_begin(CPU_FRAME());
        function(block, (const void *)alignment, NULL);
        seep_quiet_end(quiet);
        return;
    }
    struct seep_thread *thread = seep_self();
    bool guarded = SEEP_GUARD_IS_IDLE(thread->guard);
    if (guarded)
        thread->nested_release = true;
    function(block, (const void *)alignment, NULL);
    if (guarded)
        thread->nested_release = false;
}

SEEP_NOINLINE void seep_delete_here(void *block, size_t alignment, uint32_t form, bool recorded) {
    if (SEEP_UNLIKELY(seep_g.operators_replaced)) {
        hand_on(form, block, (const void *)alignment, NULL);
        return;
    }
    if (!block)
        return;
    if (form == DELETE_SIZED) {
        form = DELETE;
        alignment = 0;
    }
    struct seep_caller caller = SEEP_HOOK_CALLER();
    enum seep_release via = form % 2 ? SEEP_RELEASE_DELETE_ARRAY : SEEP_RELEASE_DELETE;
    bool tried = seep_g.delete_is_free || seep_g.apart;
    if (!recorded && (tried || !released_short(block, via)))
        seep_released_long(block, via, caller.pc, caller.sp, caller.bp);
    if (SEEP_UNLIKELY(seep_boot_has(block)))
        return;
    if (SEEP_LIKELY(seep_g.delete_is_free))
        seep_g.real.free(block);
    else
        call_real_delete(form, block, alignment);
}

// The fast path is only for a delete that is free: a program's own delete may keep the block, and hand it out
// again without malloc. `second`: the argument behind the block, where there is one.
SEEP_INLINE void delete_block(enum real_delete form, void *block, size_t second, enum seep_release via) {
    if (SEEP_UNLIKELY(seep_g.apart)) {
        seep_delete_apart(block, second, form);
        return;
    }
    if (SEEP_LIKELY(seep_g.delete_is_free) && SEEP_LIKELY(released_short(block, via)))
        seep_g.real.free(block);
    else
        seep_delete_here(block, second, form, false);
}

// `plain`: the form that stands for the rare one if operators are not replaced.
SEEP_INLINE void delete_rare(enum real_delete form, enum real_delete plain, void *block, const void *second,
                             const void *third) {
    bool has_size = form == DELETE_SIZED_ALIGNED || form == DELETE_ARRAY_SIZED_ALIGNED;
    if (SEEP_UNLIKELY(seep_g.operators_replaced))
        hand_on(form, block, second, third);
    else
        seep_delete_apart(block, (size_t)(has_size ? third : second), plain);
}

OPERATOR(void, operator_delete, "_ZdlPv", void *block) {
    delete_block(DELETE, block, 0, SEEP_RELEASE_DELETE);
}
OPERATOR(void, operator_delete_array, "_ZdaPv", void *block) {
    delete_block(DELETE_ARRAY, block, 0, SEEP_RELEASE_DELETE_ARRAY);
}
OPERATOR(void, operator_delete_aligned, "_ZdlPvSt11align_val_t", void *block, size_t alignment) {
    seep_delete_apart(block, alignment, DELETE_ALIGNED);
}
OPERATOR(void, operator_delete_array_aligned, "_ZdaPvSt11align_val_t", void *block, size_t alignment) {
    seep_delete_apart(block, alignment, DELETE_ARRAY_ALIGNED);
}
OPERATOR(void, operator_delete_sized, "_ZdlPv" SEEP_CXX_SIZE, void *block, size_t size) {
    delete_block(DELETE_SIZED, block, size, SEEP_RELEASE_DELETE);
}
#define RARE(name, symbol, form, plain)                                                                      \
    OPERATOR(void, name, symbol, void *block, const void *second, const void *third) {                       \
        delete_rare(form, plain, block, second, third);                                                      \
    }
RARE(operator_delete_array_sized, "_ZdaPv" SEEP_CXX_SIZE, DELETE_ARRAY_SIZED, DELETE_ARRAY)
RARE(operator_delete_sized_aligned, "_ZdlPv" SEEP_CXX_SIZE "St11align_val_t", DELETE_SIZED_ALIGNED,
     DELETE_ALIGNED)
RARE(operator_delete_array_sized_aligned, "_ZdaPv" SEEP_CXX_SIZE "St11align_val_t",
     DELETE_ARRAY_SIZED_ALIGNED, DELETE_ARRAY_ALIGNED)
RARE(operator_delete_nothrow, "_ZdlPvRKSt9nothrow_t", DELETE_NOTHROW, DELETE)
RARE(operator_delete_array_nothrow, "_ZdaPvRKSt9nothrow_t", DELETE_ARRAY_NOTHROW, DELETE_ARRAY)
RARE(operator_delete_aligned_nothrow, "_ZdlPvSt11align_val_tRKSt9nothrow_t", DELETE_ALIGNED_NOTHROW,
     DELETE_ALIGNED)
RARE(operator_delete_array_aligned_nothrow, "_ZdaPvSt11align_val_tRKSt9nothrow_t",
     DELETE_ARRAY_ALIGNED_NOTHROW, DELETE_ARRAY_ALIGNED)

// Functions of a closed library are no longer mapped.
SEEP_COLD void seep_operators_closed(void) {
    for (size_t i = 0; i < NEW_NR; i++)
        atomic_store_explicit(&real_news[i], NULL, memory_order_relaxed);
    for (size_t i = 0; i < DELETE_NR; i++)
        atomic_store_explicit(&real_deletes[i], NULL, memory_order_relaxed);
}
