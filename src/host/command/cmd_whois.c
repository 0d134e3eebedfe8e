// SPDX-License-Identifier: BSD-2-Clause
// `seep whois PID ADDRESS`: which block an address is in, who allocated it, who points to it.
#include <errno.h>
#include <stdlib.h>

#include "command/command.h"
#include "command/report_options.h"
#include "session/source.h"
#include "scan/inspect.h"
#include "output/report_whois.h"

struct whois_values {
    uint64_t top;
    bool no_demangle;
    bool json;
};

static const struct whois_values whois_defaults = {.top = 10};

#define AT(field) offsetof(struct whois_values, field)
static const struct seep_option whois_options[] = {
    {"top", 'T', SEEP_OPTION_NUMBER, AT(top), .max = UINT32_MAX,
     .help = "show at most N pointers to it; 0: all (default 10)"},
    {"no-demangle", 0, SEEP_OPTION_FLAG, AT(no_demangle), .help = "symbol names as they are in the file"},
    {"json", 0, SEEP_OPTION_FLAG, AT(json), .help = "the answer as JSON"},
    {NULL},
};

static const struct seep_option_group whois_group = {.title = "Options",
                                                     .options = whois_options,
                                                     .values_bytes = sizeof(struct whois_values),
                                                     .defaults = &whois_defaults};

// As debuggers print it: hexadecimal, with or without 0x.
static struct seep_error *parse_address(const char *text, uint64_t *ret_address) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 16);
    if (*end || end == text || errno || *text == '-' || *text == '+' || *text == ' ')
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "ADDRESS: bad value '%s'", text),
                               "a hexadecimal number, as 0x55d0c3a012a0");
    *ret_address = value;
    return NULL;
}

// Of several processes the main one is asked, and those that have a block there.
static struct seep_error *ask_snapshot(struct seep_source *source, uint64_t address,
                                       struct seep_symbols *symbols, struct seep_whois **ret_whois) {
    struct seep_session *session;
    struct seep_error *error = seep_source_snapshot(source, &session);
    if (error)
        return error;
    struct seep_whois *whois = NULL;
    for (size_t i = 0; !error && i < session->nr_profiles; i++) {
        struct seep_whois *other;
        error = seep_whois_profile(session->profiles[i], address, symbols, &other);
        if (error)
            break;
        if (whois && other->place != SEEP_PLACE_BLOCK) {
            seep_whois_destroy(other);
            continue;
        }
        seep_whois_destroy(whois);
        whois = other;
        if (whois->place == SEEP_PLACE_BLOCK)
            break;
    }
    seep_session_destroy(session);
    if (error) {
        seep_whois_destroy(whois);
        return error;
    }
    *ret_whois = whois;
    return NULL;
}

static struct seep_error *run_whois(const struct seep_arguments *arguments, int *ret_status) {
    const struct whois_values *values = seep_arguments_values(arguments, &whois_group);
    uint64_t address = 0;
    struct seep_source source;
    struct seep_error *error = parse_address(arguments->operands[1], &address);
    if (!error)
        error = seep_source_open(arguments->operands[0], NULL, &source);
    if (error)
        return error;
    struct seep_view_options how = seep_view_options_default;
    how.no_demangle = values->no_demangle;
    struct seep_symbols *symbols = NULL;
    struct seep_whois *whois = NULL;
    error = seep_report_symbols(&how, arguments->operands[0], &symbols);
    // Who points to it is known where its memory is.
    if (!error && source.ops->is_live)
        error = seep_whois_process(source.pid, address, values->top, symbols, &whois);
    else if (!error)
        error = ask_snapshot(&source, address, symbols, &whois);
    if (!error && values->json)
        error = seep_whois_json(stdout, whois);
    else if (!error)
        seep_whois_text(stdout, whois);
    seep_whois_destroy(whois);
    seep_symbols_destroy(symbols);
    seep_source_close(&source);
    return error;
}

const struct seep_command seep_command_whois = {
    .name = "whois",
    .summary = "which block is at an address, who allocated it, who points to it",
    .usage = "[options] PID|CORE|FILE ADDRESS",
    .about =
        "PID is a process that is being traced. It is stopped while its memory is read, as by 'seep scan'.\n"
        "Of a saved trace FILE, or a core file with its trace beside it, the block and where it was\n"
        "allocated are known, if the trace has its blocks.\n",
    .groups = (const struct seep_option_group *const[]){&whois_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep whois 1234 0x55d0c3a012a0", "what is there, and who holds it"},
            {"seep whois 1234 0x55d0c3a012a0 --top 0", "with every pointer to it"},
            {"seep whois app.seep 55d0c3a012a0 --json", "of a saved trace, for programs"},
            {NULL},
        },
    .prints = true,
    .operand = "PID ADDRESS",
    .min_operands = 2,
    .max_operands = 2,
    .run = run_whois,
};
