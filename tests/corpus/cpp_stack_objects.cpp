// SPDX-License-Identifier: BSD-2-Clause
// Objects on the stack of frames that are still there, in registers or not.
#include "corpus.h"
#include <map>
#include <memory>
#include <string>

static NOINLINE void inner(std::unique_ptr<std::string> owned, const std::string &borrowed) {
    auto shared = std::make_shared<std::string>(borrowed); // EXPECT: 2 reachable
    KEEP(&shared);
    KEEP(&owned);
    park();
}

static NOINLINE void outer() {
    std::string text(100, 't'); // EXPECT: reachable
    std::map<int, std::string> map;
    map[1] = std::string(200, 'm'); // EXPECT: 2 reachable
    KEEP(&map);
    inner(std::make_unique<std::string>(300, 'u'), text); // EXPECT: 2 reachable
}

int main() {
    outer();
}
