// SPDX-License-Identifier: BSD-2-Clause
//
// Starts a program under ptrace, see held_program.h. It stops at each system call until it comes to its
// entry, where a breakpoint stands; should we be killed in these milliseconds, the kernel ends it too.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/elf_file.h"
#include "process/proc_fields.h"
#include "process/process_map.h"
#include "source/attach/held_program.h"
#include "source/attach/private_file.h"
#include "source/run/program.h"

#define BREAKPOINT             0xccL
#define LOADER_NAMES_BYTES_MIN 4096u  // static programs have some dozens; musl 15,704
#define DYNAMIC_BYTES_MAX      65536u // of more no loader is made

#define HAS_TRACER -1 // in place of an errno: the program is another tracer's already

static pid_t wait_for(pid_t pid, int *ret_status) {
    pid_t found;
    do
        found = waitpid(pid, ret_status, __WALL);
    while (found < 0 && errno == EINTR);
    return found;
}

static void run_child(const char *path, char *const *argv, const sigset_t *ignored, bool apart, int tell) {
    sigset_t none;
    for (int number = 1; number < SIGRTMIN; number++)
        if (sigismember(ignored, number) == 1)
            signal(number, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    bool is_apart = !apart || seep_private_enter();
    bool is_ours = is_apart && ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
    if (is_ours && raise(SIGSTOP) == 0)
        execv(path, argv);
    int why = is_apart && !is_ours ? HAS_TRACER : errno;
    ssize_t nr = write(tell, &why, sizeof(why));
    _exit(nr == sizeof(why) ? SEEP_EXIT_NOT_FOUND : SEEP_EXIT_NOT_EXECUTABLE);
}

static struct seep_error *system_error(const char *path) {
    return seep_error_system(errno, "%s: cannot be held at its start", path);
}

// A tracer that follows children has whatever we start.
static struct seep_error *tracer_error(const char *path) {
    long tracer = seep_status_number(getpid(), 0, "TracerPid:");
    struct seep_error *err =
        seep_error_create(SEEP_E_UNSUPPORTED, "%s: cannot be held at its start: another tracer has it", path);
    if (tracer <= 0)
        return seep_error_hint(err, "trace the running process instead: 'seep attach PID'");
    return seep_error_hint(err,
                           "process %ld traces seep and what seep starts: let it leave children alone "
                           "('strace' without -f), or trace the running process: 'seep attach PID'",
                           tracer);
}

// false: it has ended, and its pid may be another process's from now on.
static bool wait_for_stop(struct seep_held_program *program) {
    bool is_found = wait_for(program->pid, &program->wait_status) == program->pid;
    program->ended = !is_found || !WIFSTOPPED(program->wait_status);
    errno = is_found ? ESRCH : errno;
    return !program->ended;
}

// From stopped before its exec to stopped behind it.
static struct seep_error *pass_exec(struct seep_held_program *program, const char *path,
                                    const struct seep_held_program_visitor *visitor, void *context) {
    long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
    if (!wait_for_stop(program) || ptrace(PTRACE_SETOPTIONS, program->pid, NULL, options) != 0)
        return system_error(path);
    if (visitor->opens)
        visitor->opens(context, program->pid, path);
    if (ptrace(PTRACE_CONT, program->pid, NULL, NULL) != 0 || !wait_for_stop(program))
        return system_error(path);
    return NULL;
}

struct seep_error *seep_held_program_start(char *const *argv, const sigset_t *ignored,
                                           const struct seep_held_program_visitor *visitor, void *context,
                                           struct seep_held_program *ret_program, int *ret_status) {
    struct seep_program program;
    int tell[2], why = 0;
    struct seep_error *err = seep_program_find(argv[0], &program, ret_status);
    if (err)
        return err;
    *ret_status = 1;
    struct seep_held_program held = {.pid = -1};
    if (pipe2(tell, O_CLOEXEC) != 0) {
        err = system_error(argv[0]);
    } else {
        held.pid = fork();
        if (held.pid == 0)
            run_child(program.path, argv, ignored, visitor->opens != NULL, tell[1]);
        err = held.pid < 0 ? system_error(argv[0]) : NULL;
        close(tell[1]);
        if (!err)
            err = pass_exec(&held, program.path, visitor, context);
        if (read(tell[0], &why, sizeof(why)) == sizeof(why)) {
            seep_error_destroy(err);
            *ret_status = SEEP_EXIT_NOT_EXECUTABLE;
            err = why == HAS_TRACER ? tracer_error(program.path)
                                    : seep_program_exec_error(&program, why, ret_status);
        }
        close(tell[0]);
    }
    seep_program_deinit(&program);
    if (err)
        seep_held_program_abandon(&held);
    *ret_program = held;
    return err;
}

// A library that is executed itself is a loader, which gets the program as an argument. It has a soname,
// which programs lack, or, as musl's, the names of a whole libc; and it needs no loader.
static bool is_loader(const struct seep_elf_file *elf) {
    bool has_name = false, is_program = false;
    uint64_t names_bytes = 0;
    for (uint32_t i = 0; i < elf->nr_segments; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        Elf64_Dyn item = {.d_tag = DT_NULL};
        if (segment->p_type == PT_INTERP)
            return false;
        for (uint64_t off = 0; segment->p_type == PT_DYNAMIC; off += sizeof(item)) {
            if (off + sizeof(item) > SEEP_MIN(segment->p_filesz, (uint64_t)DYNAMIC_BYTES_MAX) ||
                !seep_elf_read(elf, segment->p_offset + off, &item, sizeof(item)) || item.d_tag == DT_NULL)
                break;
            has_name |= item.d_tag == DT_SONAME;
            is_program |= item.d_tag == DT_FLAGS_1 && item.d_un.d_val & DF_1_PIE;
            if (item.d_tag == DT_STRSZ)
                names_bytes = item.d_un.d_val;
        }
    }
    return elf->header.e_type == ET_DYN &&
           (has_name || (!is_program && names_bytes >= LOADER_NAMES_BYTES_MIN));
}

// Of an area that is mapped by now. 0: it is no ELF file, or its entry is not in the area.
static uint64_t entry_in(pid_t pid, const struct seep_code_area *area, bool *ret_is_loader) {
    struct seep_elf_file elf;
    uint64_t address, entry = 0;
    *ret_is_loader = false;
    int fd = seep_code_area_open(pid, area);
    if (fd < 0)
        return 0;
    struct seep_error *err = seep_elf_file_init(fd, area->path, &elf);
    if (!err) {
        *ret_is_loader = is_loader(&elf);
        if (elf.header.e_entry && seep_elf_address(&elf, area->file_off, &address))
            entry = area->start - address + elf.header.e_entry;
        seep_elf_file_deinit(&elf);
    }
    seep_error_destroy(err);
    close(fd);
    return entry >= area->start && entry < area->end ? entry : 0;
}

// The entry of the file that was executed, or, where that was a loader, of its program. 0: the program is not
// mapped yet. The loader maps it before all libraries.
static struct seep_error *find_entry(struct seep_held_program *program) {
    char name[64];
    uint64_t begun_rt = 0;
    snprintf(name, sizeof(name), "/proc/%d/auxv", (int)program->pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    Elf64_auxv_t item;
    while (fd >= 0 && read(fd, &item, sizeof(item)) == sizeof(item))
        if (item.a_type == AT_ENTRY)
            begun_rt = item.a_un.a_val;
    if (fd >= 0)
        close(fd);
    struct seep_process_map map;
    struct seep_error *err = seep_process_map_init(program->pid, &map);
    if (err)
        return err;
    const struct seep_code_area *first = NULL, *told = NULL;
    for (size_t i = 0; i < map.nr_areas; i++)
        if (begun_rt >= map.areas[i].start && begun_rt < map.areas[i].end)
            first = &map.areas[i];
    bool begins_loader = false, ignored;
    if (first)
        entry_in(program->pid, first, &begins_loader);
    program->entry_rt = begins_loader ? 0 : begun_rt;
    for (size_t i = 0; begins_loader && !told && i < map.nr_areas; i++)
        if (map.areas[i].inode &&
            (map.areas[i].inode != first->inode || map.areas[i].device != first->device))
            told = &map.areas[i];
    if (told)
        program->entry_rt = entry_in(program->pid, told, &ignored);
    seep_process_map_deinit(&map);
    return begun_rt ? NULL : seep_error_create(SEEP_E_NOT_FOUND, "its entry is not known");
}

static bool has_words_of_32_bits(pid_t pid) {
    char name[64];
    unsigned char ident[EI_NIDENT] = {0};
    snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    bool is_whole = fd >= 0 && read(fd, ident, sizeof(ident)) == sizeof(ident);
    if (fd >= 0)
        close(fd);
    return is_whole && memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

// As soon as the entry is known.
static struct seep_error *set_breakpoint(struct seep_held_program *program) {
    if (program->entry_rt)
        return NULL;
    if (has_words_of_32_bits(program->pid))
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "process %d is a 32-bit program", (int)program->pid),
            "'seep attach' traces 64-bit ones; 'seep run' traces both");
    struct seep_error *err = find_entry(program);
    if (err)
        return seep_error_prefix(err, "process %d: cannot be held at its start", (int)program->pid);
    if (!program->entry_rt)
        return NULL;
    errno = 0;
    program->entry_word = ptrace(PTRACE_PEEKTEXT, program->pid, program->entry_rt, NULL);
    if (errno == 0 && ptrace(PTRACE_POKETEXT, program->pid, program->entry_rt,
                             (program->entry_word & ~0xffL) | BREAKPOINT) == 0)
        return NULL;
    return seep_error_system(errno, "process %d: cannot be held at its start", (int)program->pid);
}

// At the breakpoint: takes it away and lets the program go on as if it had never been.
static bool release(struct seep_held_program *program, struct user_regs_struct *registers) {
    registers->rip = program->entry_rt;
    program->released_ns = seep_monotonic_ns();
    program->released = ptrace(PTRACE_POKETEXT, program->pid, program->entry_rt, program->entry_word) == 0 &&
                        ptrace(PTRACE_SETREGS, program->pid, NULL, registers) == 0 &&
                        ptrace(PTRACE_DETACH, program->pid, NULL, NULL) == 0;
    return program->released;
}

// The path that the program is about to open. The call has not begun where its result is not there yet.
static bool is_opening(const struct seep_held_program *program, const struct user_regs_struct *registers,
                       char *ret_path, size_t path_bytes) {
    if ((registers->orig_rax != SYS_openat && registers->orig_rax != SYS_open) ||
        registers->rax != (unsigned long long)-ENOSYS)
        return false;
    uint64_t at = registers->orig_rax == SYS_openat ? registers->rsi : registers->rdi;
    // Up to the end of its page, and where it is not complete then of the next.
    size_t nr = 0;
    while (nr < path_bytes) {
        size_t room = SEEP_MIN(path_bytes - nr, (size_t)(4096 - (at + nr) % 4096));
        struct iovec to = {ret_path + nr, room}, from = {(void *)(uintptr_t)(at + nr), room};
        if (process_vm_readv(program->pid, &to, 1, &from, 1, 0) != (ssize_t)room)
            return false;
        if (memchr(ret_path + nr, 0, room))
            return true;
        nr += room;
    }
    return false;
}

struct seep_error *seep_held_program_load(struct seep_held_program *program,
                                          const struct seep_held_program_visitor *visitor, void *context) {
    struct seep_error *err = visitor->mapped(context);
    if (!err)
        err = set_breakpoint(program);
    if (err)
        return err;
    long deliver = 0;
    for (;;) {
        struct user_regs_struct registers;
        if (ptrace(PTRACE_SYSCALL, program->pid, NULL, deliver) != 0 ||
            wait_for(program->pid, &program->wait_status) != program->pid)
            return seep_error_system(errno, "process %d", (int)program->pid);
        if (!WIFSTOPPED(program->wait_status)) {
            program->ended = true;
            return NULL;
        }
        int signal_number = WSTOPSIG(program->wait_status);
        deliver = 0;
        if (ptrace(PTRACE_GETREGS, program->pid, NULL, &registers) != 0)
            return seep_error_system(errno, "process %d", (int)program->pid);
        if (signal_number == SIGTRAP && program->entry_rt && registers.rip == program->entry_rt + 1) {
            err = visitor->mapped(context);
            if (!err && !release(program, &registers))
                err = seep_error_system(errno, "process %d: cannot be let go", (int)program->pid);
            return err;
        }
        // Both stops of the call come here; before it there is nothing new, which costs a look.
        if (signal_number == (SIGTRAP | 0x80)) {
            char path[PATH_MAX];
            if (visitor->opens && is_opening(program, &registers, path, sizeof(path)))
                visitor->opens(context, program->pid, path);
            if (registers.orig_rax == SYS_mmap && registers.rdx & PROT_EXEC)
                err = visitor->mapped(context);
            if (!err && registers.orig_rax == SYS_mmap && registers.rdx & PROT_EXEC)
                err = set_breakpoint(program);
            if (err)
                return err;
        } else if (signal_number != SIGTRAP) {
            deliver = signal_number;
        }
    }
}

void seep_held_program_abandon(struct seep_held_program *program) {
    if (program->released || program->ended || program->pid <= 0)
        return;
    kill(program->pid, SIGKILL);
    wait_for(program->pid, &program->wait_status);
    program->ended = true;
}
