// SPDX-License-Identifier: BSD-2-Clause
// Symbols of untrusted files, see untrusted_symbols.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "confine/untrusted.h"
#include "names/untrusted_reader.h"
#include "names/untrusted_symbols.h"
#include "names/untrusted_messages.h"

#define WORKERS_MAX       16u // that end of what they read; after so many nothing is asked any more
#define SERVER_ASKED_MAX  4u  // for a module: its own debug information, and what that shares with others
#define SYMBOL_FRAMES_MAX 256u

struct seep_untrusted_symbols {
    struct seep_file_search *search;
    struct seep_names *names;
    struct seep_worker *worker; // NULL: none was needed yet, or it ended
    unsigned generation;        // of the worker; the first is 1
    unsigned nr_ended;
    const char *refused; // why there can be no worker; NULL: there can
    // Of the module that is asked about:
    struct seep_untrusted_module *module;
    char *directory; // where its file lies; NULL: not known
    uid_t owner;
    bool has_owner;
    unsigned nr_server_asked;
    // The stack that the worker has:
    unsigned stack_generation;
    uint64_t stack_hash;
    uint64_t stack_start_rt;
    size_t stack_bytes;
};

struct seep_error *seep_untrusted_symbols_create(struct seep_file_search *search, struct seep_names *names,
                                                 struct seep_untrusted_symbols **ret_far) {
    struct seep_untrusted_symbols *far = calloc(1, sizeof(*far));
    if (!far)
        return seep_error_no_memory();
    far->search = search;
    far->names = names;
    *ret_far = far;
    return NULL;
}

void seep_untrusted_symbols_destroy(struct seep_untrusted_symbols *far) {
    if (!far)
        return;
    seep_worker_destroy(far->worker);
    free(far->directory);
    free(far);
}

// ---- files for the worker ----

static bool is_below(const char *path, const char *directory, size_t nr_bytes) {
    while (nr_bytes && directory[nr_bytes - 1] == '/')
        nr_bytes--;
    return nr_bytes && !strncmp(path, directory, nr_bytes) && path[nr_bytes] == '/';
}

static bool goes_up(const char *path) {
    for (const char *at = path; *at; at += strcspn(at, "/"), at += strspn(at, "/"))
        if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2]))
            return true;
    return false;
}

static bool is_named(const char *module_path, const char *path) {
    size_t nr_bytes = strlen(path);
    return !strncmp(module_path, path, nr_bytes) &&
           (!module_path[nr_bytes] || !strcmp(module_path + nr_bytes, SEEP_DELETED_SUFFIX));
}

// In another root also without some of the leading folders.
static bool is_itself(const struct seep_untrusted_symbols *far, bool in_sysroot, const char *path) {
    const char *name = far->module->path;
    bool is = is_named(name, path);
    if (!in_sysroot || far->search->sysroot_fd < 0)
        return is;
    for (name = strchr(name + 1, '/'); name && !is; name = strchr(name + 1, '/'))
        is = is_named(name, path);
    return is;
}

// Debug information that a compiler left beside its object files, wherever that was.
static bool is_split(const char *path) {
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".dwo") == 0;
}

// The module itself, what lies beside it, and what lies where debug information does.
static bool may_ask_for(const struct seep_untrusted_symbols *far, bool in_sysroot, const char *path) {
    const char *name = strrchr(far->module->path, '/');
    size_t length = name ? (size_t)(name - far->module->path) : 0;
    const char *debug_dir = seep_file_search_debug_dir(far->search);
    return path[0] == '/' && !goes_up(path) &&
           (is_itself(far, in_sysroot, path) || is_below(path, far->module->path, length) ||
            is_below(path, debug_dir, strlen(debug_dir)) ||
            (far->directory && is_below(path, far->directory, strlen(far->directory))) || is_split(path));
}

// Links lead where their owner likes, also to what only root can reach: they are not followed out of the
// folder. Of another root they lead to what is in it.
static bool lies_there(const struct seep_untrusted_symbols *far, bool in_sysroot, const char *path, int fd) {
    const char *debug_dir = seep_file_search_debug_dir(far->search), *wanted = far->directory;
    if ((in_sysroot && far->search->sysroot_fd >= 0) || is_itself(far, in_sysroot, path) || !wanted ||
        is_below(path, debug_dir, strlen(debug_dir)) || is_split(path))
        return true;
    size_t nr_bytes = strlen(wanted);
    char *directory = seep_directory_of(fd);
    bool is = directory && (!strcmp(directory, wanted) || is_below(directory, wanted, nr_bytes));
    free(directory);
    return is;
}

// What everybody may read, or the user whose module it is. The module itself is that user's.
static bool may_have(struct seep_untrusted_symbols *far, bool in_sysroot, const char *path, int fd) {
    struct stat status;
    if (!seep_file_status(fd, &status) || !lies_there(far, in_sysroot, path, fd))
        return false;
    bool is_theirs =
        is_itself(far, in_sysroot, path) && seep_file_search_is_untrusted(far->search, in_sysroot, fd);
    if (is_theirs) {
        far->owner = status.st_uid;
        far->has_owner = status.st_uid != 0 && status.st_uid != geteuid();
    }
    return is_theirs || (status.st_mode & S_IROTH) || (far->has_owner && far->owner == status.st_uid);
}

static int give_file(struct seep_untrusted_symbols *far, struct seep_take *wish, struct seep_put *reply) {
    const char *path = NULL, *trouble = "file may not be read";
    bool in_sysroot = seep_take_bool(wish);
    struct seep_error *error = seep_untrusted_take_text(wish, far->names, &path);
    int fd = -1;
    if (!error && !wish->failed && path && may_ask_for(far, in_sysroot, path))
        fd = seep_file_search_open(far->search, in_sysroot, path, &trouble);
    if (fd >= 0 && !may_have(far, in_sysroot, path, fd)) {
        close(fd);
        fd = -1;
        trouble = "file may not be read";
    }
    char *directory = fd >= 0 ? seep_directory_of(fd) : NULL;
    seep_put_text(reply, fd < 0 ? trouble : NULL);
    seep_put_text(reply, directory);
    if (directory && is_itself(far, in_sysroot, path)) {
        free(far->directory);
        far->directory = directory;
    } else {
        free(directory);
    }
    seep_error_destroy(error);
    return fd;
}

static int give_from_server(struct seep_untrusted_symbols *far, struct seep_take *wish) {
    size_t nr_bytes;
    const uint8_t *id = seep_untrusted_take_bytes(wish, &nr_bytes);
    if (!id || far->nr_server_asked == SERVER_ASKED_MAX)
        return -1;
    far->nr_server_asked++;
    return seep_debug_server_find(&far->search->server, id, nr_bytes);
}

int seep_untrusted_give(void *context, struct seep_take *wish, struct seep_put *reply) {
    struct seep_untrusted_symbols *far = context;
    uint64_t kind = seep_take_leb(wish);
    if (kind == SEEP_UNTRUSTED_FILE)
        return give_file(far, wish, reply);
    if (kind == SEEP_UNTRUSTED_SERVER)
        return give_from_server(far, wish);
    wish->failed = true;
    return -1;
}

// ---- questions ----

static void lose(struct seep_untrusted_module *module, const char *why) {
    module->is_lost = true;
    module->quality = SEEP_SYMBOLS_NONE;
    module->trouble = why;
}

static void end_worker(struct seep_untrusted_symbols *far) {
    seep_worker_destroy(far->worker);
    far->worker = NULL;
    far->nr_ended++;
}

// It gets symbols of its own that are made here, because it can open nothing.
static struct seep_error *start_worker(struct seep_untrusted_symbols *far) {
    const struct seep_symbols_options options = {.sysroot = far->search->sysroot,
                                                 .debug_dir = far->search->debug_dir,
                                                 .no_demangle = far->names->no_demangle,
                                                 .plain_runtime = far->search->plain_runtime,
                                                 .no_debuginfod = far->search->server.off,
                                                 .hasty = far->search->hasty};
    struct seep_untrusted_server *server = NULL;
    struct seep_error *error = seep_untrusted_server_create(&options, &server);
    if (!error)
        error = seep_worker_start(seep_untrusted_serve, server, &far->worker);
    seep_untrusted_server_destroy(server);
    far->generation += !error;
    return error;
}

static bool has_worker(struct seep_untrusted_symbols *far) {
    if (far->worker)
        return true;
    if (!far->refused && far->nr_ended == WORKERS_MAX)
        far->refused = "too many readers of other users' files died";
    if (far->refused)
        return false;
    struct seep_error *error = start_worker(far);
    if (!error)
        return true;
    if (seep_names_keep(far->names, error->message, &far->refused))
        far->refused = "there is no memory for its reader";
    seep_error_destroy(error);
    return false;
}

// An answer that is being taken.
struct answer {
    struct seep_put bytes;
    struct seep_take take;
};

// Asks about `module`. false: it is lost. `words` are freed.
static bool ask(struct seep_untrusted_symbols *far, struct seep_untrusted_module *module,
                struct seep_put *words, struct answer *ret_answer) {
    *ret_answer = (struct answer){.bytes = {NULL}};
    const struct seep_worker_question question = {.words = words,
                                                  .file = -1,
                                                  .answer_max = SEEP_UNTRUSTED_ANSWER_BYTES,
                                                  .give = seep_untrusted_give,
                                                  .context = far};
    enum seep_worker_verdict verdict = SEEP_WORKER_LARGE;
    if (far->module != module) {
        free(far->directory);
        far->directory = NULL;
        far->has_owner = false;
        far->nr_server_asked = 0;
        far->module = module;
    }
    if (far->worker && !words->failed)
        verdict = seep_worker_ask(far->worker, &question, &ret_answer->bytes);
    seep_put_deinit(words);
    ret_answer->take = seep_take_of(&ret_answer->bytes);
    if (verdict == SEEP_WORKER_ANSWERED)
        return true;
    end_worker(far);
    lose(module, seep_worker_verdict_words(verdict));
    seep_put_deinit(&ret_answer->bytes);
    return false;
}

// All of it was taken, and was as it should be. false: the module is lost, and so is who lied.
static bool is_whole(struct seep_untrusted_symbols *far, struct seep_untrusted_module *module,
                     struct answer *answer) {
    bool is = !answer->take.failed && !seep_take_left(&answer->take);
    seep_put_deinit(&answer->bytes);
    if (is)
        return true;
    end_worker(far);
    lose(module, "its reader died of it, or lied");
    return false;
}

// Makes the worker know the module. false: it is lost.
static bool is_known(struct seep_untrusted_symbols *far, struct seep_untrusted_module *module) {
    if (module->is_lost)
        return false;
    if (!has_worker(far)) {
        lose(module, far->refused);
        return false;
    }
    if (module->generation == far->generation)
        return true;
    struct seep_put words = {NULL};
    struct answer answer;
    seep_put_leb(&words, SEEP_UNTRUSTED_MODULE);
    seep_put_text(&words, module->path);
    seep_untrusted_put_bytes(&words, module->id.bytes, module->id.nr_bytes);
    if (!ask(far, module, &words, &answer))
        return false;
    module->number = seep_take_u32(&answer.take);
    module->generation = far->generation;
    return is_whole(far, module, &answer);
}

static struct seep_put words_of(enum seep_untrusted_kind kind, const struct seep_untrusted_module *module) {
    struct seep_put words = {NULL};
    seep_put_leb(&words, kind);
    seep_put_leb(&words, module->number);
    return words;
}

bool seep_untrusted_take_symbol(struct seep_take *answer, struct seep_names *names,
                                struct seep_untrusted_module *module, const struct seep_symbol **ret_symbol) {
    uint64_t quality = seep_take_leb(answer);
    const char *trouble;
    struct seep_error *error = seep_untrusted_take_text(answer, names, &trouble);
    uint64_t nr_frames = seep_take_leb(answer);
    bool fits =
        !answer->failed && quality <= SEEP_SYMBOLS_DEBUG && nr_frames && nr_frames <= SYMBOL_FRAMES_MAX;
    struct seep_symbol *symbol = fits ? seep_arena_alloc(&names->arena, 1, sizeof(*symbol)) : NULL;
    struct seep_symbol_frame *frames =
        fits ? seep_arena_alloc(&names->arena, nr_frames, sizeof(*frames)) : NULL;
    answer->failed |= !symbol || !frames;
    for (uint64_t i = 0; i < nr_frames && !answer->failed && !error; i++) {
        struct seep_symbol_frame *frame = &frames[i];
        *frame = (struct seep_symbol_frame){NULL};
        error = seep_untrusted_take_text(answer, names, &frame->function);
        if (!error)
            error = seep_untrusted_take_text(answer, names, &frame->file);
        frame->line = seep_take_u32(answer);
        frame->inlined = seep_take_bool(answer);
        frame->function_offset = seep_take_leb(answer);
        if (!error)
            error = seep_untrusted_take_text(answer, names, &frame->linkage);
    }
    answer->failed |= error != NULL;
    seep_error_destroy(error);
    if (answer->failed)
        return false;
    *symbol = (struct seep_symbol){frames, (unsigned)nr_frames};
    module->quality = (enum seep_symbols_quality)quality;
    module->trouble = trouble;
    *ret_symbol = symbol;
    return true;
}

static struct seep_error *no_symbol(struct seep_untrusted_symbols *far,
                                    const struct seep_symbol **ret_symbol) {
    struct seep_symbol *symbol = seep_arena_alloc(&far->names->arena, 1, sizeof(*symbol));
    struct seep_symbol_frame *frame = seep_arena_alloc(&far->names->arena, 1, sizeof(*frame));
    if (!symbol || !frame)
        return seep_error_no_memory();
    *frame = (struct seep_symbol_frame){NULL};
    *symbol = (struct seep_symbol){frame, 1};
    *ret_symbol = symbol;
    return NULL;
}

struct seep_error *seep_untrusted_resolve(struct seep_untrusted_symbols *far,
                                          struct seep_untrusted_module *module, uint64_t offset, bool exact,
                                          const struct seep_symbol **ret_symbol) {
    const struct seep_symbol *symbol = NULL;
    struct answer answer;
    if (!is_known(far, module))
        return no_symbol(far, ret_symbol);
    struct seep_put words = words_of(SEEP_UNTRUSTED_RESOLVE, module);
    seep_put_leb(&words, offset);
    seep_put_leb(&words, exact);
    if (!ask(far, module, &words, &answer))
        return no_symbol(far, ret_symbol);
    bool taken = seep_untrusted_take_symbol(&answer.take, far->names, module, &symbol);
    if (!is_whole(far, module, &answer) || !taken)
        return no_symbol(far, ret_symbol);
    *ret_symbol = symbol;
    return NULL;
}

struct seep_error *seep_untrusted_variable(struct seep_untrusted_symbols *far,
                                           struct seep_untrusted_module *module, uint64_t offset,
                                           const char **ret_name, uint64_t *ret_variable_offset) {
    struct answer answer;
    const char *name = NULL;
    *ret_name = NULL;
    *ret_variable_offset = 0;
    if (!is_known(far, module))
        return NULL;
    struct seep_put words = words_of(SEEP_UNTRUSTED_VARIABLE, module);
    seep_put_leb(&words, offset);
    if (!ask(far, module, &words, &answer))
        return NULL;
    struct seep_error *error = seep_untrusted_take_text(&answer.take, far->names, &name);
    uint64_t off = seep_take_leb(&answer.take);
    answer.take.failed |= off > offset;
    if (is_whole(far, module, &answer) && !error) {
        *ret_name = name;
        *ret_variable_offset = off;
    }
    return error;
}

static struct seep_untrusted_type type_of(const struct seep_untrusted_symbols *far,
                                          struct seep_untrusted_module *module, uint64_t number) {
    return (struct seep_untrusted_type){module, far->generation, number};
}

// Asks for a variable and takes the answer.
static struct seep_error *ask_variable(struct seep_untrusted_symbols *far,
                                       struct seep_untrusted_module *module, struct seep_put *words,
                                       struct seep_variable *ret_variable,
                                       struct seep_untrusted_type *ret_type) {
    struct answer answer;
    struct seep_variable variable = {NULL};
    uint64_t type = 0;
    if (!ask(far, module, words, &answer))
        return NULL;
    struct seep_error *error = seep_untrusted_take_variable(&answer.take, far->names, &variable, &type);
    if (is_whole(far, module, &answer) && !error) {
        *ret_variable = variable;
        *ret_type = type_of(far, module, type);
    }
    return error;
}

struct seep_error *seep_untrusted_global(struct seep_untrusted_symbols *far,
                                         struct seep_untrusted_module *module, uint64_t offset, bool whole,
                                         struct seep_variable *ret_variable,
                                         struct seep_untrusted_type *ret_type) {
    if (!is_known(far, module))
        return NULL;
    struct seep_put words = words_of(SEEP_UNTRUSTED_GLOBAL, module);
    seep_put_leb(&words, offset);
    seep_put_leb(&words, whole);
    return ask_variable(far, module, &words, ret_variable, ret_type);
}

// It is sent again when it is another one: one stack is asked about many times.
static void put_stack(struct seep_untrusted_symbols *far, struct seep_put *words,
                      const struct seep_thread_stack *stack) {
    uint64_t hash = seep_hash_bytes(stack->bytes, stack->nr_bytes);
    bool is_new = far->stack_generation != far->generation || far->stack_hash != hash ||
                  far->stack_start_rt != stack->start_rt || far->stack_bytes != stack->nr_bytes;
    far->stack_generation = far->generation;
    far->stack_hash = hash;
    far->stack_start_rt = stack->start_rt;
    far->stack_bytes = stack->nr_bytes;
    seep_put_leb(words, is_new);
    if (!is_new)
        return;
    seep_put_leb(words, stack->start_rt);
    seep_untrusted_put_bytes(words, stack->bytes, stack->nr_bytes);
}

struct seep_error *seep_untrusted_local(struct seep_untrusted_symbols *far,
                                        struct seep_untrusted_module *module,
                                        const struct seep_call_frame *frame,
                                        const struct seep_thread_stack *stack, uint64_t address,
                                        uint64_t value, struct seep_variable *ret_variable,
                                        struct seep_untrusted_type *ret_type) {
    if (stack->nr_bytes > SEEP_UNTRUSTED_STACK_BYTES || !is_known(far, module))
        return NULL;
    struct seep_put words = words_of(SEEP_UNTRUSTED_LOCAL, module);
    seep_untrusted_put_frame(&words, frame);
    put_stack(far, &words, stack);
    seep_put_leb(&words, address);
    seep_put_leb(&words, value);
    return ask_variable(far, module, &words, ret_variable, ret_type);
}

struct seep_error *seep_untrusted_caller(struct seep_untrusted_symbols *far,
                                         struct seep_untrusted_module *module,
                                         const struct seep_thread_stack *stack, struct seep_call_frame *frame,
                                         bool *ret_there, struct seep_call_frame *ret_caller) {
    struct answer answer;
    struct seep_call_frame left, caller;
    *ret_there = false;
    if (stack->nr_bytes > SEEP_UNTRUSTED_STACK_BYTES || !is_known(far, module))
        return NULL;
    struct seep_put words = words_of(SEEP_UNTRUSTED_CALLER, module);
    seep_untrusted_put_frame(&words, frame);
    put_stack(far, &words, stack);
    if (!ask(far, module, &words, &answer))
        return NULL;
    bool there = seep_take_bool(&answer.take);
    seep_untrusted_take_frame(&answer.take, &left);
    seep_untrusted_take_frame(&answer.take, &caller);
    if (!is_whole(far, module, &answer))
        return NULL;
    frame->cfa = left.cfa;
    *ret_there = there;
    if (there)
        *ret_caller = caller;
    return NULL;
}

// A type that the worker still knows.
static bool is_usable(struct seep_untrusted_symbols *far, const struct seep_untrusted_type *type) {
    return far->worker && type->number && type->generation == far->generation && !type->module->is_lost;
}

struct seep_error *seep_untrusted_declare(struct seep_untrusted_symbols *far,
                                          const struct seep_untrusted_type *type, const char *name,
                                          const char **ret_text) {
    struct seep_put words = {NULL};
    struct answer answer;
    const char *text = NULL;
    *ret_text = NULL;
    if (!is_usable(far, type))
        return NULL;
    seep_put_leb(&words, SEEP_UNTRUSTED_DECLARE);
    seep_put_leb(&words, type->number);
    seep_put_text(&words, name);
    if (!ask(far, type->module, &words, &answer))
        return NULL;
    struct seep_error *error = seep_untrusted_take_text(&answer.take, far->names, &text);
    if (is_whole(far, type->module, &answer) && !error)
        *ret_text = text;
    return error;
}

// Asks for a type and takes the answer.
static void ask_type(struct seep_untrusted_symbols *far, struct seep_untrusted_module *module,
                     struct seep_put *words, struct seep_untrusted_type *ret_type) {
    struct answer answer;
    if (!ask(far, module, words, &answer))
        return;
    uint64_t number = seep_take_leb(&answer.take);
    if (is_whole(far, module, &answer))
        *ret_type = type_of(far, module, number);
}

struct seep_error *seep_untrusted_pointee(struct seep_untrusted_symbols *far,
                                          const struct seep_untrusted_type *type,
                                          struct seep_untrusted_type *ret_type) {
    struct seep_put words = {NULL};
    *ret_type = (struct seep_untrusted_type){NULL};
    if (!is_usable(far, type))
        return NULL;
    seep_put_leb(&words, SEEP_UNTRUSTED_POINTEE);
    seep_put_leb(&words, type->number);
    ask_type(far, type->module, &words, ret_type);
    return NULL;
}

struct seep_error *seep_untrusted_class(struct seep_untrusted_symbols *far,
                                        struct seep_untrusted_module *module, const char *name,
                                        struct seep_untrusted_type *ret_type) {
    *ret_type = (struct seep_untrusted_type){NULL};
    if (!is_known(far, module))
        return NULL;
    struct seep_put words = words_of(SEEP_UNTRUSTED_CLASS, module);
    seep_put_text(&words, name);
    ask_type(far, module, &words, ret_type);
    return NULL;
}

struct seep_error *seep_untrusted_member(struct seep_untrusted_symbols *far,
                                         const struct seep_untrusted_type *type,
                                         const struct seep_pointed *pointed, uint64_t off,
                                         struct seep_variable *ret_member,
                                         struct seep_untrusted_type *ret_type) {
    struct seep_put words = {NULL};
    if (!is_usable(far, type))
        return NULL;
    seep_put_leb(&words, SEEP_UNTRUSTED_MEMBER);
    seep_put_leb(&words, type->number);
    seep_put_leb(&words, pointed->at);
    seep_put_leb(&words, pointed->bytes);
    seep_put_leb(&words, pointed->is_object);
    seep_put_leb(&words, off);
    return ask_variable(far, type->module, &words, ret_member, ret_type);
}

struct seep_error *seep_untrusted_returned_text(struct seep_untrusted_symbols *far,
                                                struct seep_untrusted_module *module, const char *function,
                                                bool *ret_found, const char **ret_text) {
    struct answer answer;
    const char *text = NULL;
    *ret_found = false;
    *ret_text = NULL;
    if (!is_known(far, module))
        return NULL;
    struct seep_put words = words_of(SEEP_UNTRUSTED_RETURNED_TEXT, module);
    seep_put_text(&words, function);
    if (!ask(far, module, &words, &answer))
        return NULL;
    bool found = seep_take_bool(&answer.take);
    struct seep_error *error = seep_untrusted_take_text(&answer.take, far->names, &text);
    if (is_whole(far, module, &answer) && !error) {
        *ret_found = found;
        *ret_text = text;
    }
    return error;
}

void seep_untrusted_close_files(struct seep_untrusted_symbols *far) {
    struct seep_put words = {NULL};
    struct answer answer;
    if (!far->worker || !far->module)
        return;
    seep_put_leb(&words, SEEP_UNTRUSTED_CLOSE_FILES);
    if (ask(far, far->module, &words, &answer))
        seep_put_deinit(&answer.bytes);
}
