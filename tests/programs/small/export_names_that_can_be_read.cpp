// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <map>
#include <string>
#include <vector>
static std::map<std::string, std::vector<long>> *kept;
__attribute__((noinline)) void fill(std::vector<std::string> const &names) {
    kept = new std::map<std::string, std::vector<long>>;
    for (auto const &name : names) (*kept)[name].push_back(7);
}
int main() { fill({"one", "two"}); return kept->size() != 2; }
