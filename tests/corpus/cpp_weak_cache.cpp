// SPDX-License-Identifier: BSD-2-Clause
// A cache of std::weak_ptr: what make_shared made stays allocated, though its object is gone.
#include "corpus.h"
#include <map>
#include <memory>
#include <string>

struct Resource {
    std::string text = std::string(100, 'r');
};

std::map<int, std::weak_ptr<Resource>> cache;
std::shared_ptr<Resource> user;

static NOINLINE std::shared_ptr<Resource> load(int key) {
    auto resource = std::make_shared<Resource>();
    cache[key] = resource;
    return resource;
}

static void in_use() {
    user = load(1); // EXPECT: 3 reachable
}

static void expired() {
    load(2);                                       // EXPECT: 2 reachable
    std::shared_ptr<Resource> apart(new Resource); // EXPECT: reachable
    cache[3] = apart;                              // EXPECT: reachable
}

int main() {
    play(in_use);
    play(expired);
    park();
}
