#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Writes the completions of bash, zsh and fish from the command table: completions.py SEEP FOLDER.

SEEP is the built tool; its `help --dump` is the table. meson runs it, see tools/meson.build.
"""
import json
import os
import subprocess
import sys

MADE = "Made by tools/completions.py from the command table."


def options_of(command):
    help_option = {"name": "help", "letter": "h", "kind": "flag", "help": "what the command does, with examples"}
    return [option for group in command["groups"] for option in group["options"]] + [help_option]


def takes_file(option):
    return option.get("value", "") in ("FILE", "PATH", "OUT")


def operand_of(command):
    """What the operands are: 'program', 'trace', 'pid', 'trace or pid', 'command' or ''."""
    usage = command["usage"]
    if "PROG" in usage:
        return "program"
    if "COMMAND" in usage:
        return "command"
    kinds = [kind for word, kind in (("FILE", "trace"), ("PID", "pid")) if word in usage]
    return " or ".join(kinds)


# ---- bash ----


def bash(table):
    lines = ["# SPDX-License-Identifier: BSD-2-Clause", "# bash completion for seep. " + MADE, "",
             "_seep_pids() {", "    local at",
             "    for at in /proc/[0-9]*; do", "        [ -O \"$at\" ] && echo \"${at#/proc/}\"", "    done", "}", "",
             "_seep() {", "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
             "    local command=${COMP_WORDS[1]} options='' valued='' i", "    COMPREPLY=()",
             "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
             "        mapfile -t COMPREPLY < <(compgen -W '%s --help --version' -- \"$word\")"
             % " ".join(command["name"] for command in table), "        return", "    fi",
             "    case $command in"]
    for command in table:
        options = options_of(command)
        valued = [o for o in options if o["kind"] != "flag"]
        words = ["--" + o["name"] for o in valued] + ["-" + o["letter"] for o in valued if o.get("letter")]
        lines += ["    %s)" % command["name"],
                  "        options='%s'" % " ".join("--" + option["name"] for option in options)]
        if words:
            lines.append("        valued=' %s '" % " ".join(words))
        lines.append("        case $before in")
        for option in valued:
            names = "--%s" % option["name"] + (" | -%s" % option["letter"] if option.get("letter") else "")
            if option.get("choices"):
                reply = "mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$word\")" % " ".join(option["choices"])
            elif takes_file(option):
                reply = "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")"
            else:
                reply = ":"
            lines += ["        %s)" % names, "            %s" % reply, "            return", "            ;;"]
        lines += ["        esac", "        ;;"]
    lines += ["    *) return ;;", "    esac",
              "    case $command in"]
    programs = [command["name"] for command in table if operand_of(command) == "program"]
    if programs:
        lines += ["    %s)" % " | ".join(programs),
                  "        # After the program all words are the program's own.",
                  "        for ((i = 2; i < COMP_CWORD; i++)); do",
                  "            case ${COMP_WORDS[i]} in",
                  "            --) i=$((i + 1)) && break ;;",
                  "            -*) case $valued in *\" ${COMP_WORDS[i]} \"*) i=$((i + 1)) ;; esac ;;",
                  "            *) break ;;", "            esac", "        done",
                  "        if [ \"$i\" -lt \"$COMP_CWORD\" ]; then",
                  "            mapfile -t COMPREPLY < <(compgen -f -- \"$word\")", "            return",
                  "        fi", "        ;;"]
    lines += ["    esac", "    case $word in",
              "    -*) mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\") ;;", "    *)",
              "        case $command in"]
    for command in table:
        reply = {"program": "compgen -c -- \"$word\"; compgen -f -- \"$word\"",
                 "command": "compgen -W '%s' -- \"$word\"" % " ".join(c["name"] for c in table),
                 "trace": "compgen -f -X '!*.seep' -- \"$word\"; compgen -d -- \"$word\"",
                 "pid": "compgen -W \"$(_seep_pids)\" -- \"$word\"",
                 "trace or pid": "compgen -f -X '!*.seep' -- \"$word\"; compgen -d -- \"$word\"; "
                                 "compgen -W \"$(_seep_pids)\" -- \"$word\""}.get(operand_of(command))
        if reply:
            lines += ["        %s) mapfile -t COMPREPLY < <(%s) ;;" % (command["name"], reply)]
    lines += ["        esac", "        ;;", "    esac", "}", "complete -o filenames -F _seep seep"]
    return "\n".join(lines) + "\n"


# ---- zsh ----


def zsh_quote(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh(table):
    lines = ["#compdef seep", "# SPDX-License-Identifier: BSD-2-Clause", "# zsh completion for seep. " + MADE, "",
             "_seep_traces() {", "    _files -g '*.seep'", "}", "",
             "_seep_traces_or_pids() {", "    _alternative 'traces:trace:_seep_traces' 'pids:process:_pids'", "}", "",
             "_seep_commands() {", "    local -a commands=("]
    lines += ["        '%s:%s'" % (command["name"], zsh_quote(command["summary"])) for command in table]
    lines += ["    )", "    _describe command commands", "}", "",
              "_seep() {", "    local curcontext=$curcontext state line", "    typeset -A opt_args",
              "    _arguments -C '(-h --help)'{-h,--help}'[list the commands]' "
              "'(-V --version)'{-V,--version}'[print the version]' '1:command:_seep_commands' '*::argument:->rest'",
              "    [[ $state == rest ]] || return", "    case $words[1] in"]
    for command in table:
        arguments = []
        for option in options_of(command):
            action = ""
            if option["kind"] != "flag":
                what = zsh_quote(option.get("value", option["kind"]))
                if option.get("choices"):
                    action = ":%s:(%s)" % (what, " ".join(option["choices"]))
                else:
                    action = ":%s:%s" % (what, "_files" if takes_file(option) else "")
            text = "[%s]%s" % (zsh_quote(option["help"]), action)
            if option.get("letter"):
                long, short = "--" + option["name"], "-" + option["letter"]
                equals = "=" if option["kind"] != "flag" else ""
                plus = "+" if option["kind"] != "flag" else ""
                arguments.append("'(%s %s)'{%s%s,%s%s}'%s'" % (short, long, short, plus, long, equals, text))
            else:
                arguments.append("'--%s%s%s'" % (option["name"], "=" if option["kind"] != "flag" else "", text))
        operand = {"program": "'(-)1:program:_command_names -e' '*::argument:_normal'",
                   "command": "'1:command:_seep_commands'", "trace": "'*:trace:_seep_traces'",
                   "pid": "'*:process:_pids'",
                   "trace or pid": "'*:trace or process:_seep_traces_or_pids'"}.get(operand_of(command))
        if operand:
            arguments.append(operand)
        lines += ["    %s)" % command["name"], "        _arguments -s \\",
                  " \\\n".join("            " + argument for argument in arguments), "        ;;"]
    lines += ["    esac", "}", "", "_seep \"$@\""]
    return "\n".join(lines) + "\n"


# ---- fish ----


def fish_quote(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def fish(table):
    names = " ".join(command["name"] for command in table)
    lines = ["# SPDX-License-Identifier: BSD-2-Clause", "# fish completion for seep. " + MADE, "",
             "complete -c seep -f",
             "complete -c seep -n __fish_use_subcommand -l help -s h -d 'List the commands'",
             "complete -c seep -n __fish_use_subcommand -l version -s V -d 'Print the version'"]
    for command in table:
        lines.append("complete -c seep -n __fish_use_subcommand -a %s -d '%s'"
                     % (command["name"], fish_quote(command["summary"])))
    for command in table:
        seen = "complete -c seep -n '__fish_seen_subcommand_from %s'" % command["name"]
        lines.append("")
        for option in options_of(command):
            line = seen + " -l " + option["name"]
            if option.get("letter"):
                line += " -s " + option["letter"]
            if option["kind"] != "flag":
                line += " -r"
            if option.get("choices"):
                line += " -a '%s'" % " ".join(option["choices"])
            elif takes_file(option):
                line += " -F"
            lines.append(line + " -d '%s'" % fish_quote(option["help"]))
        operand = {"program": "-a '(__fish_complete_subcommand)'", "command": "-a '%s'" % names, "trace": "-F",
                   "pid": "-a '(__fish_complete_pids)'",
                   "trace or pid": "-F -a '(__fish_complete_pids)'"}.get(operand_of(command))
        if operand:
            lines.append(seen + " " + operand)
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    dump = subprocess.run([sys.argv[1], "help", "--dump"], stdout=subprocess.PIPE, check=True, timeout=60)
    table = json.loads(dump.stdout)["commands"]
    for name, make in (("seep", bash), ("_seep", zsh), ("seep.fish", fish)):
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as file:
            file.write(make(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
