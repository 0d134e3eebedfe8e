# SPDX-License-Identifier: BSD-2-Clause
"""Functions of libc that allocate for themselves or for the program: what they do is the same, what they take is theirs."""
import model

from . import action

CALLS = [
    '{ char *text = NULL; CHECK(asprintf(&text, "%d %s", 5, letters()) == 2002); free(text); }',
    '{ char *text = NULL; size_t size = 0; FILE *file = open_memstream(&text, &size); fputs(letters(), file); '
    'CHECK(fclose(file) == 0 && size == 2000); free(text); }',
    '{ static char lines[] = "one\\ntwo\\nthree"; FILE *file = fmemopen(lines, sizeof(lines) - 1, "r"); char *line = NULL; '
    'size_t room = 0; int nr = 0; while (getline(&line, &room, file) > 0) nr++; CHECK(nr == 3); free(line); fclose(file); }',
    '{ regex_t regex; CHECK(regcomp(&regex, "(a|b)*c[d-f]+", REG_EXTENDED) == 0); CHECK(regexec(&regex, "xxabcde", 0, NULL, 0) == 0); '
    'regfree(&regex); }',
    '{ glob_t found; CHECK(glob("/proc/self/*", 0, NULL, &found) == 0 && found.gl_pathc > 10); globfree(&found); }',
    '{ struct dirent **names = NULL; int nr = scandir("/proc/self", &names, NULL, alphasort); CHECK(nr > 10); '
    'while (nr > 0) free(names[--nr]); free(names); }',
    '{ char *path = realpath("/proc/../proc/./self/..", NULL); CHECK(path && strcmp(path, "/proc") == 0); free(path); }',
    '{ char *path = getcwd(NULL, 0); CHECK(path); free(path); }',
    '{ locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0); CHECK(locale); freelocale(locale); }',
    '{ void *root = NULL; static int keys[50]; for (int i = 0; i < 50; i++) { keys[i] = i * 7 % 50; '
    'CHECK(tsearch(&keys[i], &root, compare_numbers)); } tdestroy(root, leave_alone); }',
    '{ static int many[3000]; for (int i = 0; i < 3000; i++) many[i] = i * 7 % 3000; qsort(many, 3000, sizeof(int), compare_numbers); '
    'CHECK(many[0] == 0 && many[2999] == 2999); }',
    '{ FILE *file = tmpfile(); CHECK(file); setvbuf(file, NULL, _IOFBF, 10000); fputs(letters(), file); rewind(file); '
    'CHECK(fgetc(file) == \'x\'); fclose(file); }',
    '{ FILE *file = fopen("/dev/null", "w"); CHECK(fprintf(file, "%*d %.3000f", 3000, 7, 1.5) > 6000); fclose(file); }',
    '{ iconv_t convert = iconv_open("UTF-16", "UTF-8"); if (convert != (iconv_t)-1) iconv_close(convert); }',
    '{ CHECK(dlsym(RTLD_DEFAULT, "no_such_function_anywhere") == NULL && dlerror() != NULL); }',
    '{ struct hsearch_data table; memset(&table, 0, sizeof(table)); CHECK(hcreate_r(100, &table)); hdestroy_r(&table); }',
    '{ DIR *folder = opendir("/proc"); CHECK(folder && readdir(folder)); closedir(folder); }',
    '{ struct mallinfo2 before = mallinfo2(); CHECK(before.uordblks <= before.arena); }',
    '{ FILE *file = fopen("/dev/null", "w"); CHECK(malloc_info(0, file) == 0); fclose(file); }',
    '{ struct addrinfo *found = NULL, wish; memset(&wish, 0, sizeof(wish)); wish.ai_flags = AI_NUMERICHOST; '
    'CHECK(getaddrinfo("127.0.0.1", "80", &wish, &found) == 0); freeaddrinfo(found); }',
    '{ void *places[50]; CHECK(backtrace(places, 50) > 1); }',
    '{ wordexp_t words; CHECK(wordexp("a b c", &words, WRDE_NOCMD) == 0 && words.we_wordc == 3); wordfree(&words); }',
    '{ char *copy = strdup("TZ=UTC"); putenv(copy); tzset(); unsetenv("TZ"); free(copy); }',
    '{ time_t now = time(NULL); struct tm parts; CHECK(localtime_r(&now, &parts)); }',
    '{ wchar_t *wide = wcsdup(L"wide"); CHECK(wide); free(wide); }',
    '{ int file = memfd_create("one", MFD_CLOEXEC); CHECK(file >= 0); close(file); }',
    '{ char before[16]; CHECK(prctl(PR_GET_NAME, before) == 0 && prctl(PR_SET_NAME, "other") == 0); free(strdup(letters())); '
    'CHECK(prctl(PR_SET_NAME, before) == 0); }',
    '{ char *text = NULL; size_t room = 0; FILE *file = fmemopen((void *)"a;b;c", 5, "r"); int nr = 0; while (getdelim(&text, &room, \';\', file) > 0) nr++; '
    'CHECK(nr == 3); free(text); fclose(file); }',
    '{ wchar_t *text = NULL; size_t size = 0; FILE *file = open_wmemstream(&text, &size); fputws(L"wide words", file); '
    'CHECK(fclose(file) == 0 && size == 10); free(text); }',
    '{ regex_t regex; CHECK(regcomp(&regex, "a(b", REG_EXTENDED) != 0); }',
    '{ posix_spawnattr_t how; posix_spawn_file_actions_t actions; CHECK(posix_spawnattr_init(&how) == 0 && posix_spawn_file_actions_init(&actions) == 0); '
    'CHECK(posix_spawn_file_actions_addopen(&actions, 9, "/dev/null", 0, 0) == 0 && posix_spawn_file_actions_addclose(&actions, 9) == 0); '
    'CHECK(posix_spawn_file_actions_destroy(&actions) == 0 && posix_spawnattr_destroy(&how) == 0); }',
    '{ int self = (int)syscall(SYS_pidfd_open, getpid(), 0); CHECK(self >= 0); close(self); }',
]


@action(weight=4, once=True)
def of_the_c_library(p):
    """Several of them, one after the other."""
    if not p.life.follows:  # they open files
        return
    name = p.name('serves')
    p.leaf(name, p.random.sample(CALLS, p.random.randint(1, 5)))
    p.life.old_words = True


@action(weight=2)
def by_names_of_the_library(p):
    """__libc_malloc and its kin, which some programs call to go past interposers."""
    name, size = p.name('past'), p.size(16)
    via, text = p.random.choice([('malloc', f'__libc_malloc({size})'), ('calloc', f'__libc_calloc(hide({size}), 1)'),
                                 ('memalign', f'__libc_memalign(64, {size})')])
    site, again = p.site(via, name), p.site('realloc', name)
    release = p.random.choice(['__libc_free', 'free'])
    moved = p.random.random() < 0.4
    lose = p.random.random() < 0.3
    p.leaf(name, [f'void *block = clear({text}, {size}); {p.mark(site)}',
                  f'block = clear(__libc_realloc(block, {size + 100}), {size + 100}); {p.mark(again)}' if moved else '',
                  'KEEP(block);' if lose else f'{release}(block);'])
    if moved:
        p.pairs(site, size, 1, temporary=True)
        site, size = again, size + 100
    if lose:
        p.allocate(site, size, 1, model.lost())
    else:
        p.pairs(site, size, 1)


@action(weight=1, once=True)
def timer_with_threads(p):
    """Each expiry is a thread that libc starts; it allocates and frees."""
    if not p.life.follows:
        return
    name, timer, size = p.name('expired'), p.name('timer'), p.size()
    make = p.maker(size)
    site = model.Site(p.batch.next_number(), make.via, [name])
    site.tail = True
    p.batch.sites.append(site)
    p.declare(f'static sem_t done_{name};')
    p.define(f'void {name}(union sigval unused)', ['(void)unused;', f'void *block = clear({make.text}, {size}); {p.mark(site)}',
                                                   f'{make.release}(block);', f'sem_post(&done_{name});'])
    p.leaf(timer, [f'sem_init(&done_{name}, 0, 0);', 'struct sigevent event;', 'timer_t timer;', 'memset(&event, 0, sizeof(event));',
                   'event.sigev_notify = SIGEV_THREAD;', f'event.sigev_notify_function = {name};',
                   'CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);',
                   'struct itimerspec soon = {{0, 0}, {0, 100000}};', 'CHECK(timer_settime(timer, 0, &soon, NULL) == 0);',
                   f'wait_for(&done_{name});', 'CHECK(timer_delete(timer) == 0);'])
    p.life.timer_thread = True
    p.life.old_words = p.life.dangling = True  # that thread keeps the address of the timer that was deleted
    p.pairs(site, size, 1, temporary=None)
