// SPDX-License-Identifier: BSD-2-Clause
//
// A small shop, for pages that are looked at: a catalogue that stays, a cache, sessions that grow, carts whose
// notes are lost, pages that are rendered and freed at once. `shop N` serves N requests,
// `shop N MICROSECONDS` with a pause after each.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct item {
    struct item *next;
    char *name;
    char *description;
    void *picture;
};
struct note {
    char text[200];
};
struct session {
    struct session *next;
    char *user;
    struct item *cart[8];
};

static struct item *catalogue;
static struct session *sessions;
static void *cache[64];
static volatile size_t sink;

NOINLINE static char *copy_text(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    strcpy(copy, text);
    return copy;
}

NOINLINE static char *describe(int number) {
    char text[400];
    memset(text, 'a' + number % 26, sizeof(text));
    text[120 + number % 250] = 0;
    return copy_text(text);
}

NOINLINE static void *load_picture(int number) {
    return calloc(1, 4096u + 512u * (unsigned)(number % 9));
}

NOINLINE static struct item *parse_item(int number) {
    struct item *item = calloc(1, sizeof(*item));
    char name[32];
    snprintf(name, sizeof(name), "item %d", number);
    item->name = copy_text(name);
    item->description = describe(number);
    if (number % 3 == 0)
        item->picture = load_picture(number);
    return item;
}

NOINLINE static void load_catalogue(int nr) {
    for (int i = 0; i < nr; i++) {
        struct item *item = parse_item(i);
        item->next = catalogue;
        catalogue = item;
    }
}

NOINLINE static struct session *open_session(int number) {
    struct session *session = calloc(1, sizeof(*session));
    char user[64];
    snprintf(user, sizeof(user), "user %d of the shop", number);
    session->user = copy_text(user);
    session->next = sessions;
    sessions = session;
    return session;
}

NOINLINE static void add_note(const char *text) {
    struct note *note = malloc(sizeof(*note));
    snprintf(note->text, sizeof(note->text), "%s", text);
    sink += (size_t)note->text[0];
}

NOINLINE static void add_to_cart(struct session *session, int number) {
    struct item *item = catalogue;
    for (int i = 0; item->next && i < number % 50; i++)
        item = item->next;
    session->cart[number % 8] = item;
    if (number % 7 == 0)
        add_note("deliver in the evening");
}

NOINLINE static void render_row(const struct item *item) {
    char *row = malloc(256);
    snprintf(row, 256, "<tr><td>%s", item->name);
    sink += strlen(row);
    free(row);
}

NOINLINE static void render_page(int number) {
    char *page = malloc(32768);
    page[0] = 0;
    int row = 0;
    for (struct item *item = catalogue; item && row < 20; item = item->next, row++)
        render_row(item);
    sink += (size_t)page[0];
    if (number % 64 < 16 && !cache[number % 64])
        cache[number % 64] = realloc(page, 2048);
    else
        free(page);
}

NOINLINE static void handle(int number) {
    struct session *session = number % 4 == 0 || !sessions ? open_session(number) : sessions;
    add_to_cart(session, number);
    render_page(number);
}

NOINLINE static void serve(int nr, unsigned pause_us) {
    for (int i = 0; i < nr; i++) {
        handle(i);
        if (pause_us)
            usleep(pause_us);
    }
}

int main(int argc, char **argv) {
    load_catalogue(300);
    serve(argc > 1 ? atoi(argv[1]) : 1000, argc > 2 ? (unsigned)atoi(argv[2]) : 0);
    return 0;
}
