// SPDX-License-Identifier: BSD-2-Clause
//
// Symbols of files that other users made: they are read by a worker without rights (confine/worker.h), for
// which the tool opens the files. Each function is the one of symbols.h of that name, for modules and types
// that are far.
//
// What the worker says is checked, and a module at whose question it dies, lies or takes too much is lost: it
// has no names, and its trouble says why. The others get another worker, a few times.
// Invariant: the worker gets no file that its owner does not show to everybody, but those of the user whose
// module it reads.
// Proof: tests/unit/test_untrusted_symbols.c, tests/fuzz/fuzz_untrusted.c.
#ifndef SEEP_NAMES_UNTRUSTED_SYMBOLS_H
#define SEEP_NAMES_UNTRUSTED_SYMBOLS_H

#include "confine/worker.h"
#include "names/module_file.h"
#include "names/names.h"
#include "names/symbols.h"

struct seep_untrusted_symbols;

struct seep_untrusted_module {
    const char *path;
    struct seep_build_id id;
    unsigned generation; // of the worker that knows it; 0: none does
    uint32_t number;     // as that worker calls it
    bool is_lost;
    enum seep_symbols_quality quality;
    const char *trouble; // lives as long as the symbols; NULL: none
};

struct seep_untrusted_type {
    struct seep_untrusted_module *module;
    unsigned generation;
    uint64_t number; // 0: not known
};

// Borrows search and names, which it adds to.
SEEP_MUST_CHECK struct seep_error *seep_untrusted_symbols_create(struct seep_file_search *search,
                                                                 struct seep_names *names,
                                                                 struct seep_untrusted_symbols **ret_far);
void seep_untrusted_symbols_destroy(struct seep_untrusted_symbols *far); // takes NULL

SEEP_MUST_CHECK struct seep_error *seep_untrusted_resolve(struct seep_untrusted_symbols *far,
                                                          struct seep_untrusted_module *module,
                                                          uint64_t offset, bool exact,
                                                          const struct seep_symbol **ret_symbol);
SEEP_MUST_CHECK struct seep_error *seep_untrusted_variable(struct seep_untrusted_symbols *far,
                                                           struct seep_untrusted_module *module,
                                                           uint64_t offset, const char **ret_name,
                                                           uint64_t *ret_variable_offset);
// The types of what these fill stay NULL; they are in *ret_type.
SEEP_MUST_CHECK struct seep_error *seep_untrusted_global(struct seep_untrusted_symbols *far,
                                                         struct seep_untrusted_module *module,
                                                         uint64_t offset, bool whole,
                                                         struct seep_variable *ret_variable,
                                                         struct seep_untrusted_type *ret_type);
SEEP_MUST_CHECK struct seep_error *seep_untrusted_local(
    struct seep_untrusted_symbols *far, struct seep_untrusted_module *module,
    const struct seep_call_frame *frame, const struct seep_thread_stack *stack, uint64_t address,
    uint64_t value, struct seep_variable *ret_variable, struct seep_untrusted_type *ret_type);
SEEP_MUST_CHECK struct seep_error *seep_untrusted_member(struct seep_untrusted_symbols *far,
                                                         const struct seep_untrusted_type *type,
                                                         const struct seep_pointed *pointed, uint64_t off,
                                                         struct seep_variable *ret_member,
                                                         struct seep_untrusted_type *ret_type);
SEEP_MUST_CHECK struct seep_error *seep_untrusted_caller(struct seep_untrusted_symbols *far,
                                                         struct seep_untrusted_module *module,
                                                         const struct seep_thread_stack *stack,
                                                         struct seep_call_frame *frame, bool *ret_there,
                                                         struct seep_call_frame *ret_caller);
SEEP_MUST_CHECK struct seep_error *seep_untrusted_declare(struct seep_untrusted_symbols *far,
                                                          const struct seep_untrusted_type *type,
                                                          const char *name, const char **ret_text);
SEEP_MUST_CHECK struct seep_error *seep_untrusted_pointee(struct seep_untrusted_symbols *far,
                                                          const struct seep_untrusted_type *type,
                                                          struct seep_untrusted_type *ret_type);
SEEP_MUST_CHECK struct seep_error *seep_untrusted_class(struct seep_untrusted_symbols *far,
                                                        struct seep_untrusted_module *module,
                                                        const char *name,
                                                        struct seep_untrusted_type *ret_type);
SEEP_MUST_CHECK struct seep_error *seep_untrusted_returned_text(struct seep_untrusted_symbols *far,
                                                                struct seep_untrusted_module *module,
                                                                const char *function, bool *ret_found,
                                                                const char **ret_text);
void seep_untrusted_close_files(struct seep_untrusted_symbols *far);

// ---- for their tests ----

// A seep_worker_give_function; the context is the far symbols, which were asked something.
int seep_untrusted_give(void *context, struct seep_take *wish, struct seep_put *reply);

// As a hostile worker may say it. false: it is none.
SEEP_MUST_CHECK bool seep_untrusted_take_symbol(struct seep_take *answer, struct seep_names *names,
                                                struct seep_untrusted_module *module,
                                                const struct seep_symbol **ret_symbol);

#endif
