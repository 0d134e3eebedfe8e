# SPDX-License-Identifier: BSD-2-Clause
# fish completion for seep. Made by tools/completions.py from the command table: change that, not this.

complete -c seep -f
complete -c seep -n __fish_use_subcommand -l help -s h -d 'List the commands'
complete -c seep -n __fish_use_subcommand -l version -s V -d 'Print the version'
complete -c seep -n __fish_use_subcommand -a help -d 'what the commands do'

complete -c seep -n '__fish_seen_subcommand_from help' -l help -s h -d 'what the command does, with examples'
complete -c seep -n '__fish_seen_subcommand_from help' -a 'help'
