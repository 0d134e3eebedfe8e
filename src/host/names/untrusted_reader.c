// SPDX-License-Identifier: BSD-2-Clause
// The reader of untrusted files, see untrusted_reader.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text_copy.h"
#include "names/untrusted_reader.h"
#include "names/untrusted_messages.h"
#include "names/module_file.h"

#define TYPES_MAX      65536u
#define WISHES_MAX     2048u // for one question: the tool ends a reader that asks for more, see worker.c
#define TYPES_COMPARED 4096u // the same type gets the same number among so many

struct seep_untrusted_server {
    struct seep_symbols *symbols;
    struct seep_names texts; // that came with questions and replies
    struct seep_file_giver giver;
    struct seep_worker_end *end;
    unsigned nr_wishes;             // for this question
    const struct seep_type **types; // number - 1 is the index
    size_t nr_types;
    size_t types_capacity;
    struct seep_thread_stack stack; // the latest that came
    uint8_t *stack_bytes;
};

// ---- files, which the tool opens ----

static int wish_file(void *context, bool in_sysroot, const char *path, const char **ret_trouble,
                     char **ret_directory) {
    struct seep_untrusted_server *server = context;
    struct seep_put wish = {NULL}, reply = {NULL};
    *ret_trouble = "too many files are asked for";
    if (server->nr_wishes == WISHES_MAX)
        return -1;
    server->nr_wishes++;
    seep_put_leb(&wish, SEEP_UNTRUSTED_FILE);
    seep_put_leb(&wish, in_sysroot);
    seep_put_text(&wish, path);
    int fd = seep_worker_wish(server->end, &wish, &reply);
    struct seep_take take = seep_take_of(&reply);
    const char *trouble = NULL;
    size_t length;
    struct seep_error *error = seep_untrusted_take_text(&take, &server->texts, &trouble);
    const char *directory = seep_take_text(&take, &length);
    *ret_directory = directory ? seep_text_copy(directory, length) : NULL;
    *ret_trouble = trouble ? trouble : "file cannot be opened";
    seep_error_destroy(error);
    seep_put_deinit(&wish);
    seep_put_deinit(&reply);
    return fd;
}

static int wish_server(void *context, const uint8_t *build_id, size_t build_id_bytes) {
    struct seep_untrusted_server *server = context;
    struct seep_put wish = {NULL}, reply = {NULL};
    seep_put_leb(&wish, SEEP_UNTRUSTED_SERVER);
    seep_untrusted_put_bytes(&wish, build_id, build_id_bytes);
    int fd = seep_worker_wish(server->end, &wish, &reply);
    seep_put_deinit(&wish);
    seep_put_deinit(&reply);
    return fd;
}

// ---- what questions and answers refer to ----

static uint64_t number_of(struct seep_untrusted_server *server, const struct seep_type *type) {
    if (!type || server->nr_types == TYPES_MAX)
        return 0;
    for (size_t i = 0; i < SEEP_MIN(server->nr_types, (size_t)TYPES_COMPARED); i++)
        if (seep_symbols_types_are_same(server->types[i], type))
            return i + 1;
    if (!seep_grow(&server->types, &server->types_capacity, server->nr_types + 1, sizeof(type)))
        return 0;
    server->types[server->nr_types++] = type;
    return server->nr_types;
}

static const struct seep_type *take_type(const struct seep_untrusted_server *server,
                                         struct seep_take *question) {
    uint64_t number = seep_take_leb(question);
    return number && number <= server->nr_types ? server->types[number - 1] : NULL;
}

// A stack that is the same as the one before does not come again.
static const struct seep_thread_stack *take_stack(struct seep_untrusted_server *server,
                                                  struct seep_take *question) {
    bool is_new = seep_take_bool(question);
    if (!is_new)
        return &server->stack;
    uint64_t start_rt = seep_take_leb(question);
    size_t nr_bytes;
    const uint8_t *bytes = seep_untrusted_take_bytes(question, &nr_bytes);
    uint8_t *copy = bytes ? malloc(nr_bytes + 1) : NULL;
    if (!copy) {
        question->failed = true;
        return &server->stack;
    }
    memcpy(copy, bytes, nr_bytes);
    free(server->stack_bytes);
    server->stack_bytes = copy;
    server->stack = (struct seep_thread_stack){start_rt, copy, nr_bytes};
    return &server->stack;
}

// ---- the questions ----

static struct seep_error *answer_module(struct seep_untrusted_server *server, struct seep_take *question,
                                        struct seep_put *answer) {
    const char *path = NULL;
    size_t nr_bytes;
    unsigned module = 0;
    struct seep_error *error = seep_untrusted_take_text(question, &server->texts, &path);
    const uint8_t *id = seep_untrusted_take_bytes(question, &nr_bytes);
    if (!error)
        error =
            seep_symbols_module(server->symbols, path ? path : "", nr_bytes ? id : NULL, nr_bytes, &module);
    seep_put_leb(answer, module);
    return error;
}

static struct seep_error *answer_resolve(struct seep_untrusted_server *server, struct seep_take *question,
                                         struct seep_put *answer) {
    unsigned module = seep_take_u32(question);
    uint64_t offset = seep_take_leb(question);
    bool exact = seep_take_bool(question);
    const struct seep_symbol *symbol = NULL;
    struct seep_error *error = seep_symbols_resolve(server->symbols, module, offset, exact, &symbol);
    if (error)
        return error;
    seep_put_leb(answer, seep_symbols_quality(server->symbols, module));
    seep_put_text(answer, seep_symbols_trouble(server->symbols, module));
    seep_put_leb(answer, symbol->nr_frames);
    for (unsigned i = 0; i < symbol->nr_frames; i++) {
        const struct seep_symbol_frame *frame = &symbol->frames[i];
        seep_put_text(answer, frame->function);
        seep_put_text(answer, frame->file);
        seep_put_leb(answer, frame->line);
        seep_put_leb(answer, frame->inlined);
        seep_put_leb(answer, frame->function_offset);
        seep_put_text(answer, frame->linkage);
    }
    return NULL;
}

static struct seep_error *answer_variable(struct seep_untrusted_server *server, struct seep_take *question,
                                          struct seep_put *answer) {
    unsigned module = seep_take_u32(question);
    uint64_t offset = seep_take_leb(question), off = 0;
    const char *name = NULL;
    struct seep_error *error = seep_symbols_variable(server->symbols, module, offset, &name, &off);
    seep_put_text(answer, name);
    seep_put_leb(answer, off);
    return error;
}

static struct seep_error *answer_global(struct seep_untrusted_server *server, struct seep_take *question,
                                        struct seep_put *answer) {
    unsigned module = seep_take_u32(question);
    uint64_t offset = seep_take_leb(question);
    bool whole = seep_take_bool(question);
    struct seep_variable variable = {NULL};
    struct seep_error *error = seep_symbols_global(server->symbols, module, offset, whole, &variable);
    seep_untrusted_put_variable(answer, &variable, number_of(server, variable.type));
    return error;
}

static struct seep_error *answer_caller(struct seep_untrusted_server *server, struct seep_take *question,
                                        struct seep_put *answer) {
    unsigned module = seep_take_u32(question);
    struct seep_call_frame frame = {0}, caller = {0};
    bool there = false;
    seep_untrusted_take_frame(question, &frame);
    const struct seep_thread_stack *stack = take_stack(server, question);
    if (question->failed)
        return NULL;
    struct seep_error *error = seep_symbols_caller(server->symbols, module, stack, &frame, &there, &caller);
    seep_put_leb(answer, there);
    seep_untrusted_put_frame(answer, &frame);
    seep_untrusted_put_frame(answer, &caller);
    return error;
}

static struct seep_error *answer_local(struct seep_untrusted_server *server, struct seep_take *question,
                                       struct seep_put *answer) {
    unsigned module = seep_take_u32(question);
    struct seep_call_frame frame = {0};
    seep_untrusted_take_frame(question, &frame);
    const struct seep_thread_stack *stack = take_stack(server, question);
    uint64_t address = seep_take_leb(question), value = seep_take_leb(question);
    if (question->failed)
        return NULL;
    struct seep_variable variable = {NULL};
    struct seep_error *error =
        seep_symbols_local(server->symbols, module, &frame, stack, address, value, &variable);
    seep_untrusted_put_variable(answer, &variable, number_of(server, variable.type));
    return error;
}

static struct seep_error *answer_declare(struct seep_untrusted_server *server, struct seep_take *question,
                                         struct seep_put *answer) {
    const struct seep_type *type = take_type(server, question);
    const char *name = NULL, *text = NULL;
    struct seep_error *error = seep_untrusted_take_text(question, &server->texts, &name);
    if (!error)
        error = seep_symbols_declare(server->symbols, type, name ? name : "", &text);
    seep_put_text(answer, text);
    return error;
}

static struct seep_error *answer_pointee(struct seep_untrusted_server *server, struct seep_take *question,
                                         struct seep_put *answer) {
    const struct seep_type *to = NULL;
    struct seep_error *error = seep_symbols_pointee(server->symbols, take_type(server, question), &to);
    seep_put_leb(answer, number_of(server, to));
    return error;
}

static struct seep_error *answer_class(struct seep_untrusted_server *server, struct seep_take *question,
                                       struct seep_put *answer) {
    unsigned module = seep_take_u32(question);
    const char *name = NULL;
    const struct seep_type *type = NULL;
    struct seep_error *error = seep_untrusted_take_text(question, &server->texts, &name);
    if (!error)
        error = seep_symbols_class(server->symbols, module, name ? name : "", &type);
    seep_put_leb(answer, number_of(server, type));
    return error;
}

static struct seep_error *answer_member(struct seep_untrusted_server *server, struct seep_take *question,
                                        struct seep_put *answer) {
    struct seep_pointed pointed = {.type = take_type(server, question)};
    pointed.at = seep_take_leb(question);
    pointed.bytes = seep_take_leb(question);
    pointed.is_object = seep_take_bool(question);
    uint64_t off = seep_take_leb(question);
    struct seep_variable member = {NULL};
    struct seep_error *error = seep_symbols_member(server->symbols, &pointed, off, &member);
    seep_untrusted_put_variable(answer, &member, number_of(server, member.type));
    return error;
}

static struct seep_error *answer_returned_text(struct seep_untrusted_server *server,
                                               struct seep_take *question, struct seep_put *answer) {
    unsigned module = seep_take_u32(question);
    const char *function = NULL, *text = NULL;
    bool found = false;
    struct seep_error *error = seep_untrusted_take_text(question, &server->texts, &function);
    if (!error)
        error = seep_symbols_returned_text(server->symbols, module, function ? function : "", &found, &text);
    seep_put_leb(answer, found);
    seep_put_text(answer, text);
    return error;
}

static struct seep_error *close_files(struct seep_untrusted_server *server, struct seep_take *question,
                                      struct seep_put *answer) {
    (void)question;
    (void)answer;
    seep_symbols_close_files(server->symbols);
    return NULL;
}

typedef struct seep_error *answer_function(struct seep_untrusted_server *server, struct seep_take *question,
                                           struct seep_put *answer);

static answer_function *const answers[] = {
    [SEEP_UNTRUSTED_MODULE] = answer_module,
    [SEEP_UNTRUSTED_RESOLVE] = answer_resolve,
    [SEEP_UNTRUSTED_VARIABLE] = answer_variable,
    [SEEP_UNTRUSTED_GLOBAL] = answer_global,
    [SEEP_UNTRUSTED_CALLER] = answer_caller,
    [SEEP_UNTRUSTED_LOCAL] = answer_local,
    [SEEP_UNTRUSTED_DECLARE] = answer_declare,
    [SEEP_UNTRUSTED_POINTEE] = answer_pointee,
    [SEEP_UNTRUSTED_CLASS] = answer_class,
    [SEEP_UNTRUSTED_MEMBER] = answer_member,
    [SEEP_UNTRUSTED_RETURNED_TEXT] = answer_returned_text,
    [SEEP_UNTRUSTED_CLOSE_FILES] = close_files,
};

bool seep_untrusted_serve(void *context, struct seep_worker_end *end, struct seep_take *question, int file,
                          struct seep_put *answer) {
    struct seep_untrusted_server *server = context;
    (void)file;
    server->end = end;
    server->nr_wishes = 0;
    uint64_t kind = seep_take_leb(question);
    if (kind >= SEEP_ARRAY_SIZE(answers))
        return false;
    struct seep_error *error = answers[kind](server, question, answer);
    bool is_answered = !error && !question->failed && !answer->failed;
    seep_error_destroy(error);
    return is_answered;
}

struct seep_error *seep_untrusted_server_create(const struct seep_symbols_options *options,
                                                struct seep_untrusted_server **ret_server) {
    struct seep_untrusted_server *server = calloc(1, sizeof(*server));
    if (!server)
        return seep_error_no_memory();
    server->giver = (struct seep_file_giver){server, wish_file, wish_server};
    struct seep_symbols_options own = *options;
    own.giver = &server->giver;
    struct seep_error *error = seep_symbols_create(&own, &server->symbols);
    if (error) {
        seep_untrusted_server_destroy(server);
        return error;
    }
    *ret_server = server;
    return NULL;
}

void seep_untrusted_server_destroy(struct seep_untrusted_server *server) {
    if (!server)
        return;
    seep_symbols_destroy(server->symbols);
    seep_names_deinit(&server->texts);
    free(server->types);
    free(server->stack_bytes);
    free(server);
}
