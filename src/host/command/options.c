// SPDX-License-Identifier: BSD-2-Clause
//
// The option parser, see options.h. Invariant while parsing: argv[1..nr_operands] are the operands
// seen so far, and never reach the argument being looked at.
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/regex_size.h"
#include "command/command.h"
#include "command/options.h"

// ---- values ----

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", 1ull << 10},
    {"KB", 1ull << 10},
    {"KiB", 1ull << 10},
    {"M", 1ull << 20},
    {"MB", 1ull << 20},
    {"MiB", 1ull << 20},
    {"G", 1ull << 30},
    {"GB", 1ull << 30},
    {"GiB", 1ull << 30},
    {"T", 1ull << 40},
    {"TB", 1ull << 40},
    {"TiB", 1ull << 40},
};

static const struct unit duration_units[] = {
    {"ns", 1},        {"us", 1000},       {"ms", 1000000},      {"s", 1000000000},
    {"", 1000000000}, {"m", 60000000000}, {"h", 3600000000000},
};

static const char *find_digits(const char *text, uint64_t *ret_value, bool *ret_overflow) {
    uint64_t value = 0;
    bool overflow = false;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++)
        overflow |= __builtin_mul_overflow(value, 10u, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value);
    *ret_value = value;
    *ret_overflow = overflow;
    return at;
}

static bool same_unit(const char *a, const char *b, bool any_case) {
    return any_case ? strcasecmp(a, b) == 0 : strcmp(a, b) == 0;
}

// ".5": up to nine digits, as billionths. Where there is none, 0 and the text as it was.
static const char *find_fraction(const char *text, uint64_t *ret_billionths) {
    *ret_billionths = 0;
    if (*text != '.' || text[1] < '0' || text[1] > '9')
        return text;
    uint64_t place = 100000000;
    for (text++; *text >= '0' && *text <= '9'; text++, place /= 10)
        *ret_billionths += place * (uint64_t)(*text - '0');
    return text;
}

// A number and a unit. Case matters for durations only (there is no upper-case one anyway).
static struct seep_error *parse_with_unit(const char *what, const char *text, const struct unit *units,
                                          size_t nr_units, bool any_case, const char *hint, uint64_t max,
                                          uint64_t *ret_value) {
    uint64_t value, billionths;
    bool overflow;
    const char *digits = find_digits(text, &value, &overflow);
    const char *unit = find_fraction(digits, &billionths);
    for (size_t i = 0; digits != text && i < nr_units; i++) {
        if (!same_unit(unit, units[i].name, any_case))
            continue;
        uint64_t part = (uint64_t)((unsigned __int128)units[i].factor * billionths / 1000000000u);
        if (overflow || __builtin_mul_overflow(value, units[i].factor, &value) ||
            __builtin_add_overflow(value, part, &value) || value > max)
            return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: '%s' is too big", what, text), "%s",
                                   hint);
        *ret_value = value;
        return NULL;
    }
    return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: bad value '%s'", what, text), "%s", hint);
}

struct seep_error *seep_parse_size(const char *what, const char *text, uint64_t *ret_bytes) {
    return parse_with_unit(what, text, size_units, SEEP_ARRAY_SIZE(size_units), true,
                           "a size is a number of bytes with K, M, G or T, as in 64K", UINT64_MAX, ret_bytes);
}

static struct seep_error *parse_size(const char *what, const char *text, uint64_t max, uint64_t *ret_bytes) {
    uint64_t bytes;
    struct seep_error *error = seep_parse_size(what, text, &bytes);
    if (error)
        return error;
    if (max && bytes > max)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: '%s' is too big", what, text),
                               "the most is %llu", (unsigned long long)max);
    *ret_bytes = bytes;
    return NULL;
}

static struct seep_error *parse_duration(const char *what, const char *text, int64_t *ret_ns) {
    uint64_t ns;
    struct seep_error *error =
        parse_with_unit(what, text, duration_units, SEEP_ARRAY_SIZE(duration_units), false,
                        "a duration is a number with ns, us, ms, s, m or h, as in 500ms", INT64_MAX, &ns);
    if (error)
        return error;
    *ret_ns = (int64_t)ns;
    return NULL;
}

struct seep_error *seep_parse_number(const char *what, const char *text, uint64_t min, uint64_t max,
                                     uint64_t *ret_value) {
    uint64_t value;
    bool overflow;
    const char *end = find_digits(text, &value, &overflow);
    if (end == text || *end)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: bad value '%s'", what, text),
                               "a whole number is needed, as in 10");
    if (max == 0)
        max = UINT64_MAX;
    if (overflow || value > max)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: '%s' is too big", what, text),
                               "the most is %llu", (unsigned long long)max);
    if (value < min)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: '%s' is too small", what, text),
                               "the least is %llu", (unsigned long long)min);
    *ret_value = value;
    return NULL;
}

struct seep_error *seep_parse_rounds(char *const *operands, int64_t *interval_ns, uint64_t *count) {
    struct seep_error *error = NULL;
    if (*operands)
        error = parse_duration("INTERVAL", *operands++, interval_ns);
    if (!error && *interval_ns <= 0)
        error =
            seep_error_hint(seep_error_create(SEEP_E_USAGE, "INTERVAL: 0 is too short"), "1s is a second");
    if (!error && *operands)
        error = seep_parse_number("COUNT", *operands++, 1, 0, count);
    if (!error && *operands)
        error =
            seep_error_hint(seep_error_create(SEEP_E_USAGE, "one operand too many: '%s'", *operands),
                            "only INTERVAL and COUNT are taken: '5s 10' makes ten reports, one every 5 s");
    return error;
}

static struct seep_error *parse_choice(const char *what, const char *text, const char *const *choices,
                                       int *ret_index) {
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], text) == 0) {
            *ret_index = i;
            return NULL;
        }
    }
    char list[512] = "";
    for (int i = 0; choices[i]; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", choices[i]);
    }
    const char *nearest = seep_nearest(text, choices);
    struct seep_error *error = seep_error_create(SEEP_E_USAGE, "%s: unknown value '%s'", what, text);
    if (nearest)
        return seep_error_hint(error, "did you mean '%s'? one of %s", nearest, list);
    return seep_error_hint(error, "one of %s", list);
}

static struct seep_error *parse_set(const char *what, const char *text, const struct seep_option *option,
                                    uint32_t *ret_bits) {
    uint32_t bits = 0;
    for (const char *at = text;; at++) {
        char word[64];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof(word), "%.*s", (int)SEEP_MIN(length, sizeof(word) - 1), at);
        int index = 0;
        struct seep_error *error = parse_choice(what, word, option->choices, &index);
        if (error)
            return error;
        bits |= 1u << (option->min + (unsigned)index);
        at += length;
        if (!*at)
            break;
    }
    *ret_bits = bits;
    return NULL;
}

static struct seep_error *parse_percent(const char *what, const char *text, unsigned *ret_percent) {
    uint64_t value;
    bool overflow;
    const char *end = find_digits(text, &value, &overflow);
    if (end == text || overflow || value > 99 || (*end && strcmp(end, "%") != 0))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: bad value '%s'", what, text),
                               "a share from 0%% to 99%%");
    *ret_percent = (unsigned)value;
    return NULL;
}

static struct seep_error *parse_regex(const char *what, const char *text, regex_t **ret_regex) {
    if (!seep_regex_is_small(text))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "%s: the regular expression '%s' is too large", what, text),
            "written out, at most %d characters, %d groups, anchors, alternatives and optional repetitions, "
            "%d "
            "groups in one another",
            SEEP_REGEX_ATOMS_MAX, SEEP_REGEX_CHOICES_MAX, SEEP_REGEX_DEPTH_MAX);
    regex_t *regex = calloc(1, sizeof(*regex));
    if (!regex)
        return seep_error_no_memory();
    int status = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
    if (status == 0) {
        *ret_regex = regex;
        return NULL;
    }
    char why[128];
    regerror(status, regex, why, sizeof(why));
    free(regex);
    if (status == REG_ESPACE)
        return seep_error_no_memory();
    return seep_error_hint(
        seep_error_create(SEEP_E_USAGE, "%s: bad regular expression '%s': %s", what, text, why),
        "POSIX extended syntax; write \\( for a parenthesis");
}

static void free_regex(regex_t *regex) {
    if (regex) {
        regfree(regex);
        free(regex);
    }
}

static struct seep_error *store(const struct seep_option *option, const char *what, const char *text,
                                void *values) {
    void *place = (char *)values + option->offset;
    switch (option->kind) {
    case SEEP_OPTION_FLAG:
        *(bool *)place = true;
        return NULL;
    case SEEP_OPTION_STRING:
        if (!*text)
            return seep_error_create(SEEP_E_USAGE, "%s: the value is empty", what);
        *(const char **)place = text;
        return NULL;
    case SEEP_OPTION_STRINGS: {
        struct seep_option_strings *list = place;
        if (!seep_grow(&list->items, &list->capacity, list->nr_items + 1, sizeof(*list->items)))
            return seep_error_no_memory();
        list->items[list->nr_items++] = text;
        return NULL;
    }
    case SEEP_OPTION_NUMBER:
        return seep_parse_number(what, text, option->min, option->max, place);
    case SEEP_OPTION_SIZE:
        return parse_size(what, text, option->max, place);
    case SEEP_OPTION_DURATION:
        return parse_duration(what, text, place);
    case SEEP_OPTION_CHOICE:
        return parse_choice(what, text, option->choices, place);
    case SEEP_OPTION_SET:
        return parse_set(what, text, option, place);
    case SEEP_OPTION_PERCENT:
        return parse_percent(what, text, place);
    case SEEP_OPTION_OPTIONAL: {
        int index = 0;
        struct seep_error *error = text ? parse_choice(what, text, option->choices, &index) : NULL;
        if (!error)
            *(int *)place = index + 1;
        return error;
    }
    case SEEP_OPTION_TEXT:
        *(const char **)place = text ? text : "";
        return NULL;
    case SEEP_OPTION_REGEX: {
        regex_t *regex = NULL;
        struct seep_error *error = parse_regex(what, text, &regex);
        if (error)
            return error;
        free_regex(*(regex_t **)place);
        *(regex_t **)place = regex;
        return NULL;
    }
    }
    return seep_error_create(SEEP_E_USAGE, "%s: an option of no known kind", what);
}

// ---- options ----

struct found {
    const struct seep_option *option;
    void *values;
};

static bool find_option(const struct seep_arguments *arguments, const char *name, size_t name_bytes,
                        char letter, struct found *ret_found) {
    const struct seep_option_group *const *groups = arguments->command->groups;
    for (size_t g = 0; groups && groups[g]; g++) {
        for (const struct seep_option *o = groups[g]->options; o->name; o++) {
            bool same = name ? strlen(o->name) == name_bytes && memcmp(o->name, name, name_bytes) == 0
                             : o->letter == letter;
            if (same) {
                *ret_found = (struct found){o, arguments->values[g]};
                return true;
            }
        }
    }
    return false;
}

static struct seep_error *take(struct seep_arguments *arguments, const struct found *found, const char *what,
                               const char *text) {
    if (!seep_grow(&arguments->given, &arguments->given_capacity, arguments->nr_given + 1,
                   sizeof(*arguments->given)))
        return seep_error_no_memory();
    arguments->given[arguments->nr_given++] = (struct seep_option_given){found->option->name, text};
    struct seep_error *error = store(found->option, what, text, found->values);
    return error && found->option->hint ? seep_error_hint(error, "%s", found->option->hint) : error;
}

static struct seep_error *unknown_long(const struct seep_command *command, const char *name,
                                       size_t name_bytes) {
    char text[64];
    snprintf(text, sizeof(text), "%.*s", (int)SEEP_MIN(name_bytes, sizeof(text) - 1), name);
    const char *names[128] = {"help"};
    size_t nr = 1;
    for (size_t g = 0; command->groups && command->groups[g]; g++)
        for (const struct seep_option *o = command->groups[g]->options; o->name; o++)
            if (nr + 1 < SEEP_ARRAY_SIZE(names))
                names[nr++] = o->name;
    const char *nearest = seep_nearest(text, names);
    struct seep_error *error = seep_error_create(SEEP_E_USAGE, "%s: unknown option '--%.*s'", command->name,
                                                 (int)SEEP_MIN(name_bytes, (size_t)1000), name);
    if (nearest)
        return seep_error_hint(error, "did you mean '--%s'? see 'seep %s --help'", nearest, command->name);
    return seep_error_hint(error, "see 'seep %s --help'", command->name);
}

// The long option in argv[*at]; moves *at over the value where that is the next argument.
static struct seep_error *parse_long(struct seep_arguments *arguments, int argc, char **argv, int *at) {
    const char *name = argv[*at] + 2;
    const char *equals = strchr(name, '=');
    size_t name_bytes = equals ? (size_t)(equals - name) : strlen(name);
    if (name_bytes == 4 && memcmp(name, "help", 4) == 0) {
        if (equals)
            return seep_error_create(SEEP_E_USAGE, "--help takes no value, but was given '%s'", equals + 1);
        arguments->help = true;
        return NULL;
    }
    struct found found;
    if (!find_option(arguments, name, name_bytes, 0, &found))
        return unknown_long(arguments->command, name, name_bytes);
    char what[64];
    snprintf(what, sizeof(what), "--%s", found.option->name);
    if (found.option->kind == SEEP_OPTION_FLAG) {
        if (equals)
            return seep_error_create(SEEP_E_USAGE, "%s takes no value, but was given '%s'", what, equals + 1);
        return take(arguments, &found, what, NULL);
    }
    if (equals)
        return take(arguments, &found, what, equals + 1);
    if (found.option->kind == SEEP_OPTION_OPTIONAL || found.option->kind == SEEP_OPTION_TEXT)
        return take(arguments, &found, what, NULL);
    if (*at + 1 >= argc)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s needs a value", what), "%s %s", what,
                               seep_option_value_name(found.option));
    ++*at;
    return take(arguments, &found, what, argv[*at]);
}

// The letters in argv[*at].
static struct seep_error *parse_short(struct seep_arguments *arguments, int argc, char **argv, int *at) {
    for (const char *letter = argv[*at] + 1; *letter; letter++) {
        struct found found;
        if (!find_option(arguments, NULL, 0, *letter, &found)) {
            if (*letter == 'h') {
                arguments->help = true;
                return NULL;
            }
            if (*letter >= '0' && *letter <= '9' && letter == argv[*at] + 1)
                return seep_error_hint(
                    seep_error_create(SEEP_E_USAGE, "%s: '%s' is no option: numbers follow the name of one",
                                      arguments->command->name, argv[*at]),
                    "as in --top 5; what begins with '-' and is no option goes after '--'");
            char in[80] = "";
            if (argv[*at][2])
                snprintf(in, sizeof(in), " in '%.60s'", argv[*at]);
            struct seep_error *error = seep_error_create(SEEP_E_USAGE, "%s: unknown option '-%c'%s",
                                                         arguments->command->name, *letter, in);
            // What most commands write to a file, others write to standard output.
            if (*letter == 'o' && arguments->command->prints)
                return seep_error_hint(
                    error, "it writes to standard output: 'seep %s ... > FILE'; see 'seep %s --help'",
                    arguments->command->name, arguments->command->name);
            return seep_error_hint(error, "see 'seep %s --help'", arguments->command->name);
        }
        char what[64];
        snprintf(what, sizeof(what), "-%c", *letter);
        struct seep_error *error;
        if (found.option->kind == SEEP_OPTION_FLAG) {
            error = take(arguments, &found, what, NULL);
            if (error)
                return error;
            continue;
        }
        if (letter[1])
            return take(arguments, &found, what, letter[1] == '=' ? letter + 2 : letter + 1);
        if (*at + 1 >= argc)
            return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s needs a value", what), "%s %s", what,
                                   seep_option_value_name(found.option));
        ++*at;
        return take(arguments, &found, what, argv[*at]);
    }
    return NULL;
}

static struct seep_error *parse_all(struct seep_arguments *arguments, int argc, char **argv) {
    int out = 1;
    bool ended = false;
    for (int at = 1; at < argc; at++) {
        const char *text = argv[at];
        if (ended || text[0] != '-' || !text[1]) {
            ended = ended || arguments->command->stop_at_operand;
            argv[out++] = argv[at];
            continue;
        }
        if (strcmp(text, "--") == 0) {
            ended = true;
            arguments->ended = out == 1;
            continue;
        }
        struct seep_error *error =
            text[1] == '-' ? parse_long(arguments, argc, argv, &at) : parse_short(arguments, argc, argv, &at);
        if (error || arguments->help)
            return error;
    }
    argv[out] = NULL; // argv has a NULL at argc, so there is room
    arguments->operands = argv + 1;
    arguments->nr_operands = out - 1;
    return NULL;
}

static struct seep_error *check_operands(const struct seep_arguments *arguments) {
    const struct seep_command *command = arguments->command;
    if (arguments->nr_operands < command->min_operands) {
        const char *name = command->operand ? command->operand : "argument";
        for (int i = 0; i < arguments->nr_operands && strchr(name, ' '); i++)
            name = strchr(name, ' ') + 1;
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: %.*s is missing", command->name,
                                                 (int)strcspn(name, " "), name),
                               "usage: seep %s %s", command->name, command->usage);
    }
    if (arguments->nr_operands > command->max_operands)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: unexpected argument '%s'", command->name,
                                                 arguments->operands[command->max_operands]),
                               "usage: seep %s %s", command->name, command->usage);
    return NULL;
}

static struct seep_error *make_values(struct seep_arguments *arguments) {
    const struct seep_option_group *const *groups = arguments->command->groups;
    for (size_t g = 0; groups && groups[g]; g++) {
        if (g == SEEP_OPTION_GROUPS_MAX)
            return seep_error_create(SEEP_E_UNSUPPORTED, "%s: too many groups of options",
                                     arguments->command->name);
        arguments->values[g] = calloc(1, SEEP_MAX(groups[g]->values_bytes, (size_t)1));
        if (!arguments->values[g])
            return seep_error_no_memory();
        if (groups[g]->defaults)
            memcpy(arguments->values[g], groups[g]->defaults, groups[g]->values_bytes);
    }
    return NULL;
}

struct seep_error *seep_arguments_parse(const struct seep_command *command, int argc, char **argv,
                                        struct seep_arguments *ret_arguments) {
    struct seep_arguments arguments = {.command = command};
    struct seep_error *error = make_values(&arguments);
    if (!error)
        error = parse_all(&arguments, argc, argv);
    if (!error && !arguments.help)
        error = check_operands(&arguments);
    if (error) {
        seep_arguments_deinit(&arguments);
        return error;
    }
    *ret_arguments = arguments;
    return NULL;
}

void seep_arguments_deinit(struct seep_arguments *arguments) {
    free(arguments->given);
    arguments->given = NULL;
    const struct seep_option_group *const *groups = arguments->command->groups;
    for (size_t g = 0; groups && groups[g] && g < SEEP_OPTION_GROUPS_MAX; g++) {
        char *values = arguments->values[g];
        for (const struct seep_option *o = groups[g]->options; values && o->name; o++) {
            if (o->kind == SEEP_OPTION_REGEX)
                free_regex(*(regex_t **)(void *)(values + o->offset));
            if (o->kind == SEEP_OPTION_STRINGS)
                free(((struct seep_option_strings *)(void *)(values + o->offset))->items);
        }
        free(values);
        arguments->values[g] = NULL;
    }
}

void *seep_arguments_values(const struct seep_arguments *arguments, const struct seep_option_group *group) {
    const struct seep_option_group *const *groups = arguments->command->groups;
    for (size_t g = 0; groups && groups[g]; g++)
        if (groups[g] == group)
            return arguments->values[g];
    return NULL;
}

const char *seep_option_kind_name(enum seep_option_kind kind) {
    static const char *const names[] = {
        [SEEP_OPTION_FLAG] = "flag",         [SEEP_OPTION_STRING] = "string",
        [SEEP_OPTION_NUMBER] = "number",     [SEEP_OPTION_SIZE] = "size",
        [SEEP_OPTION_DURATION] = "duration", [SEEP_OPTION_CHOICE] = "choice",
        [SEEP_OPTION_REGEX] = "regex",       [SEEP_OPTION_OPTIONAL] = "optional",
        [SEEP_OPTION_TEXT] = "text",         [SEEP_OPTION_STRINGS] = "strings",
        [SEEP_OPTION_SET] = "set",           [SEEP_OPTION_PERCENT] = "percent",
    };
    return (size_t)kind < SEEP_ARRAY_SIZE(names) ? names[kind] : "unknown";
}

const char *seep_option_value_name(const struct seep_option *option) {
    static const char *const names[] = {
        [SEEP_OPTION_FLAG] = NULL,      [SEEP_OPTION_STRING] = "TEXT",    [SEEP_OPTION_NUMBER] = "N",
        [SEEP_OPTION_SIZE] = "SIZE",    [SEEP_OPTION_DURATION] = "TIME",  [SEEP_OPTION_CHOICE] = "WHICH",
        [SEEP_OPTION_REGEX] = "RE",     [SEEP_OPTION_OPTIONAL] = "WHICH", [SEEP_OPTION_TEXT] = "TEXT",
        [SEEP_OPTION_STRINGS] = "TEXT", [SEEP_OPTION_SET] = "LIST",       [SEEP_OPTION_PERCENT] = "N%",
    };
    if (option->value || (size_t)option->kind >= SEEP_ARRAY_SIZE(names))
        return option->value;
    return names[option->kind];
}
