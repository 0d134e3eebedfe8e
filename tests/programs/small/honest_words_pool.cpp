// SPDX-License-Identifier: BSD-2-Clause
// A program of tests/cli/test_honest_words.py: holds 2,000 bytes, less than the emergency pool of its C++ library.
char *kept[20];

int main() {
    for (char *&one : kept)
        one = new char[100];
    return 0;
}
