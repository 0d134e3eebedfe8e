// SPDX-License-Identifier: BSD-2-Clause
//
// A suppression file from any bytes. Besides not crashing: whatever comes out keeps the promises of
// suppress_rules.h, an error is one line that names a line of the file, and each pattern can be held
// against the text itself.
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "analysis/suppress_rules.h"
#include "fuzz.h"

static void check_rule(const struct seep_suppress_rules *rules, const struct seep_suppress_rule *rule) {
    MUST(rule->name && rule->name[0] && rule->line && strcmp(rule->file, "input") == 0);
    MUST(rule->kinds < 1u << SEEP_KIND_NR && rule->nr_lines);
    MUST(rule->first_line + rule->nr_lines <= rules->nr_lines);
    bool says_something = false;
    for (uint32_t i = 0; i < rule->nr_lines; i++) {
        const struct seep_suppress_line *line = &rules->lines[rule->first_line + i];
        MUST(line->pattern && line->pattern[0] && !strchr(line->pattern, '\n'));
        MUST(line->kind <= SEEP_SUPPRESS_LSAN && (line->kind != SEEP_SUPPRESS_LSAN || rule->nr_lines == 1));
        says_something |= line->kind != SEEP_SUPPRESS_ANY_FRAMES;
    }
    MUST(says_something);
}

// The text is cut short: matching takes time in the order of pattern times text.
static void match(const struct seep_suppress_rules *rules, const char *text) {
    for (size_t i = 0; i < rules->nr_lines && i < 64; i++) {
        const char *pattern = rules->lines[i].pattern;
        bool everywhere = seep_suppress_search(pattern, text);
        if (!strpbrk(pattern, "*?^$")) {
            MUST(seep_suppress_glob(pattern, text) == (strcmp(pattern, text) == 0));
            MUST(everywhere == (text[0] && strstr(text, pattern)));
        }
        (void)seep_suppress_glob(pattern, text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seep_suppress_rules rules = SEEP_SUPPRESS_RULES_INIT;
    struct seep_error *error = seep_suppress_rules_parse(&rules, "input", (const char *)data, size);
    if (error) {
        MUST(strncmp(error->message, "input:", 6) == 0 || strncmp(error->message, "more than", 9) == 0);
        MUST(!strchr(error->message, '\n') && atoi(error->message + 6) >= 0);
        seep_error_destroy(error);
    }
    for (size_t i = 0; i < rules.nr_rules; i++)
        check_rule(&rules, &rules.rules[i]);
    char text[256];
    size_t nr = size < sizeof(text) - 1 ? size : sizeof(text) - 1;
    if (nr)
        memcpy(text, data, nr);
    text[nr] = 0;
    match(&rules, text);
    seep_suppress_rules_deinit(&rules);
    return 0;
}
