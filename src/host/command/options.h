// SPDX-License-Identifier: BSD-2-Clause
//
// A small declarative parser of options. A command lists groups of options; a group is a table and
// the struct its values go to. The parser fills one zeroed (or defaulted) struct per group, so that
// groups such as the report options are shared by commands without knowing of one another.
//
// Accepted: --name value, --name=value, -x value, -xvalue, -xy for flags; `--` ends the options; a
// lone `-` is an operand. A long name may not be shortened: scripts must not break when an option
// is added.
#ifndef SEEP_COMMAND_OPTIONS_H
#define SEEP_COMMAND_OPTIONS_H

#include "base/error.h"

enum seep_option_kind {
    SEEP_OPTION_FLAG,     // bool; takes no value
    SEEP_OPTION_STRING,   // const char *, borrowed from argv; may not be empty
    SEEP_OPTION_NUMBER,   // uint64_t, decimal, within min..max
    SEEP_OPTION_SIZE,     // uint64_t, bytes; K, M, G, T are powers of 1024
    SEEP_OPTION_DURATION, // int64_t, ns; a number without a unit is seconds
    SEEP_OPTION_CHOICE,   // int: which of `choices`
    SEEP_OPTION_REGEX,    // regex_t *, POSIX extended, compiled; freed with the arguments
    SEEP_OPTION_OPTIONAL, // int: 0 not given, 1 without a value, else 1 + which of `choices` (--name=value)
    SEEP_OPTION_TEXT,     // const char *: NULL not given, "" without a value, else --name=value
    SEEP_OPTION_STRINGS,  // struct seep_option_strings: may be given again and again
    SEEP_OPTION_SET,      // uint32_t: of a list with commas, bit min + i for each of `choices`
    SEEP_OPTION_PERCENT,  // unsigned, 0 to 99; a % may follow
};

struct seep_option_strings {
    const char **items; // freed with the arguments; the texts are borrowed from argv
    size_t nr_items;
    size_t capacity;
};

// An option as it was given: its long name, and the value, or NULL.
struct seep_option_given {
    const char *name;
    const char *value; // borrowed from argv
};

struct seep_option {
    const char *name; // without the dashes; NULL ends a table
    char letter;      // short form, or 0
    enum seep_option_kind kind;
    size_t offset;              // of the value in the group's struct
    const char *value;          // name of the value in help: "N", "SIZE"; NULL: the kind's own
    const char *help;           // one line, no full stop
    const char *const *choices; // for CHOICE, OPTIONAL and SET, ends with NULL
    const char *const *shown;   // of them, in help and completion; NULL: all
    uint64_t min;               // for NUMBER and SET
    uint64_t max;               // for NUMBER and SIZE; 0: no limit
    bool hidden;                // works, but help does not show it
    const char *hint;           // behind a bad value; NULL: the kind's own
};

struct seep_option_group {
    const char *title; // heading in help
    const struct seep_option *options;
    size_t values_bytes;  // size of the struct the values go to
    const void *defaults; // such a struct, copied before parsing; NULL: zeros
};

struct seep_command;
#define SEEP_OPTION_GROUPS_MAX 4

// What a command was called with.
struct seep_arguments {
    const struct seep_command *command;
    void *values[SEEP_OPTION_GROUPS_MAX]; // one struct for each of the command's groups
    struct seep_option_given *given;      // in their order
    size_t nr_given;
    size_t given_capacity;
    char **operands; // within argv, ends with NULL
    int nr_operands;
    bool ended; // a `--` stands before the first operand
    bool help;  // --help or -h was given: nothing else was checked
};

// `argv[0]` is the command's name; argv is reordered. Errors are SEEP_E_USAGE and name the option
// and, where one is near, the right one. On failure *ret_arguments needs no deinit.
SEEP_MUST_CHECK struct seep_error *seep_arguments_parse(const struct seep_command *command, int argc,
                                                        char **argv, struct seep_arguments *ret_arguments);
void seep_arguments_deinit(struct seep_arguments *arguments);

// The struct of `group`, which must be one of the command's.
void *seep_arguments_values(const struct seep_arguments *arguments, const struct seep_option_group *group);

// Values on their own, for operands such as INTERVAL. `what` names the thing in the message.
SEEP_MUST_CHECK struct seep_error *seep_parse_number(const char *what, const char *text, uint64_t min,
                                                     uint64_t max, uint64_t *ret_value);
SEEP_MUST_CHECK struct seep_error *seep_parse_size(const char *what, const char *text, uint64_t *ret_bytes);

// The operands [INTERVAL [COUNT]], no others; those that are not given stay as they are.
SEEP_MUST_CHECK struct seep_error *seep_parse_rounds(char *const *operands, int64_t *interval_ns,
                                                     uint64_t *count);

// "N", "SIZE", "T", "RE", ..., as help shows it; NULL for a flag.
const char *seep_option_value_name(const struct seep_option *option);
const char *seep_option_kind_name(enum seep_option_kind kind);

// The one of `names` (which ends with NULL) that `text` was most likely meant to be, or NULL when
// none is near. Distance: insertions, deletions, changes and swaps of neighbours.
const char *seep_nearest(const char *text, const char *const *names);

#endif
