// SPDX-License-Identifier: BSD-2-Clause
// What other tools say about an address, see reference.h.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reference.h"

char *test_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text;
    int length = vasprintf(&text, format, args);
    va_end(args);
    assert_true(length >= 0);
    return text;
}

void check_no_error(struct seep_error *error) {
    if (error)
        fail_msg("%s", error->message);
}

bool test_is_missing(const char *folder, const char *name, const char *why) {
    char *path = test_format("%s/%s", folder, name);
    bool missing = access(path, R_OK) != 0;
    if (missing)
        print_message("left out: %s was not made (%s)\n", name, why);
    free(path);
    return missing;
}

struct seep_symbols *test_open_symbols(const char *debug_dir, const char *sysroot) {
    const struct seep_symbols_options options = {
        .debug_dir = debug_dir, .sysroot = sysroot, .no_debuginfod = true};
    struct seep_symbols *symbols;
    check_no_error(seep_symbols_create(&options, &symbols));
    return symbols;
}

unsigned test_module_of(struct seep_symbols *symbols, const char *path) {
    unsigned module;
    check_no_error(seep_symbols_module(symbols, path, NULL, 0, &module));
    return module;
}

bool reference_has_tool(const char *tool) {
    char *command = test_format("command -v %s >/dev/null 2>&1", tool);
    int status = system(command);
    free(command);
    return status == 0;
}

static FILE *run(char *command) {
    FILE *pipe = popen(command, "re");
    assert_non_null(pipe);
    free(command);
    return pipe;
}

// Between functions: belongs to none, though some tools say so.
static bool is_padding(const char *instruction) {
    return strstr(instruction, "nop") || strstr(instruction, "xchg   %ax,%ax") ||
           strstr(instruction, "data16");
}

size_t reference_addresses(const char *file, size_t max, uint64_t **ret_addresses) {
    FILE *pipe = run(test_format("objdump -d --no-show-raw-insn '%s'", file));
    uint64_t *all = NULL;
    size_t nr = 0, capacity = 0;
    char line[4096];
    while (fgets(line, sizeof(line), pipe)) {
        char *end;
        uint64_t address = strtoull(line, &end, 16);
        if (line[0] != ' ' || end[0] != ':' || end[1] != '\t' || is_padding(end))
            continue;
        if (nr == capacity) {
            capacity = capacity ? capacity * 2 : 4096;
            all = realloc(all, capacity * sizeof(*all));
            assert_non_null(all);
        }
        all[nr++] = address;
    }
    assert_int_equal(pclose(pipe), 0);
    size_t kept = SEEP_MIN(nr, max);
    for (size_t i = 0; i < kept; i++)
        all[i] = all[i * nr / kept];
    *ret_addresses = all;
    return kept;
}

static char *own(const char *text) {
    char *copy = strdup(text);
    assert_non_null(copy);
    return copy;
}

// Turns /a/b/../c into /a/c. The source of an object that a compiler's cache held can lie in a folder that is gone.
static void leave_out_steps_up(char *path) {
    char *step;
    while ((step = strstr(path, "/../")) && step > path) {
        char *before = memrchr(path, '/', (size_t)(step - path));
        if (!before)
            return;
        memmove(before, step + 3, strlen(step + 3) + 1);
    }
}

static void take_place(struct reference *reference, struct reference_frame *frame, char *line) {
    char *extra = strstr(line, " (discriminator");
    if (extra)
        *extra = '\0';
    char *colon = strrchr(line, ':');
    assert_non_null(colon);
    *colon = '\0';
    frame->line = (unsigned)strtoul(colon + 1, NULL, 10);
    char real[PATH_MAX];
    bool is_there = strchr(line, '/') && realpath(line, real);
    if (!is_there)
        leave_out_steps_up(line);
    frame->file = own(is_there ? real : line);
    if (!strchr(line, '/'))
        reference->has_source = false;
}

struct reference *reference_ask(const char *tool, const char *file, const uint64_t *addresses, size_t nr) {
    char name[] = "/tmp/seep-test-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    FILE *questions = fdopen(fd, "w");
    assert_non_null(questions);
    for (size_t i = 0; i < nr; i++)
        fprintf(questions, "0x%llx\n", (unsigned long long)addresses[i]);
    assert_int_equal(fclose(questions), 0);
    FILE *pipe = run(test_format("%s -afiC -e '%s' <%s", tool, file, name));
    struct reference *references = calloc(nr, sizeof(*references));
    assert_non_null(references);
    char *line = NULL;
    size_t room = 0, at = 0;
    struct reference_frame *frame = NULL; // waits for its line
    ssize_t length;
    while ((length = getline(&line, &room, pipe)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        struct reference *now = at ? &references[at - 1] : NULL;
        if (!frame && !strncmp(line, "0x", 2) && at < nr && strtoull(line, NULL, 16) == addresses[at]) {
            references[at].address = addresses[at];
            references[at++].has_source = true;
        } else if (frame) {
            take_place(now, frame, line);
            frame = NULL;
        } else if (line[0]) {
            assert_non_null(now);
            assert_true(now->nr_frames < SEEP_ARRAY_SIZE(now->frames));
            frame = &now->frames[now->nr_frames++];
            frame->function = own(line);
        }
    }
    free(line);
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal(unlink(name), 0);
    assert_int_equal(at, nr);
    return references;
}

void reference_free(struct reference *references, size_t nr) {
    for (size_t i = 0; i < nr; i++) {
        for (unsigned f = 0; f < references[i].nr_frames; f++) {
            free(references[i].frames[f].function);
            free(references[i].frames[f].file);
        }
    }
    free(references);
}

uint64_t reference_symbol(const char *options, const char *file, const char *name) {
    FILE *pipe = run(test_format("nm %s '%s'", options, file));
    char line[4096];
    uint64_t address = 0;
    while (fgets(line, sizeof(line), pipe)) {
        line[strcspn(line, "\n")] = '\0';
        const char *last = strrchr(line, ' ');
        if (last && !strcmp(last + 1, name))
            address = strtoull(line, NULL, 16);
    }
    assert_int_equal(pclose(pipe), 0);
    if (!address)
        fail_msg("nm %s %s does not know %s", options, file, name);
    return address;
}

size_t reference_build_id(const char *file, uint8_t *ret_id, size_t capacity) {
    FILE *pipe = run(test_format("readelf -n '%s' | sed -n 's/.*Build ID: //p'", file));
    size_t nr = 0;
    unsigned byte;
    while (nr < capacity && fscanf(pipe, "%2x", &byte) == 1)
        ret_id[nr++] = (uint8_t)byte;
    assert_int_equal(pclose(pipe), 0);
    if (!nr)
        fail_msg("%s has no build-id", file);
    return nr;
}
