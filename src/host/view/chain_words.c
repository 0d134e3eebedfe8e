// SPDX-License-Identifier: BSD-2-Clause
// Names for roots and blocks, see chain_words.h.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "base/text_copy.h"
#include "names/short_name.h"
#include "view/chain_words.h"

void seep_chain_words_init(struct seep_chain_words *words, const struct seep_profile *profile,
                           struct seep_stacks *stacks, const uint32_t *nodes) {
    words->profile = profile;
    words->stacks = stacks;
    words->nodes = nodes;
    seep_chain_words_clear(words);
}

void seep_chain_words_clear(struct seep_chain_words *words) {
    words->used = 0;
    words->text[0] = 0;
    words->type = NULL;
}

void seep_chain_put(struct seep_chain_words *words, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int nr = vsnprintf(words->text + words->used, SEEP_CHAIN_TEXT_BYTES - words->used, format, args);
    va_end(args);
    if (nr > 0)
        words->used = SEEP_MIN(words->used + (size_t)nr, (size_t)SEEP_CHAIN_TEXT_BYTES - 1);
}

// Most words of chains, of which a report has some for each site: without a format, which takes longer.
static void put_text(struct seep_chain_words *words, const char *text) {
    size_t nr = SEEP_MIN(strlen(text), SEEP_CHAIN_TEXT_BYTES - 1 - words->used);
    memcpy(words->text + words->used, text, nr);
    words->text[words->used += nr] = 0;
}

static void put_number(struct seep_chain_words *words, uint64_t number, unsigned base) {
    char digits[21];
    size_t at = sizeof(digits) - 1;
    digits[at] = 0;
    do
        digits[--at] = "0123456789abcdef"[number % base];
    while (number /= base);
    put_text(words, base == 16 ? "0x" : "");
    put_text(words, digits + at);
}

static void put_offset(struct seep_chain_words *words, uint64_t off) {
    put_text(words, "+");
    put_number(words, off, 16);
}

static void put_place(struct seep_chain_words *words, const char *file, unsigned line) {
    put_text(words, " (");
    put_text(words, seep_file_name(file));
    put_text(words, ":");
    put_number(words, line, 10);
    put_text(words, ")");
}

// In chains the line or the module tells overloads apart.
#define NAME_COLUMNS 64u

// A function or a type.
static struct seep_error *put_name(struct seep_chain_words *words, const char *before, const char *name) {
    char *shorter = NULL;
    struct seep_error *err =
        words->stacks->full_names ? NULL : seep_name_shorten_to(name, NAME_COLUMNS, 0, &shorter);
    if (!err) {
        put_text(words, before);
        put_text(words, shorter ? shorter : name);
    }
    free(shorter);
    return err;
}

// Internal types and members of the C++ library mean nothing to users of its containers.
#define STD_MEMBER "._M_"

static bool is_std_own(const char *type) {
    return strncmp(type, "std::_", 6) == 0;
}

static struct seep_error *put_type(struct seep_chain_words *words, const char *type) {
    char *shorter = NULL;
    struct seep_error *err = words->stacks->full_names ? NULL : seep_type_shorten(type, &shorter);
    if (!err)
        put_text(words, shorter ? shorter : type);
    free(shorter);
    return err;
}

static struct seep_error *find_variable(struct seep_chain_words *words, const struct seep_module *module,
                                        uint64_t address, const char **ret_name, uint64_t *ret_off) {
    struct seep_symbols *symbols = words->stacks->symbols;
    unsigned id;
    struct seep_error *err =
        seep_symbols_module(symbols, module->path, module->build_id, module->build_id_bytes, &id);
    return err ? err : seep_symbols_variable(symbols, id, address, ret_name, ret_off);
}

// ---- variables ----

// "struct cache *table[3] (hash.c:12)"; behind a variable that is meant as a whole stands no offset.
static struct seep_error *put_variable(struct seep_chain_words *words, const struct seep_variable *variable,
                                       bool whole) {
    struct seep_symbols *symbols = words->stacks->symbols;
    const char *inside = words->stacks->full_names ? NULL : strstr(variable->name, STD_MEMBER);
    const char *declared;
    struct seep_error *err = seep_symbols_declare(symbols, variable->type, variable->name, &declared);
    if (!err && inside) {
        char *own = seep_text_copy(variable->name, (size_t)(inside - variable->name));
        err = own ? put_type(words, own) : seep_error_no_memory();
        free(own);
    } else if (!err) { // a type that is too long leaves no room for the name
        err = put_type(words, declared && strstr(declared, variable->name) ? declared : variable->name);
    }
    if (err)
        return err;
    if (!whole && variable->off && !inside)
        put_offset(words, variable->off);
    if (variable->file && variable->line)
        put_place(words, variable->file, variable->line);
    if (whole || variable->off)
        return NULL;
    return seep_symbols_pointee(symbols, variable->type, &words->type);
}

// ---- roots ----

static struct seep_error *find_global(struct seep_chain_words *words, const struct seep_link *link,
                                      struct seep_variable *ret_variable) {
    const struct seep_module *module = &words->profile->modules[link->id];
    struct seep_symbols *symbols = words->stacks->symbols;
    unsigned id;
    struct seep_error *err =
        seep_symbols_module(symbols, module->path, module->build_id, module->build_id_bytes, &id);
    return err ? err : seep_symbols_global(symbols, id, link->at, link->whole, ret_variable);
}

static struct seep_error *put_data(struct seep_chain_words *words, const struct seep_link *link) {
    const struct seep_module *module = &words->profile->modules[link->id];
    struct seep_variable variable;
    const char *name = NULL;
    uint64_t off = 0;
    struct seep_error *err = find_global(words, link, &variable);
    if (!err && variable.name) {
        put_text(words, "global ");
        err = put_variable(words, &variable, link->whole);
        put_text(words, " in ");
        put_text(words, seep_file_name(module->path));
        return err;
    }
    if (!err)
        err = find_variable(words, module, link->at, &name, &off);
    if (err)
        return err;
    put_text(words, name ? "global " : "data");
    put_text(words, name ? name : "");
    if (name && !link->whole && off)
        put_offset(words, off);
    put_text(words, name ? " in " : " of ");
    put_text(words, seep_file_name(module->path));
    if (!name && !link->whole)
        put_offset(words, link->at);
    return NULL;
}

// The variable of one of the link's frames that has the word; its name is NULL where none does.
static struct seep_error *find_local(struct seep_chain_words *words, const struct seep_link *link,
                                     const struct seep_link_frame *at, struct seep_variable *ret_variable) {
    const struct seep_module *module = &words->profile->modules[at->module];
    const struct seep_thread_stack none = {.nr_bytes = 0};
    const uint64_t one = 1;
    bool in_register = at->reg != SEEP_LINK_NO_REGISTER, on_stack = link->kind == SEEP_LINK_STACK;
    const struct seep_registers registers = seep_registers_of(words->profile->process.platform.machine);
    struct seep_call_frame frame = {
        .machine = words->profile->process.platform.machine, .address = at->address, .cfa = at->cfa};
    frame.registers[registers.stack] = at->sp;
    frame.registers[registers.frame] = at->bp;
    frame.known = one << registers.stack | one << registers.frame;
    if (in_register) {
        frame.known |= one << at->reg;
        frame.registers[at->reg] = on_stack ? frame.registers[at->reg] : link->at;
        frame.saved_at[at->reg] = on_stack ? link->at : 0;
    }
    unsigned id;
    struct seep_symbols *symbols = words->stacks->symbols;
    struct seep_error *err =
        seep_symbols_module(symbols, module->path, module->build_id, module->build_id_bytes, &id);
    return err ? err
               : seep_symbols_local(symbols, id, &frame, &none, on_stack ? link->at : 0, link->at,
                                    ret_variable);
}

// " in main (a.c:40)": the function that has the variable, or the one that the frame is of.
static struct seep_error *put_function(struct seep_chain_words *words, const struct seep_link_frame *at,
                                       const char *function) {
    const struct seep_module *module = &words->profile->modules[at->module];
    struct seep_symbols *symbols = words->stacks->symbols;
    const struct seep_symbol *symbol = NULL;
    unsigned id;
    struct seep_error *err =
        seep_symbols_module(symbols, module->path, module->build_id, module->build_id_bytes, &id);
    if (!err)
        err = seep_symbols_resolve(symbols, id, at->address, true, &symbol);
    if (err)
        return err;
    const struct seep_symbol_frame *frame = &symbol->frames[0];
    for (unsigned i = 0; function && i < symbol->nr_frames; i++)
        if (symbol->frames[i].function && strcmp(symbol->frames[i].function, function) == 0)
            frame = &symbol->frames[i];
    if (!frame->function)
        return NULL;
    err = put_name(words, " in ", frame->function);
    if (!err && frame->file && frame->line)
        seep_chain_put(words, " (%s:%u)", seep_file_name(frame->file), frame->line);
    return err;
}

// "stack of thread 12 in main (a.c:40): struct user *first (a.c:31)", as far as it is known.
static struct seep_error *put_stack(struct seep_chain_words *words, const struct seep_link *link,
                                    const char *what) {
    struct seep_variable variable = {NULL};
    struct seep_error *err = NULL;
    uint8_t i = 0;
    seep_chain_put(words, "%s of thread %" PRIu32, what, link->id);
    for (; !err && i < link->nr_frames; i++) {
        err = find_local(words, link, &link->frames[i], &variable);
        if (variable.name)
            break;
    }
    if (err || !link->nr_frames || (!variable.name && link->frames[0].reg != SEEP_LINK_NO_REGISTER))
        return err;
    err = put_function(words, &link->frames[variable.name ? i : 0], variable.function);
    if (err || !variable.name)
        return err;
    seep_chain_put(words, ": ");
    return put_variable(words, &variable, false);
}

static void put_memory(struct seep_chain_words *words, const struct seep_link *link, const char *what) {
    seep_chain_put(words, "%s at 0x%" PRIx64, what, link->at);
    if (!link->whole)
        seep_chain_put(words, "+0x%" PRIx64, link->off);
}

static void put_kernel(struct seep_chain_words *words, const struct seep_link *link) {
    static const char *const forms[SEEP_KERNEL_NR] = {
        [SEEP_KERNEL_SIGNAL_STACK] = "alternate signal stack of thread %d",
        [SEEP_KERNEL_ROBUST_LIST] = "list of robust futexes of thread %d",
        [SEEP_KERNEL_RSEQ] = "restartable sequences of thread %d",
        [SEEP_KERNEL_SIGNAL] = "value of queued signal %d",
        [SEEP_KERNEL_BUFFER] = "buffers of io_uring descriptor %d"};
    if (link->at < SEEP_KERNEL_NR)
        seep_chain_put(words, forms[link->at], (int)link->id);
}

// ---- blocks ----

static struct seep_error *put_site(struct seep_chain_words *words, uint32_t site) {
    struct seep_stacks *stacks = words->stacks;
    uint32_t frame;
    unsigned inlined;
    struct seep_error *err =
        seep_stacks_self(stacks, words->nodes[words->profile->sites[site].node], true, &frame, &inlined);
    const struct seep_symbol *symbol = NULL;
    if (!err && frame != SEEP_NO_FRAME)
        err = seep_stacks_resolve(stacks, frame, &symbol);
    if (err || !symbol)
        return err;
    const struct seep_symbol_frame *at = &symbol->frames[inlined];
    const struct seep_stack_frame *where = &stacks->frames[frame];
    if (at->function)
        err = put_name(words, " from ", at->function);
    else
        seep_chain_put(words, " from %s+0x%" PRIx64, seep_file_name(stacks->modules[where->module].path),
                       where->offset);
    if (at->file && at->line)
        put_place(words, at->file, at->line);
    return err;
}

// The name of its class, NULL where there is none; *ret_plain is false where it is that of the vtable.
static struct seep_error *find_class_name(struct seep_chain_words *words, const struct seep_link *block,
                                          const char **ret_name, bool *ret_plain) {
    static const char before[] = "vtable for ";
    const char *name = NULL;
    uint64_t off;
    *ret_name = NULL;
    *ret_plain = false;
    if (!block->vtable_module)
        return NULL;
    struct seep_error *err =
        find_variable(words, &words->profile->modules[block->vtable_module], block->vtable, &name, &off);
    if (err || !name)
        return err;
    *ret_plain = strncmp(name, before, strlen(before)) == 0;
    if (*ret_plain)
        *ret_name = name + strlen(before);
    else if (strncmp(name, "_ZTV", 4) == 0)
        *ret_name = name;
    return NULL;
}

struct seep_error *seep_chain_put_class(struct seep_chain_words *words, const struct seep_link *block) {
    const char *name;
    bool plain;
    struct seep_error *err = find_class_name(words, block, &name, &plain);
    return err || !name ? err : put_name(words, "", name);
}

// The layout of its class; NULL: not known.
static struct seep_error *find_class(struct seep_chain_words *words, const struct seep_link *block,
                                     const struct seep_type **ret_type) {
    struct seep_symbols *symbols = words->stacks->symbols;
    const char *name;
    bool plain;
    *ret_type = NULL;
    struct seep_error *err = find_class_name(words, block, &name, &plain);
    if (err || !plain)
        return err;
    const struct seep_module *module = &words->profile->modules[block->vtable_module];
    unsigned id;
    err = seep_symbols_module(symbols, module->path, module->build_id, module->build_id_bytes, &id);
    return err ? err : seep_symbols_class(symbols, id, name, ret_type);
}

// " (Circle)": its class, else the type that the pointer to its start is declared to lead to.
static struct seep_error *put_kind(struct seep_chain_words *words, const struct seep_link *link) {
    size_t before = words->used;
    put_text(words, " (");
    size_t opened = words->used;
    const char *type = NULL;
    struct seep_error *err = seep_chain_put_class(words, link);
    if (!err && words->used == opened && link->arrival == 1)
        err = seep_symbols_declare(words->stacks->symbols, words->type, "", &type);
    if (!err && type && (words->stacks->full_names || !is_std_own(type)))
        err = put_type(words, type);
    if (words->used > opened)
        put_text(words, ")");
    else
        words->text[words->used = before] = 0;
    return err;
}

// The member that the next pointer of the chain lies in; `name` is NULL where it is not known. Then the type
// is that of what that pointer leads to.
static struct seep_error *find_member(struct seep_chain_words *words, const struct seep_link *link,
                                      struct seep_variable *ret_member) {
    struct seep_symbols *symbols = words->stacks->symbols;
    struct seep_pointed pointed = {words->type, link->arrival - 1, link->at, link->vtable_module != 0};
    struct seep_error *err = NULL;
    *ret_member = (struct seep_variable){NULL};
    words->type = NULL;
    if (link->off == UINT32_MAX)
        return NULL;
    if (pointed.type && link->arrival)
        err = seep_symbols_member(symbols, &pointed, link->off, ret_member);
    if (!err && !ret_member->name &&
        link->vtable_module) { // behind a base class, or who points to it is no type
        pointed.at = 0;
        err = find_class(words, link, &pointed.type);
        if (!err)
            err = seep_symbols_member(symbols, &pointed, link->off, ret_member);
    }
    if (err || !ret_member->name || ret_member->off)
        return err;
    return seep_symbols_pointee(symbols, ret_member->type, &words->type);
}

// " .next", or " +0x18" where no type is known.
static struct seep_error *put_member(struct seep_chain_words *words, const struct seep_link *link) {
    struct seep_variable member;
    struct seep_error *err = find_member(words, link, &member);
    if (err)
        return err;
    const char *inside = member.name && !words->stacks->full_names ? strstr(member.name, STD_MEMBER) : NULL;
    bool named = member.name && *member.name;
    if (link->off == UINT32_MAX) {
        put_text(words, " +4G or more");
    } else if (inside) {
        seep_chain_put(words, "%s%.*s", inside > member.name ? " " : "", (int)(inside - member.name),
                       member.name);
    } else {
        put_text(words, " ");
        put_text(words, named ? member.name : "");
        if (!named || member.off)
            put_offset(words, named ? member.off : link->off);
    }
    return NULL;
}

static struct seep_error *put_block(struct seep_chain_words *words, const struct seep_link *link) {
    put_text(words, link->lost ? "lost block of " : "block of ");
    put_number(words, link->at, 10);
    put_text(words, " B");
    words->size_end = words->used;
    struct seep_error *err = put_kind(words, link);
    if (!err)
        err = put_site(words, link->id);
    return err || link->whole ? err : put_member(words, link);
}

// Types go on behind blocks that are not shown.
static struct seep_error *put_left_out(struct seep_chain_words *words, const struct seep_link *left_out) {
    struct seep_error *err = NULL;
    seep_chain_put(words, "... %" PRIu64 " blocks ...", left_out->at);
    if (!left_out->nr_steps)
        words->type = NULL;
    for (uint8_t i = 0; i < left_out->nr_steps; i++) {
        const struct seep_link_step *step = &left_out->steps[i];
        const struct seep_link link = {.kind = SEEP_LINK_BLOCK,
                                       .at = step->bytes,
                                       .off = step->off,
                                       .arrival = step->arrival,
                                       .vtable_module = step->vtable_module,
                                       .vtable = step->vtable};
        bool is_settled = false; // a list goes on like that to its end
        for (uint64_t j = 0; !err && !is_settled && j < step->nr; j++) {
            const struct seep_type *before = words->type;
            struct seep_variable member;
            err = find_member(words, &link, &member);
            is_settled = seep_symbols_types_are_same(before, words->type);
        }
    }
    return err;
}

// ---- chains ----

struct seep_error *seep_chain_put_link(struct seep_chain_words *words, const struct seep_link *link) {
    int tid = (int)link->id;
    if (link->kind != SEEP_LINK_BLOCK && link->kind != SEEP_LINK_LEFT_OUT)
        words->type = NULL;
    switch ((enum seep_link_kind)link->kind) {
    case SEEP_LINK_TEXT:
        put_text(words, link->text ? link->text : "");
        break;
    case SEEP_LINK_DATA:
        return put_data(words, link);
    case SEEP_LINK_STACK:
        return put_stack(words, link, "stack");
    case SEEP_LINK_TLS:
        seep_chain_put(words, "thread-local storage of thread %d", tid);
        break;
    case SEEP_LINK_REGISTER: // the thread's stack and registers are one holder
        return put_stack(words, link, link->whole ? "stack" : "register");
    case SEEP_LINK_REALLOC:
        seep_chain_put(words, link->whole ? "stack of thread %d" : "block that thread %d is reallocating",
                       tid);
        break;
    case SEEP_LINK_KEPT:
        seep_chain_put(words, "control block of a thread that has ended");
        break;
    case SEEP_LINK_IGNORED:
        seep_chain_put(words, "seep_ignore() of the program");
        break;
    case SEEP_LINK_TOLD:
        put_memory(words, link, "memory of seep_root_add()");
        break;
    case SEEP_LINK_MEMORY:
        put_memory(words, link, "memory mapped");
        break;
    case SEEP_LINK_BLOCK:
        return put_block(words, link);
    case SEEP_LINK_SEVERAL:
        seep_chain_put(words, ", held by several: ");
        break;
    case SEEP_LINK_LEFT_OUT:
        return put_left_out(words, link);
    case SEEP_LINK_TOO_LONG:
        seep_chain_put(words, "a chain of more than %" PRIu64 " blocks", link->at);
        break;
    case SEEP_LINK_EPOLL:
        seep_chain_put(words, "epoll descriptor %" PRIu32, link->id);
        if (!link->whole)
            seep_chain_put(words, " (data of descriptor %" PRIu64 ")", link->at);
        break;
    case SEEP_LINK_TIMER:
        seep_chain_put(words, "timer %" PRIu32, link->id);
        break;
    case SEEP_LINK_KERNEL:
        put_kernel(words, link);
        break;
    case SEEP_LINK_NR:
        break;
    }
    return NULL;
}

// Blocks in a row that differ only in their sizes, as those of a list. Of three or more such blocks only the
// first is written, behind their number.
struct run {
    size_t from, tail, end; // of the first one's text: its start, what follows its size, and its end
    uint64_t nr, least, most;
    bool lost;
};

#define RUN_LEAST 3u

// `nr_tail`: how many of the last bytes of the text follow its size. The same in goes_on().
static void begin_run(const struct seep_chain_words *words, const struct seep_link *link, size_t from,
                      size_t nr_tail, struct run *run) {
    *run = (struct run){.from = from,
                        .tail = words->used - nr_tail,
                        .end = words->used,
                        .nr = 1,
                        .least = link->at,
                        .most = link->at,
                        .lost = link->lost};
}

// Whether the link that was put last goes on with the run.
static bool goes_on(const struct seep_chain_words *words, const struct seep_link *link, size_t nr_tail,
                    const struct run *run) {
    return run->nr && link->lost == run->lost && nr_tail == run->end - run->tail &&
           memcmp(words->text + run->tail, words->text + words->used - nr_tail, nr_tail) == 0;
}

static void end_run(struct seep_chain_words *words, struct run *run) {
    char sizes[96];
    if (run->nr >= RUN_LEAST) {
        const char *lost = run->lost ? "lost " : "";
        int nr = run->least == run->most
                     ? snprintf(sizes, sizeof(sizes), "%" PRIu64 " %sblocks of %" PRIu64 " B", run->nr, lost,
                                run->least)
                     : snprintf(sizes, sizeof(sizes), "%" PRIu64 " %sblocks of %" PRIu64 " to %" PRIu64 " B",
                                run->nr, lost, run->least, run->most);
        size_t bytes = SEEP_MIN((size_t)nr, SEEP_CHAIN_TEXT_BYTES - 1 - run->from);
        size_t rest = SEEP_MIN(run->end - run->tail, SEEP_CHAIN_TEXT_BYTES - 1 - run->from - bytes);
        memmove(words->text + run->from + bytes, words->text + run->tail, rest);
        memcpy(words->text + run->from, sizes, bytes);
        words->text[words->used = run->from + bytes + rest] = 0;
    }
    run->nr = 0;
}

struct seep_error *seep_chain_put_all(struct seep_chain_words *words, const struct seep_chain *chain) {
    struct seep_error *err = NULL;
    struct run run = {0};
    for (uint32_t i = 0; !err && i < chain->nr_links; i++) {
        const struct seep_link *link = &chain->links[i];
        bool joined = link->kind == SEEP_LINK_SEVERAL || (i && chain->links[i - 1].kind == SEEP_LINK_SEVERAL);
        if (link->kind != SEEP_LINK_BLOCK)
            end_run(words, &run);
        if (i && !joined)
            put_text(words, " -> ");
        size_t from = words->used;
        err = seep_chain_put_link(words, link);
        if (err || link->kind != SEEP_LINK_BLOCK)
            continue;
        size_t nr_tail = words->used - words->size_end;
        if (!joined && goes_on(words, link, nr_tail, &run)) {
            run.least = SEEP_MIN(run.least, link->at);
            run.most = SEEP_MAX(run.most, link->at);
            if (++run.nr >= RUN_LEAST)
                words->text[words->used = run.end] = 0;
            continue;
        }
        size_t nr_text = words->used - from; // what is behind a run moves with its end
        size_t between = i && !joined ? strlen(" -> ") : 0;
        if (run.nr >= RUN_LEAST) {
            char *text = seep_text_copy(words->text + from - between, nr_text + between);
            if (!text)
                return seep_error_no_memory();
            end_run(words, &run);
            from = words->used + between;
            put_text(words, text);
            free(text);
        }
        begin_run(words, link, from, nr_tail, &run);
    }
    end_run(words, &run);
    return err;
}

struct seep_error *seep_chain_type(struct seep_chain_words *words, const char **ret_type) {
    return seep_symbols_declare(words->stacks->symbols, words->type, "", ret_type);
}
