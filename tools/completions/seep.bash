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
        mapfile -t COMPREPLY < <(compgen -W 'run attach kernel snap report mark diff growth scan whois check info help --help --version' -- "$word")
        return
    fi
    case $command in
    run)
        options='--output --report --quiet --error-exitcode --scan --depth --age --free-stacks --sample --children --allocator --interval --count --snap-at --top --sort --by --blocks --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --limit --pid --program --rss --full-paths --no-demangle --json --csv --gen-suppressions --suppressions --no-default-suppressions --help'
        valued=' --output --report --error-exitcode --scan --depth --sample --children --allocator --interval --count --snap-at --top --sort --by --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --limit --pid --program --gen-suppressions --suppressions -o -T -s -b -z -Z '
        case $before in
        --output | -o)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --report)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --error-exitcode)
            :
            return
            ;;
        --scan)
            mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word")
            return
            ;;
        --depth)
            :
            return
            ;;
        --sample)
            :
            return
            ;;
        --children)
            mapfile -t COMPREPLY < <(compgen -W 'follow ignore' -- "$word")
            return
            ;;
        --allocator)
            :
            return
            ;;
        --interval)
            :
            return
            ;;
        --count)
            :
            return
            ;;
        --snap-at)
            :
            return
            ;;
        --top | -T)
            :
            return
            ;;
        --sort | -s)
            mapfile -t COMPREPLY < <(compgen -W 'live leaked allocations bytes peak temporary size blocks age exit growth' -- "$word")
            return
            ;;
        --by | -b)
            mapfile -t COMPREPLY < <(compgen -W 'site function file line module thread size process' -- "$word")
            return
            ;;
        --older)
            :
            return
            ;;
        --since)
            :
            return
            ;;
        --until)
            :
            return
            ;;
        --ignore-last)
            :
            return
            ;;
        --min-size | -z)
            :
            return
            ;;
        --max-size | -Z)
            :
            return
            ;;
        --function)
            :
            return
            ;;
        --file)
            :
            return
            ;;
        --module)
            :
            return
            ;;
        --thread)
            :
            return
            ;;
        --kind)
            :
            return
            ;;
        --limit)
            :
            return
            ;;
        --pid)
            :
            return
            ;;
        --program)
            :
            return
            ;;
        --gen-suppressions)
            mapfile -t COMPREPLY < <(compgen -W 'valgrind lsan' -- "$word")
            return
            ;;
        --suppressions)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        esac
        ;;
    attach)
        options='--pid --command --cgroup --all --top --blocks --older --older-ms --combined-only --trace --sort --min-size --max-size --sample-rate --obj --symbols-prefix --wa-missing-free --faults --scan --backend --source --children --buffer --save --json --full-paths --no-demangle --help'
        valued=' --pid --command --cgroup --top --older --older-ms --sort --min-size --max-size --sample-rate --obj --symbols-prefix --backend --source --children --buffer --save -p -c -T -o -z -Z -s -O -S '
        case $before in
        --pid | -p)
            :
            return
            ;;
        --command | -c)
            :
            return
            ;;
        --cgroup)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --top | -T)
            :
            return
            ;;
        --older)
            :
            return
            ;;
        --older-ms | -o)
            :
            return
            ;;
        --sort)
            mapfile -t COMPREPLY < <(compgen -W 'size count' -- "$word")
            return
            ;;
        --min-size | -z)
            :
            return
            ;;
        --max-size | -Z)
            :
            return
            ;;
        --sample-rate | -s)
            :
            return
            ;;
        --obj | -O)
            :
            return
            ;;
        --symbols-prefix | -S)
            :
            return
            ;;
        --backend)
            mapfile -t COMPREPLY < <(compgen -W 'auto bpf' -- "$word")
            return
            ;;
        --source)
            mapfile -t COMPREPLY < <(compgen -W 'auto functions otel' -- "$word")
            return
            ;;
        --children)
            mapfile -t COMPREPLY < <(compgen -W 'follow ignore' -- "$word")
            return
            ;;
        --buffer)
            :
            return
            ;;
        --save)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        esac
        ;;
    kernel)
        options='--top --blocks --older --older-ms --sort --min-size --max-size --sample-rate --combined-only --percpu --vmalloc --wa-missing-free --max-blocks --save --json --help'
        valued=' --top --older --older-ms --sort --min-size --max-size --sample-rate --max-blocks --save -T -o -z -Z -s '
        case $before in
        --top | -T)
            :
            return
            ;;
        --older)
            :
            return
            ;;
        --older-ms | -o)
            :
            return
            ;;
        --sort)
            mapfile -t COMPREPLY < <(compgen -W 'size count' -- "$word")
            return
            ;;
        --min-size | -z)
            :
            return
            ;;
        --max-size | -Z)
            :
            return
            ;;
        --sample-rate | -s)
            :
            return
            ;;
        --max-blocks)
            :
            return
            ;;
        --save)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        esac
        ;;
    snap)
        options='--output --help'
        valued=' --output -o '
        case $before in
        --output | -o)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        esac
        ;;
    report)
        options='--top --sort --by --blocks --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --limit --pid --program --rss --full-paths --no-demangle --json --csv --gen-suppressions --suppressions --no-default-suppressions --help'
        valued=' --top --sort --by --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --limit --pid --program --gen-suppressions --suppressions -T -s -b -z -Z '
        case $before in
        --top | -T)
            :
            return
            ;;
        --sort | -s)
            mapfile -t COMPREPLY < <(compgen -W 'live leaked allocations bytes peak temporary size blocks age exit growth' -- "$word")
            return
            ;;
        --by | -b)
            mapfile -t COMPREPLY < <(compgen -W 'site function file line module thread size process' -- "$word")
            return
            ;;
        --older)
            :
            return
            ;;
        --since)
            :
            return
            ;;
        --until)
            :
            return
            ;;
        --ignore-last)
            :
            return
            ;;
        --min-size | -z)
            :
            return
            ;;
        --max-size | -Z)
            :
            return
            ;;
        --function)
            :
            return
            ;;
        --file)
            :
            return
            ;;
        --module)
            :
            return
            ;;
        --thread)
            :
            return
            ;;
        --kind)
            :
            return
            ;;
        --limit)
            :
            return
            ;;
        --pid)
            :
            return
            ;;
        --program)
            :
            return
            ;;
        --gen-suppressions)
            mapfile -t COMPREPLY < <(compgen -W 'valgrind lsan' -- "$word")
            return
            ;;
        --suppressions)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        esac
        ;;
    mark)
        options='--help'
        case $before in
        esac
        ;;
    diff)
        options='--error-exitcode --top --sort --by --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --program --full-paths --no-demangle --json --csv --help'
        valued=' --error-exitcode --top --sort --by --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --program -T -s -b -z -Z '
        case $before in
        --error-exitcode)
            :
            return
            ;;
        --top | -T)
            :
            return
            ;;
        --sort | -s)
            mapfile -t COMPREPLY < <(compgen -W 'live allocations bytes temporary' -- "$word")
            return
            ;;
        --by | -b)
            mapfile -t COMPREPLY < <(compgen -W 'site function file line module thread size process' -- "$word")
            return
            ;;
        --older)
            :
            return
            ;;
        --since)
            :
            return
            ;;
        --until)
            :
            return
            ;;
        --ignore-last)
            :
            return
            ;;
        --min-size | -z)
            :
            return
            ;;
        --max-size | -Z)
            :
            return
            ;;
        --function)
            :
            return
            ;;
        --file)
            :
            return
            ;;
        --module)
            :
            return
            ;;
        --thread)
            :
            return
            ;;
        --kind)
            :
            return
            ;;
        --program)
            :
            return
            ;;
        esac
        ;;
    growth)
        options='--interval --count --save --error-exitcode --top --sort --by --blocks --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --limit --pid --program --rss --full-paths --no-demangle --json --csv --gen-suppressions --suppressions --no-default-suppressions --help'
        valued=' --interval --count --save --error-exitcode --top --sort --by --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --limit --pid --program --gen-suppressions --suppressions -T -s -b -z -Z '
        case $before in
        --interval)
            :
            return
            ;;
        --count)
            :
            return
            ;;
        --save)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --error-exitcode)
            :
            return
            ;;
        --top | -T)
            :
            return
            ;;
        --sort | -s)
            mapfile -t COMPREPLY < <(compgen -W 'live leaked allocations bytes peak temporary size blocks age exit growth' -- "$word")
            return
            ;;
        --by | -b)
            mapfile -t COMPREPLY < <(compgen -W 'site function file line module thread size process' -- "$word")
            return
            ;;
        --older)
            :
            return
            ;;
        --since)
            :
            return
            ;;
        --until)
            :
            return
            ;;
        --ignore-last)
            :
            return
            ;;
        --min-size | -z)
            :
            return
            ;;
        --max-size | -Z)
            :
            return
            ;;
        --function)
            :
            return
            ;;
        --file)
            :
            return
            ;;
        --module)
            :
            return
            ;;
        --thread)
            :
            return
            ;;
        --kind)
            :
            return
            ;;
        --limit)
            :
            return
            ;;
        --pid)
            :
            return
            ;;
        --program)
            :
            return
            ;;
        --gen-suppressions)
            mapfile -t COMPREPLY < <(compgen -W 'valgrind lsan' -- "$word")
            return
            ;;
        --suppressions)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        esac
        ;;
    scan)
        options='--roots --unaligned --cow --output --trace --top --sort --by --blocks --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --limit --pid --program --rss --full-paths --no-demangle --json --csv --gen-suppressions --suppressions --no-default-suppressions --help'
        valued=' --roots --output --trace --top --sort --by --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --limit --pid --program --gen-suppressions --suppressions -o -T -s -b -z -Z '
        case $before in
        --roots)
            mapfile -t COMPREPLY < <(compgen -W 'all lsan' -- "$word")
            return
            ;;
        --output | -o)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --trace)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --top | -T)
            :
            return
            ;;
        --sort | -s)
            mapfile -t COMPREPLY < <(compgen -W 'live leaked allocations bytes peak temporary size blocks age exit growth' -- "$word")
            return
            ;;
        --by | -b)
            mapfile -t COMPREPLY < <(compgen -W 'site function file line module thread size process' -- "$word")
            return
            ;;
        --older)
            :
            return
            ;;
        --since)
            :
            return
            ;;
        --until)
            :
            return
            ;;
        --ignore-last)
            :
            return
            ;;
        --min-size | -z)
            :
            return
            ;;
        --max-size | -Z)
            :
            return
            ;;
        --function)
            :
            return
            ;;
        --file)
            :
            return
            ;;
        --module)
            :
            return
            ;;
        --thread)
            :
            return
            ;;
        --kind)
            :
            return
            ;;
        --limit)
            :
            return
            ;;
        --pid)
            :
            return
            ;;
        --program)
            :
            return
            ;;
        --gen-suppressions)
            mapfile -t COMPREPLY < <(compgen -W 'valgrind lsan' -- "$word")
            return
            ;;
        --suppressions)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        esac
        ;;
    whois)
        options='--top --no-demangle --json --help'
        valued=' --top -T '
        case $before in
        --top | -T)
            :
            return
            ;;
        esac
        ;;
    check)
        options='--max-leaked --max-peak --max-allocations --baseline --update-baseline --junit --sarif --github --suppressions --no-default-suppressions --output --report --quiet --error-exitcode --scan --depth --age --free-stacks --sample --children --allocator --interval --count --snap-at --top --sort --by --blocks --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --limit --pid --program --rss --full-paths --no-demangle --json --csv --gen-suppressions --help'
        valued=' --max-leaked --max-peak --max-allocations --baseline --junit --sarif --suppressions --output --report --error-exitcode --scan --depth --sample --children --allocator --interval --count --snap-at --top --sort --by --older --since --until --ignore-last --min-size --max-size --function --file --module --thread --kind --limit --pid --program --gen-suppressions -o -T -s -b -z -Z '
        case $before in
        --max-leaked)
            :
            return
            ;;
        --max-peak)
            :
            return
            ;;
        --max-allocations)
            :
            return
            ;;
        --baseline)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --junit)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --sarif)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --suppressions)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --output | -o)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --report)
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
            ;;
        --error-exitcode)
            :
            return
            ;;
        --scan)
            mapfile -t COMPREPLY < <(compgen -W 'yes no' -- "$word")
            return
            ;;
        --depth)
            :
            return
            ;;
        --sample)
            :
            return
            ;;
        --children)
            mapfile -t COMPREPLY < <(compgen -W 'follow ignore' -- "$word")
            return
            ;;
        --allocator)
            :
            return
            ;;
        --interval)
            :
            return
            ;;
        --count)
            :
            return
            ;;
        --snap-at)
            :
            return
            ;;
        --top | -T)
            :
            return
            ;;
        --sort | -s)
            mapfile -t COMPREPLY < <(compgen -W 'live leaked allocations bytes peak temporary size blocks age exit growth' -- "$word")
            return
            ;;
        --by | -b)
            mapfile -t COMPREPLY < <(compgen -W 'site function file line module thread size process' -- "$word")
            return
            ;;
        --older)
            :
            return
            ;;
        --since)
            :
            return
            ;;
        --until)
            :
            return
            ;;
        --ignore-last)
            :
            return
            ;;
        --min-size | -z)
            :
            return
            ;;
        --max-size | -Z)
            :
            return
            ;;
        --function)
            :
            return
            ;;
        --file)
            :
            return
            ;;
        --module)
            :
            return
            ;;
        --thread)
            :
            return
            ;;
        --kind)
            :
            return
            ;;
        --limit)
            :
            return
            ;;
        --pid)
            :
            return
            ;;
        --program)
            :
            return
            ;;
        --gen-suppressions)
            mapfile -t COMPREPLY < <(compgen -W 'valgrind lsan' -- "$word")
            return
            ;;
        esac
        ;;
    info)
        options='--json --help'
        case $before in
        esac
        ;;
    help)
        options='--help'
        case $before in
        esac
        ;;
    *) return ;;
    esac
    case $command in
    run | attach | check)
        # After the program all words are the program's own.
        for ((i = 2; i < COMP_CWORD; i++)); do
            case ${COMP_WORDS[i]} in
            --) i=$((i + 1)) && break ;;
            -*) case $valued in *" ${COMP_WORDS[i]} "*) i=$((i + 1)) ;; esac ;;
            *) break ;;
            esac
        done
        if [ "$i" -lt "$COMP_CWORD" ]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
        fi
        ;;
    esac
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
    *)
        case $command in
        run) mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word") ;;
        attach) mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word") ;;
        snap) mapfile -t COMPREPLY < <(compgen -W "$(_seep_pids)" -- "$word") ;;
        report) mapfile -t COMPREPLY < <(compgen -f -X '!*.seep' -- "$word"; compgen -d -- "$word"; compgen -W "$(_seep_pids)" -- "$word") ;;
        mark) mapfile -t COMPREPLY < <(compgen -W "$(_seep_pids)" -- "$word") ;;
        growth) mapfile -t COMPREPLY < <(compgen -f -X '!*.seep' -- "$word"; compgen -d -- "$word"; compgen -W "$(_seep_pids)" -- "$word") ;;
        scan) mapfile -t COMPREPLY < <(compgen -f -X '!*.seep' -- "$word"; compgen -d -- "$word"; compgen -W "$(_seep_pids)" -- "$word") ;;
        whois) mapfile -t COMPREPLY < <(compgen -f -X '!*.seep' -- "$word"; compgen -d -- "$word"; compgen -W "$(_seep_pids)" -- "$word") ;;
        check) mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word") ;;
        help) mapfile -t COMPREPLY < <(compgen -W 'run attach kernel snap report mark diff growth scan whois check info help' -- "$word") ;;
        esac
        ;;
    esac
}
complete -o filenames -F _seep seep
