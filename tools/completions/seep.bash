# SPDX-License-Identifier: BSD-2-Clause
# bash completion for seep. Made by tools/completions.py from the command table: change that, not this.

_seep_pids() {
    local at
    for at in /proc/[0-9]*; do
        [ -O "$at" ] && echo "${at#/proc/}"
    done
}

_seep() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local command=${COMP_WORDS[1]} options='' valued='' i
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'help --help --version' -- "$word")
        return
    fi
    case $command in
    help)
        options='--help'
        case $before in
        esac
        ;;
    *) return ;;
    esac
    case $command in
    esac
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
    *)
        case $command in
        help) mapfile -t COMPREPLY < <(compgen -W 'help' -- "$word") ;;
        esac
        ;;
    esac
}
complete -o filenames -F _seep seep
