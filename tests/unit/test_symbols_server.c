// SPDX-License-Identifier: BSD-2-Clause
//
// Debug information from a debuginfod server on this machine: one that serves, one that knows
// nothing, one that takes connections and never answers.
// Arguments: the directory of the programs.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/reference.h"

static const char *programs;

struct server {
    pid_t pid;
    volatile unsigned *nr_connections; // shared with the server's process
    char cache[64];
};

struct served {
    const char *id;   // in hexadecimal
    const char *file; // of the programs; NULL: nothing is served
    bool never_answers;
};

static void answer(int connection, const struct served *served) {
    char request[8192];
    size_t used = 0;
    while (used < sizeof(request) - 1) {
        ssize_t got = read(connection, request + used, sizeof(request) - 1 - used);
        if (got <= 0)
            return;
        used += (size_t)got;
        request[used] = '\0';
        if (strstr(request, "\r\n\r\n"))
            break;
    }
    char wanted[256], path[4096];
    snprintf(wanted, sizeof(wanted), "GET /buildid/%s/debuginfo ", served->id);
    snprintf(path, sizeof(path), "%s/%s", programs, served->file ? served->file : "");
    FILE *file = served->file && !strncmp(request, wanted, strlen(wanted)) ? fopen(path, "rb") : NULL;
    struct stat status;
    if (!file || fstat(fileno(file), &status) < 0) {
        dprintf(connection, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return;
    }
    dprintf(connection,
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: %lld\r\n"
            "Connection: close\r\n\r\n",
            (long long)status.st_size);
    char buffer[65536];
    size_t got;
    while ((got = fread(buffer, 1, sizeof(buffer), file)) > 0)
        if (write(connection, buffer, got) != (ssize_t)got)
            break;
    fclose(file);
}

static void serve(int listener, const struct served *served, volatile unsigned *nr_connections) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        if (connection < 0)
            continue;
        ++*nr_connections;
        if (served->never_answers)
            continue; // kept open
        answer(connection, served);
        close(connection);
    }
}

static void start(struct server *server, const struct served *served) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(listener, 16), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    server->nr_connections = shared;
    server->pid = fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0)
        serve(listener, served, server->nr_connections);
    close(listener);
    strcpy(server->cache, "/tmp/seep-test-XXXXXX");
    assert_non_null(mkdtemp(server->cache));
    char *url = test_format("http://127.0.0.1:%u/", ntohs(address.sin_port));
    setenv("DEBUGINFOD_URLS", url, 1);
    setenv("DEBUGINFOD_CACHE_PATH", server->cache, 1);
    setenv("no_proxy", "127.0.0.1", 1);
    free(url);
}

static void stop(struct server *server) {
    assert_int_equal(kill(server->pid, SIGKILL), 0);
    assert_int_equal(waitpid(server->pid, NULL, 0), server->pid);
    munmap((void *)server->nr_connections, 4096);
    char *command = test_format("rm -r '%s'", server->cache);
    assert_int_equal(system(command), 0);
    free(command);
    unsetenv("DEBUGINFOD_URLS");
}

static struct seep_symbols *open_symbols(unsigned timeout_s, bool off) {
    struct seep_symbols_options options = {.debuginfod_timeout_s = timeout_s, .no_debuginfod = off};
    struct seep_symbols *symbols;
    check_no_error(seep_symbols_create(&options, &symbols));
    return symbols;
}

// Looks hidden_two of the stripped program up. Returns the quality that was found.
static enum seep_symbols_quality look_up(struct seep_symbols *symbols, const char *name) {
    char *path = test_format("%s/%s", programs, name),
         *known = test_format("%s/server/%s.debug", programs, name);
    unsigned module;
    check_no_error(seep_symbols_module(symbols, path, NULL, 0, &module));
    const struct seep_symbol *symbol;
    check_no_error(
        seep_symbols_resolve(symbols, module, reference_symbol("", known, "hidden_two"), true, &symbol));
    enum seep_symbols_quality quality = seep_symbols_quality(symbols, module);
    if (quality == SEEP_SYMBOLS_DEBUG) {
        assert_string_equal(symbol->frames[symbol->nr_frames - 1].function, "hidden_two");
        assert_non_null(strstr(symbol->frames[0].file, "/inlined.c"));
    } else {
        assert_null(symbol->frames[0].function);
    }
    free(path);
    free(known);
    return quality;
}

static void skip_without_client(void) {
    void *client = dlopen("libdebuginfod.so.1", RTLD_LAZY);
    if (client)
        return;
    print_message("skipped: %s\n", dlerror());
    skip();
}

static const struct served one = {.id = "3322334455667788990011223344556677889900",
                                  .file = "server/s_server.debug"};

static void test_served(void **state) {
    skip_without_client();
    struct server server;
    start(&server, &one);
    struct seep_symbols *symbols = open_symbols(60, false);
    assert_int_equal(look_up(symbols, "s_server"), SEEP_SYMBOLS_DEBUG);
    assert_true(*server.nr_connections >= 1);
    // Another build-id: the server has nothing, and the rest goes on.
    assert_int_equal(look_up(symbols, "s_server2"), SEEP_SYMBOLS_NONE);
    seep_symbols_destroy(symbols);

    // What was fetched once is in the client's cache.
    unsigned asked = *server.nr_connections;
    symbols = open_symbols(60, false);
    assert_int_equal(look_up(symbols, "s_server"), SEEP_SYMBOLS_DEBUG);
    assert_int_equal(*server.nr_connections, asked);
    seep_symbols_destroy(symbols);
    stop(&server);
}

// A file under the right id that is of another build must not be used.
static void test_wrong_file(void **state) {
    skip_without_client();
    struct server server;
    struct served wrong = {.id = one.id, .file = "server/s_server2.debug"};
    start(&server, &wrong);
    struct seep_symbols *symbols = open_symbols(60, false);
    assert_int_equal(look_up(symbols, "s_server"), SEEP_SYMBOLS_NONE);
    assert_true(*server.nr_connections >= 1);
    seep_symbols_destroy(symbols);
    stop(&server);
}

static void test_black_hole(void **state) {
    skip_without_client();
    struct server server;
    struct served hole = {.id = "", .never_answers = true};
    start(&server, &hole);
    struct seep_symbols *symbols = open_symbols(1, false);
    assert_int_equal(look_up(symbols, "s_server"), SEEP_SYMBOLS_NONE);
    unsigned asked = *server.nr_connections;
    assert_true(asked >= 1);
    assert_int_equal(look_up(symbols, "s_server2"), SEEP_SYMBOLS_NONE);
    assert_int_equal(look_up(symbols, "s_server"), SEEP_SYMBOLS_NONE);
    assert_int_equal(*server.nr_connections, asked);
    seep_symbols_destroy(symbols);
    stop(&server);
}

static void test_not_asked(void **state) {
    struct server server;
    start(&server, &one);
    struct seep_symbols *symbols = open_symbols(60, true);
    assert_int_equal(look_up(symbols, "s_server"), SEEP_SYMBOLS_NONE);
    seep_symbols_destroy(symbols);
    // What has its debug information at hand is not asked for either.
    symbols = open_symbols(60, false);
    char *path = test_format("%s/c_dwarf5", programs);
    unsigned module;
    check_no_error(seep_symbols_module(symbols, path, NULL, 0, &module));
    const struct seep_symbol *symbol;
    check_no_error(seep_symbols_resolve(symbols, module, 0x1100, true, &symbol));
    assert_int_equal(seep_symbols_quality(symbols, module), SEEP_SYMBOLS_DEBUG);
    seep_symbols_destroy(symbols);
    assert_int_equal(*server.nr_connections, 0);
    free(path);
    stop(&server);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY_OF_PROGRAMS\n", argv[0]);
        return 2;
    }
    programs = realpath(argv[1], NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_asked), // first: the client is not loaded yet
        cmocka_unit_test(test_served),
        cmocka_unit_test(test_wrong_file),
        cmocka_unit_test(test_black_hole),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free((char *)programs);
    return failed;
}
