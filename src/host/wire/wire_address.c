// SPDX-License-Identifier: BSD-2-Clause
// The forms of an address, and hints for wrong ones, see wire_address.h.
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "wire/wire_address.h"

#define DIGITS   "0123456789"
#define SSH_FORM "ssh://[USER@]HOST[:PORT]/PID"

static const struct {
    const char *prefix;
    enum seep_wire_kind kind;
} prefixes[] = {
    {"unix:", SEEP_WIRE_KIND_UNIX},
    {"ssh://", SEEP_WIRE_KIND_SSH},
    {"tcp:", SEEP_WIRE_KIND_TCP},
    {"exec:", SEEP_WIRE_KIND_EXEC},
};

static bool is_number(const char *text) {
    return *text && !text[strspn(text, DIGITS)];
}

// Nothing of the address becomes an option of ssh, or a word of the shell at the other end.
static bool split_ssh(struct seep_wire_address *address) {
    const char *text = address->rest, *slash = strchr(text, '/'), *colon = strchr(text, ':');
    if (!slash || slash == text || text[0] == '-' || (size_t)(slash - text) >= sizeof(address->host))
        return false;
    bool has_port = colon && colon < slash;
    size_t nr = (size_t)((has_port ? colon : slash) - text);
    memcpy(address->host, text, nr);
    address->host[nr] = 0;
    address->port[0] = 0;
    if (has_port)
        snprintf(address->port, sizeof(address->port), "%.*s", (int)(slash - colon - 1), colon + 1);
    address->rest = slash + 1;
    return nr && is_number(address->rest) && strlen(address->rest) < 11 &&
           !address->port[strspn(address->port, DIGITS)] && strcspn(address->host, " \t\n'\"\\$`;&|<>") == nr;
}

static struct seep_error *check(const char *text, struct seep_wire_address *address) {
    if (address->kind == SEEP_WIRE_KIND_SSH && !split_ssh(address))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "%s: not of the form " SSH_FORM, text),
            "PID is a process of that machine: 'seep-agent list' there shows the traced ones");
    if (address->kind == SEEP_WIRE_KIND_TCP &&
        (strchr("/:", address->rest[0]) || !strchr(address->rest, ':')))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: not of the form tcp:HOST:PORT", text),
                               "'seep serve --listen tcp:HOST:PORT --key FILE PID' prints the address");
    if (address->kind == SEEP_WIRE_KIND_UNIX && !address->rest[0])
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: not of the form unix:PATH", text),
                               "'seep serve PID' prints the address that it listens on");
    if (address->kind == SEEP_WIRE_KIND_EXEC && !address->rest[0])
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s: not of the form exec:COMMAND", text),
                               "the command runs 'seep serve --listen stdio PID' on its standard streams");
    return NULL;
}

struct seep_error *seep_wire_address_parse(const char *text, struct seep_wire_address *ret_address) {
    struct seep_wire_address address = {.rest = text};
    struct stat status;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(prefixes) && !address.kind; i++) {
        size_t nr = strlen(prefixes[i].prefix);
        if (strncmp(text, prefixes[i].prefix, nr) == 0)
            address = (struct seep_wire_address){.kind = prefixes[i].kind, .rest = text + nr};
    }
    if (!address.kind && stat(text, &status) == 0 && S_ISSOCK(status.st_mode))
        address.kind = SEEP_WIRE_KIND_UNIX;
    struct seep_error *error = check(text, &address);
    if (!error)
        *ret_address = address;
    return error;
}

// ---- what is none ----

struct seep_error *seep_wire_address_refuse(const char *text) {
    if (!*text)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "the name is empty"),
                               "is a variable of the shell unset? name a PID, a trace or an address");
    struct seep_error *error =
        seep_error_create(SEEP_E_NOT_FOUND, "%s: no such file, and no address of a server", text);
    bool is_ssh = strncmp(text, "ssh:", 4) == 0 || strchr(text, '@');
    const char *rest = strncmp(text, "ssh:", 4) == 0 ? text + 4 : text;
    const char *colon = strrchr(text, ':'), *slash = strchr(rest, '/');
    bool has_pid = slash && slash != rest && is_number(slash + 1);
    if (strstr(text, "://"))
        return seep_error_hint(error, "an address is unix:PATH, " SSH_FORM ", tcp:HOST:PORT or exec:COMMAND");
    if (is_ssh || has_pid)
        return seep_error_hint(error, "a process of another machine is ssh://%.*s/%s",
                               (int)strcspn(rest, "/"), rest, has_pid ? slash + 1 : "PID");
    if (colon && is_number(colon + 1) && !slash)
        return seep_error_hint(error,
                               "a server of a network is tcp:%s%s with --key FILE; a process of another "
                               "machine is ssh://HOST/PID",
                               colon == text ? "HOST" : "", text);
    if (slash)
        return seep_error_hint(error, "name a trace, the PID of a traced process, or the socket of "
                                      "'seep serve PID', which removes it at its end");
    return seep_error_hint(error, "name a trace that 'seep run -o FILE PROG' has written, the PID of a "
                                  "traced process, or one of another machine: ssh://HOST/PID");
}
