// SPDX-License-Identifier: BSD-2-Clause
// The file of a key, see noise.h.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/noise.h"

#define DIGITS ((size_t)(2 * SEEP_NOISE_KEY_BYTES))

static struct seep_error *make(const char *path) {
    unsigned char key[SEEP_NOISE_KEY_BYTES];
    char text[DIGITS + 2];
    if (getrandom(key, sizeof(key), 0) != (ssize_t)sizeof(key))
        return seep_error_create(SEEP_E_UNSUPPORTED, "the system gives no random bytes");
    for (size_t i = 0; i < sizeof(key); i++)
        snprintf(text + 2 * i, 3, "%02x", key[i]);
    text[DIGITS] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return seep_error_system(errno, "cannot make the key %s", path);
    bool written = write(fd, text, DIGITS + 1) == (ssize_t)(DIGITS + 1);
    int trouble = errno;
    if (close(fd) == 0 && written)
        return NULL;
    unlink(path);
    return seep_error_system(trouble, "cannot write the key %s", path);
}

static int digit_of(char byte) {
    return byte >= '0' && byte <= '9' ? byte - '0' : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

// The descriptor is what is checked, not what the name is of a moment later.
static struct seep_error *read_from(int fd, const char *path, unsigned char ret_key[SEEP_NOISE_KEY_BYTES]) {
    char text[DIGITS + 2];
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return seep_error_create(SEEP_E_FORMAT, "%s: no file of a key", path);
    if ((status.st_uid != getuid() && status.st_uid != 0) || status.st_mode & 077)
        return seep_error_hint(
            seep_error_create(SEEP_E_PERMISSION, "%s: others may read this key", path),
            "it has to be its user's alone: 'chmod 600 %s'; who could read it may have it already", path);
    ssize_t nr = read(fd, text, sizeof(text));
    bool good = nr == (ssize_t)DIGITS || (nr == (ssize_t)DIGITS + 1 && text[DIGITS] == '\n');
    for (size_t i = 0; good && i < SEEP_NOISE_KEY_BYTES; i++) {
        int high = digit_of(text[2 * i]), low = digit_of(text[2 * i + 1]);
        good = high >= 0 && low >= 0;
        ret_key[i] = (unsigned char)(high * 16 + low);
    }
    explicit_bzero(text, sizeof(text));
    if (good)
        return NULL;
    return seep_error_hint(seep_error_create(SEEP_E_FORMAT, "%s: no key: 64 hexadecimal digits", path),
                           "'seep serve --key FILE' makes one where there is no such file");
}

struct seep_error *seep_noise_key_read(const char *path, bool may_make,
                                       unsigned char ret_key[SEEP_NOISE_KEY_BYTES], bool *ret_made) {
    *ret_made = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT && may_make) {
        struct seep_error *error = make(path);
        if (error)
            return error;
        *ret_made = true;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    }
    if (fd < 0)
        return seep_error_hint(seep_error_system(errno, "cannot read the key %s", path),
                               "'seep serve --key FILE' makes one where there is no such file");
    struct seep_error *error = read_from(fd, path, ret_key);
    close(fd);
    return error;
}
