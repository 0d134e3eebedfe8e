// SPDX-License-Identifier: BSD-2-Clause
// Marks, a thread name and source lines that contain HTML and scripts. tests/web/test_page.py embeds them in a page.
#include <pthread.h>
#include <stdlib.h>

#include "seep.h"

/* </script><script>window.ran=7</script> <!-- ]]> <img src=x onerror=window.ran=8> "both' quotes` */
static void *volatile kept[64];
static int nr_kept;

static void *work(void *unused) {
    pthread_setname_np(pthread_self(), "<i>t\x1b[31m</i>");
    for (int i = 0; i < 8; i++)
        kept[nr_kept++] = malloc(1000); // </td><script>window.ran=10</script>
    return unused;
}

int main(void) {
    static const char *const marks[] = {"</script><script>window.ran=9</script>",
                                        "left\xe2\x80\xaethgir",
                                        "\x1b]0;title\x07",
                                        "two\nlines",
                                        "",
                                        "broken \xff\xfe",
                                        "__proto__",
                                        "a;b,c\"d'"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        pthread_t thread;
        seep_mark(marks[i]);
        if (pthread_create(&thread, NULL, work, NULL) == 0)
            pthread_join(thread, NULL);
    }
    return 0;
}
