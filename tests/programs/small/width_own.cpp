// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <map>
#include <string>
std::map<std::string, std::map<std::string, std::string>> all;
__attribute__((noinline)) static void fill_all_of_it(int n) {
    all[std::string(60, 'a')][std::string(70, 'b')] = std::string(3000000 + n, 'c');
}
int main() { fill_all_of_it(3); }
