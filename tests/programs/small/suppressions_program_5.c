// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <iconv.h>
#include <stdlib.h>
static const char *const names[] = {"KOI8-R", "EUC-JP", "SJIS", "BIG5", "GBK", "UTF-16", "ISO-8859-15", "CP1252", "CP850", "EUC-KR"};
int main(void) {
    for (int i = 0; i < 10; i++) {
        iconv_t one = iconv_open(names[i], "UTF-8");
        if (one == (iconv_t)-1) return 1;
        if (i < 9) iconv_close(one);
    }
    return 0;
}
