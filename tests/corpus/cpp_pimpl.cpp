// SPDX-License-Identifier: BSD-2-Clause
// A pointer to the implementation, as libraries hide it, with a back pointer to its owner.
#include "corpus.h"
#include <string>

class Window {
  public:
    explicit Window(const char *title);

  private:
    struct Implementation;
    Implementation *d;
};

struct Window::Implementation {
    Window *owner;
    std::string title;
};

Window::Window(const char *title) : d(new Implementation{this, title}) {
}

Window *window;

static void held() {
    window = new Window("a title that does not fit inside"); // EXPECT: 3 reachable
}

static void dropped() {
    KEEP(new Window("another title that does not fit")); // EXPECT: 1 lost, 2 indirect
    // LSAN: 3 indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
}

static void owner_on_stack() {
    Window local("short"); // EXPECT: lost
    KEEP(&local);
}

int main() {
    play(held);
    play(dropped);
    play(owner_on_stack);
    park();
}
