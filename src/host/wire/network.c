// SPDX-License-Identifier: BSD-2-Clause
// Addresses of a network, see network.h.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "wire/network.h"
#include "wire/resolve.h"

#define CONNECT_NS      INT64_C(5000000000)
#define CONNECT_STEP_MS 100 // between looks whether it is to end
#define SILENCE_S       15  // after which a peer counts as gone

static struct seep_error *resolve(const char *name, struct seep_address *ret_found, size_t *ret_nr) {
    char host[256];
    const char *colon = strrchr(name, ':');
    const char *end = colon;
    const char *begin = name;
    if (colon && *begin == '[' && colon > name && colon[-1] == ']') {
        begin++;
        end--;
    } else if (colon && memchr(name, ':', (size_t)(colon - name))) {
        colon = NULL; // an address of IPv6 without brackets
    }
    size_t nr_digits = colon ? strspn(colon + 1, "0123456789") : 0;
    if (!colon || end == begin || (size_t)(end - begin) >= sizeof(host) || !nr_digits || nr_digits > 5 ||
        colon[1 + nr_digits])
        return seep_error_create(SEEP_E_USAGE, "tcp:%s: not of the form tcp:HOST:PORT", name);
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = 0;
    unsigned long port = strtoul(colon + 1, NULL, 10);
    if (port > UINT16_MAX)
        return seep_error_create(SEEP_E_USAGE, "tcp:%s: there is no such port", name);
    struct seep_error *error = seep_resolve(host, (uint16_t)port, ret_found, ret_nr);
    return error ? seep_error_prefix(error, "tcp:%s", name) : NULL;
}

void seep_network_set_patience(int fd) {
    int one = 1, idle_s = SILENCE_S / 3, nr = 2;
    unsigned silence_ms = SILENCE_S * 1000;
    // What the kernel does not know it does not do: then a dead peer is noticed later.
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle_s, sizeof(idle_s));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &nr, sizeof(nr));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof(silence_ms));
}

static unsigned port_of(int fd) {
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return 0;
    return address.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)(void *)&address)->sin6_port)
                                         : ntohs(((struct sockaddr_in *)(void *)&address)->sin_port);
}

// A socket at the first address of `name` for which `ready` is true; where it is not, it leaves errno.
static struct seep_error *first_of(const char *name,
                                   bool (*ready)(int fd, const struct seep_address *address,
                                                 const struct seep_network_wait *wait),
                                   const struct seep_network_wait *wait, const char *what, const char *hint,
                                   int *ret_fd) {
    struct seep_address found[SEEP_ADDRESSES_MAX];
    size_t nr = 0;
    struct seep_error *error = resolve(name, found, &nr);
    if (error)
        return error;
    int trouble = 0;
    for (size_t i = 0; i < nr; i++) {
        int fd = socket(found[i].name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd >= 0 && ready(fd, &found[i], wait)) {
            *ret_fd = fd;
            return NULL;
        }
        trouble = errno;
        if (fd >= 0)
            close(fd);
    }
    error = seep_error_system(trouble, "cannot %s tcp:%s", what, name);
    return hint ? seep_error_hint(error, "%s", hint) : error;
}

static bool listen_at(int fd, const struct seep_address *at, const struct seep_network_wait *unused) {
    const int one = 1;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
           bind(fd, (const struct sockaddr *)&at->name, at->bytes) == 0 && listen(fd, 16) == 0;
}

struct seep_error *seep_network_listen(const char *name, int *ret_fd, unsigned *ret_port) {
    int fd;
    struct seep_error *error = first_of(name, listen_at, NULL, "listen on", NULL, &fd);
    if (error)
        return error;
    *ret_fd = fd;
    *ret_port = port_of(fd);
    return NULL;
}

// Within a time: a host that does not answer is not waited for as long as the kernel would.
static bool connect_within(int fd, const struct seep_address *to, const struct seep_network_wait *wait) {
    if (connect(fd, (const struct sockaddr *)&to->name, to->bytes) == 0)
        return true;
    if (errno != EINPROGRESS)
        return false;
    struct pollfd writable = {.fd = fd, .events = POLLOUT};
    int trouble = ETIMEDOUT, ready = 0;
    socklen_t size = sizeof(trouble);
    int64_t end_ns = seep_monotonic_ns() + CONNECT_NS;
    while (ready <= 0 && seep_monotonic_ns() < end_ns && !wait->is_over(wait->data))
        ready = poll(&writable, 1, CONNECT_STEP_MS);
    if (ready == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &trouble, &size) == 0 && !trouble)
        return true;
    errno = trouble;
    return false;
}

struct seep_error *seep_network_connect(const char *name, const struct seep_network_wait *wait, int *ret_fd) {
    int fd;
    struct seep_error *error =
        first_of(name, connect_within, wait, "connect to",
                 "'seep serve --listen tcp:HOST:PORT --key FILE PID' listens there", &fd);
    if (error)
        return error;
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    seep_network_set_patience(fd);
    *ret_fd = fd;
    return NULL;
}
