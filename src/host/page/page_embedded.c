// SPDX-License-Identifier: BSD-2-Clause
// Source files within a page, see page_embedded.h.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_file.h"
#include "output/json_build.h"
#include "page/page_embedded.h"

void seep_page_embedded_deinit(struct seep_page_embedded *embedded) {
    seep_page_column_deinit(&embedded->files);
    seep_page_column_deinit(&embedded->lengths);
    seep_page_column_deinit(&embedded->bytes);
}

// Names of files come from debug information, which anybody may have made: a device or a pipe is not read,
// and what only root may read does not get into a page by such a name. What is not there is left out.
static char *read_file(const char *path, size_t *ret_nr) {
    struct stat status;
    char *text = NULL;
    if (!path || stat(path, &status) != 0 || !S_ISREG(status.st_mode) ||
        (geteuid() == 0 && !(status.st_mode & S_IROTH)))
        return NULL;
    struct seep_error *error = seep_text_file_read(path, "the source", SEEP_PAGE_SOURCE_BYTES, &text, ret_nr);
    seep_error_destroy(error);
    return error ? NULL : text;
}

// As all texts of the page: what is not UTF-8 becomes U+FFFD.
static struct seep_error *put_file(struct seep_page_embedded *embedded, uint32_t name, char *text,
                                   size_t nr) {
    char *whole = realloc(text, nr + 1);
    if (!whole) {
        free(text);
        return seep_error_no_memory();
    }
    for (size_t i = 0; i < nr; i++)
        whole[i] = whole[i] ? whole[i] : ' ';
    whole[nr] = 0;
    json_t *valid = string(whole);
    free(whole);
    if (!valid)
        return seep_error_no_memory();
    seep_page_column_put(&embedded->files, name);
    seep_page_column_put(&embedded->lengths, json_string_length(valid));
    seep_page_column_put_bytes(&embedded->bytes, json_string_value(valid), json_string_length(valid));
    json_decref(valid);
    return NULL;
}

struct seep_error *seep_page_embed(const struct seep_page_tree *tree, struct seep_page_embedded *embedded) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < tree->nr_files && embedded->bytes.put.used < SEEP_PAGE_SOURCES_BYTES;
         i++) {
        size_t nr = 0;
        char *text = read_file(tree->files[i].path, &nr);
        if (text)
            error = put_file(embedded, tree->files[i].text, text, nr);
    }
    return error;
}
