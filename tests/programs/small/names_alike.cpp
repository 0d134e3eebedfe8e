// SPDX-License-Identifier: BSD-2-Clause
// Two vectors of long names, of which the end of the arguments is all that differs.
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

namespace keys {
template <class T> struct with_a_long_name { std::map<std::string, std::vector<T>> values; };
} // namespace keys

template <class T> static void fill(std::vector<keys::with_a_long_name<std::pair<std::string, T>>> &all) {
    for (int i = 0; i < 20; i++) {
        all.push_back({});
        all.back().values["the name of a value that has its own block"].push_back({});
    }
}

int main() {
    auto *first = new std::vector<keys::with_a_long_name<std::pair<std::string, int>>>;
    auto *second = new std::vector<keys::with_a_long_name<std::pair<std::string, long>>>;
    fill(*first);
    fill(*second);
    usleep(250000);
    return first->size() != second->size();
}
