// SPDX-License-Identifier: BSD-2-Clause
//
// Suppressions that the user does not name: the program's own, and the built-in list. See suppress.h.
//
// LeakSanitizer calls __lsan_default_suppressions in the program. Here it is not called: user code in a
// process that is being looked at could do anything, and an executable does not export it. What nearly
// every such function does is return a constant text, and that can be read from the file.
#include <stdio.h>
#include <string.h>

#include "profile/profile.h"
#include "analysis/suppress.h"
#include "base/file_name.h"
#include "profile/verdict.h"

static const char function[] = "__lsan_default_suppressions";

// What libraries keep for good in a way that looks like a leak; each was seen to (tests/cli/
// test_suppressions.py has a program for it), and none of it is lost: only interior pointers lead there. So
// each takes what is possibly lost and nothing else; what is lost under the same functions is somebody's
// leak. In Valgrind's words. The C library's own functions are named where it exports them, for few
// machines have its debug information; where there is no such name, its module is. One rule takes what is
// lost: tcmalloc itself loses a block at its start, and tells its own leak checker to ignore that block.
static const struct {
    const char *reason;
    const char *text;
} built_in[] = {
    {"types are for good, and kept by addresses in the middle of their nodes",
     "{\ngobject types\nMemcheck:Leak\nmatch-leak-kinds: possible\n...\n"
     "obj:*/libgobject-2.0.so*\n...\nfun:g_type_*\n}\n"},
    {"what is loaded is listed for unwinders in segments that are aligned within their blocks",
     "{\nsegments of loaded code\nMemcheck:Leak\nmatch-leak-kinds: possible\nfun:malloc\n...\n"
     "fun:_dlfo_mappings_segment_allocate\n...\nobj:*/ld-linux*\n}\n"},
    // The same by the shape of its stack: two functions of the loader, called by the one that opens.
    {"what is loaded is listed for unwinders in segments that are aligned within their blocks",
     "{\nsegments of loaded code, by a loader without names\nMemcheck:Leak\nmatch-leak-kinds: possible\n"
     "fun:malloc\nobj:*/ld-linux*\nobj:*/ld-linux*\nfun:_dl_catch_exception\nobj:*/ld-linux*\n"
     "fun:_dl_catch_exception\nobj:*/ld-linux*\n}\n"},
    // These two in 32-bit programs; in others the scan knows the header.
    {"an exception lies behind its header, and what holds it points to the exception",
     "{\nexceptions that are held\nMemcheck:Leak\nmatch-leak-kinds: possible\n...\n"
     "fun:__cxa_allocate_exception\n}\n"},
    {"a string of the old ABI lies behind its header: the messages of exceptions are such",
     "{\nstrings of the old ABI\nMemcheck:Leak\nmatch-leak-kinds: possible\n...\n"
     "fun:_ZNSs4_Rep9_S_create*\n}\n"},
    {"an emulated thread-local variable lies behind a pointer to its block",
     "{\nemulated thread-local variables\nMemcheck:Leak\nmatch-leak-kinds: possible\n...\n"
     "fun:__emutls_get_address\n}\n"}, // what it calls is inlined since gcc 14
    {"tcmalloc replaces its first extension by another one at the start, and frees none",
     "{\nthe first extension of tcmalloc\nMemcheck:Leak\nmatch-leak-kinds: definite\nfun:_Znwm\n"
     "fun:_ZN15MallocExtension8*\n}\n"}, // Register or instance
};

static struct seep_error *add_built_in(struct seep_suppress_rules *rules) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(built_in); i++) {
        size_t first = rules->nr_rules;
        struct seep_error *error =
            seep_suppress_rules_parse(rules, "built in", built_in[i].text, strlen(built_in[i].text));
        if (error)
            return error;
        for (size_t r = first; r < rules->nr_rules; r++) {
            rules->rules[r].line = 0;
            rules->rules[r].reason = built_in[i].reason;
            rules->rules[r].kinds &= ~(1u << SEEP_KIND_UNKNOWN); // without a scan nothing is "possibly" lost
        }
    }
    return NULL;
}

static const struct seep_module *executable_of(const struct seep_profile *profile) {
    for (uint32_t i = 1; i < profile->nr_modules; i++)
        if (strcmp(profile->modules[i].path, profile->process.exe) == 0)
            return &profile->modules[i];
    return NULL;
}

// `seep check` shows no other notes than this.
static struct seep_error *note_unread(struct seep_profile *profile, const char *why) {
    return seep_profile_note(profile, SEEP_NOTE_SUPPRESSIONS_UNREAD, "%s", why);
}

static struct seep_error *add_text(struct seep_suppress_rules *rules, struct seep_profile *profile,
                                   const char *text) {
    char file[256];
    snprintf(file, sizeof(file), "%s in %.200s", function, seep_file_name(profile->process.exe));
    size_t first = rules->nr_rules;
    struct seep_error *error = seep_suppress_rules_parse(rules, file, text, strlen(text));
    for (size_t i = first; i < rules->nr_rules; i++)
        rules->rules[i].of_program = true;
    if (!error || error->code != SEEP_E_FORMAT)
        return error;
    struct seep_error *failed = note_unread(profile, error->message);
    seep_error_destroy(error);
    return failed;
}

static struct seep_error *add_of_program(struct seep_suppress_rules *rules, struct seep_profile *profile,
                                         struct seep_symbols *symbols) {
    const struct seep_module *module = executable_of(profile);
    if (!module)
        return NULL;
    unsigned id;
    bool found = false;
    const char *text = NULL;
    struct seep_error *error =
        seep_symbols_module(symbols, module->path, module->build_id_bytes ? module->build_id : NULL,
                            SEEP_MIN(module->build_id_bytes, (uint32_t)sizeof(module->build_id)), &id);
    if (!error)
        error = seep_symbols_returned_text(symbols, id, function, &found, &text);
    if (error || !found)
        return error;
    if (text)
        return add_text(rules, profile, text);
    return note_unread(
        profile, "its function __lsan_default_suppressions does more than return a constant text: it is "
                 "not run, and what it would suppress is not suppressed");
}

static bool was_seen(const struct seep_session *session, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(session->profiles[i]->process.exe, session->profiles[index]->process.exe) == 0)
            return true;
    return false;
}

struct seep_error *seep_suppress_add_defaults(struct seep_suppress_rules *rules, struct seep_session *session,
                                              struct seep_symbols *symbols) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < session->nr_profiles; i++)
        if (!was_seen(session, i))
            error = add_of_program(rules, session->profiles[i], symbols);
    return error ? error : add_built_in(rules);
}
