// SPDX-License-Identifier: BSD-2-Clause
//
// The name of a process for people: by which it was run. The executable may be another file that the
// name is a link to (redis-server, sh, what busybox is); and the first argument may be a path, a
// login shell's ("-bash") or a title ("nginx: worker process").
#include <string.h>

#include "base/file_name.h"
#include "profile/profile.h"

static const char *base_of(const char *path) {
    return path ? seep_file_name(path) : "";
}

static bool has_blank(const char *text, size_t length) {
    return memchr(text, ' ', length) || memchr(text, '\t', length);
}

// Its length; 0: the argument tells no name.
static size_t name_in(const char *argument, const char **ret_name) {
    bool is_login = *argument == '-';
    const char *name = base_of(argument + is_login);
    size_t length = strcspn(name, " \t");
    // Of a title the first word, which may be a path itself.
    if (has_blank(argument, strlen(argument))) {
        const char *first = argument + is_login;
        size_t end = strcspn(first, " \t");
        while (end && first[end - 1] == ':')
            end--;
        name = first;
        for (size_t i = 0; i < end; i++)
            if (first[i] == '/')
                name = first + i + 1;
        length = (size_t)(first + end - name);
    }
    *ret_name = name;
    return length;
}

static bool drops_args;

void seep_process_drop_args(void) {
    drops_args = true;
}

// A program that was given to the loader as an argument was not run by the loader's name.
static bool is_loader(const char *name) {
    return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-musl", 7) == 0 ||
           strncmp(name, "ld.so", 5) == 0;
}

void seep_process_name_derive(struct seep_profile *profile) {
    struct seep_process *process = &profile->process;
    const char *of_file = base_of(process->exe);
    const char *argument = process->nr_args && process->args[0] ? process->args[0] : "";
    const char *name = of_file;
    size_t length = strlen(of_file);
    if (strcmp(base_of(argument), of_file) != 0 && !is_loader(base_of(argument))) {
        const char *other;
        size_t other_length = name_in(argument, &other);
        if (other_length) {
            name = other;
            length = other_length;
        }
    }
    char *kept = length ? seep_arena_strndup(&profile->arena, name, length) : NULL;
    process->name = kept ? kept : *of_file ? of_file : "(program not known)";
    if (drops_args) // how many there were stays
        process->nr_args = SEEP_MIN(process->nr_args, 1u);
}

struct seep_error *seep_process_set_title(struct seep_profile *profile, const char *title) {
    struct seep_process *process = &profile->process;
    if (!title || drops_args || !process->nr_args || !has_blank(title, strlen(title)) ||
        (process->nr_args_all == 1 && strcmp(process->args[0], title) == 0))
        return NULL;
    const char **args = seep_arena_alloc(&profile->arena, 1, sizeof(*args));
    if (!args || !(args[0] = seep_arena_strdup(&profile->arena, title)))
        return seep_error_no_memory();
    process->args = args;
    process->nr_args = process->nr_args_all = 1;
    seep_process_name_derive(profile);
    return NULL;
}

const char *seep_process_title_of(const struct seep_process *process) {
    bool is_title = process->nr_args_all == 1 && process->nr_args == 1 && strstr(process->args[0], ": ");
    return is_title ? process->args[0] : NULL;
}

bool seep_process_is_named_otherwise(const struct seep_process *process) {
    const char *of_file = base_of(process->exe);
    return *of_file && strcmp(process->name, of_file) != 0;
}
