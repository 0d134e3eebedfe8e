// SPDX-License-Identifier: BSD-2-Clause
// Singletons that are never deleted, on purpose: reachable, as any global is.
#include "corpus.h"
#include <map>
#include <string>

class Registry {
  public:
    static Registry &instance() {
        static auto *registry = new Registry; // EXPECT: reachable
        return *registry;
    }
    std::map<std::string, struct node *> entries;
};

static void build() {
    Registry::instance().entries["one"] = make(40);                        // EXPECT: 2 reachable
    Registry::instance().entries["a name that is long enough"] = make(48); // EXPECT: 3 reachable
    KEEP(&Registry::instance());
}

static void erased() {
    Registry::instance().entries["two"] = make(56); // EXPECT: lost
    Registry::instance().entries.erase("two");
}

int main() {
    play(build);
    play(erased);
    park();
}
