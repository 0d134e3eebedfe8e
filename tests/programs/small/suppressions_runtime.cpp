// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <filesystem>
#include <future>
#include <iostream>
#include <locale>
#include <regex>
#include <sstream>
#include <thread>
int main() {
    std::locale::global(std::locale("C.UTF-8"));
    std::ostringstream out;
    out.imbue(std::locale());
    out << std::fixed << 3.14 << ' ' << 1234567;
    std::wcout << L"x\n";
    bool matches = std::regex_match("aaab", std::regex("a+b"));
    std::async(std::launch::async, [] { return 1; }).get();
    for (auto &entry : std::filesystem::directory_iterator("/"))
        if (entry.path().empty())
            return 2;
    std::thread([] { thread_local std::string text(100, 'x'); std::cout << text.size() << "\n"; }).join();
    try { throw std::runtime_error("x"); } catch (std::exception &) {}
    std::cout << out.str() << matches << "\n";
}
