# SPDX-License-Identifier: BSD-2-Clause
"""The lock of a link over a network, once more and from the specifications alone: Noise_NNpsk0_25519_ChaChaPoly_SHA256 (Noise, revision
34; RFC 7748; RFC 8439). Slow, and shares nothing with seep."""
import hashlib
import hmac
import os
import socket
import struct

P = 2 ** 255 - 19


def x25519(secret, point):
    k = bytearray(secret)
    k[0] &= 248
    k[31] = k[31] & 127 | 64
    scalar, x1 = int.from_bytes(k, 'little'), int.from_bytes(point, 'little') & (1 << 255) - 1
    x2, z2, x3, z3, swap = 1, 0, x1, 1, 0
    for t in reversed(range(255)):
        bit = scalar >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % P, b * b % P, d * a % P, c * b % P
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % P, x1 * (da - cb) ** 2 % P
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, 'little')


def rotate(word, by):
    return (word << by | word >> 32 - by) & 0xFFFFFFFF


def quarter(s, a, b, c, d):
    s[a] = s[a] + s[b] & 0xFFFFFFFF
    s[d] = rotate(s[d] ^ s[a], 16)
    s[c] = s[c] + s[d] & 0xFFFFFFFF
    s[b] = rotate(s[b] ^ s[c], 12)
    s[a] = s[a] + s[b] & 0xFFFFFFFF
    s[d] = rotate(s[d] ^ s[a], 8)
    s[c] = s[c] + s[d] & 0xFFFFFFFF
    s[b] = rotate(s[b] ^ s[c], 7)


def chacha_block(key, counter, nonce):
    start = list(struct.unpack('<16I', b'expand 32-byte k' + key + struct.pack('<I', counter) + nonce))
    state = list(start)
    for _ in range(10):
        for way in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15), (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(state, *way)
    return struct.pack('<16I', *(x + y & 0xFFFFFFFF for x, y in zip(state, start)))


def chacha(key, nonce, data):
    out = bytearray()
    for i in range(0, len(data), 64):
        out += bytes(x ^ y for x, y in zip(data[i:i + 64], chacha_block(key, 1 + i // 64, nonce)))
    return bytes(out)


def tag_of(key, nonce, ad, sealed):
    once = chacha_block(key, 0, nonce)[:32]
    r, s = int.from_bytes(once[:16], 'little') & 0x0ffffffc0ffffffc0ffffffc0fffffff, int.from_bytes(once[16:], 'little')
    data = ad + bytes(-len(ad) % 16) + sealed + bytes(-len(sealed) % 16) + struct.pack('<QQ', len(ad), len(sealed))
    total = 0
    for i in range(0, len(data), 16):
        total = (total + int.from_bytes(data[i:i + 16] + b'\1', 'little')) * r % ((1 << 130) - 5)
    return ((total + s) % (1 << 128)).to_bytes(16, 'little')


class Cipher:
    def __init__(self, key):
        self.key, self.number = key, 0

    def nonce(self):
        self.number += 1
        return bytes(4) + struct.pack('<Q', self.number - 1)

    def seal(self, ad, data):
        nonce = self.nonce()
        sealed = chacha(self.key, nonce, data)
        return sealed + tag_of(self.key, nonce, ad, sealed)

    def unseal(self, ad, data):
        nonce = self.nonce()
        assert tag_of(self.key, nonce, ad, data[:-16]) == data[-16:], 'changed'
        return chacha(self.key, nonce, data[:-16])


def derive(ck, data, nr):
    key, out, last = hmac.digest(ck, data, 'sha256'), [], b''
    for i in range(nr):
        last = hmac.digest(key, last + bytes([i + 1]), 'sha256')
        out.append(last)
    return out


class NoiseLink:
    """The initiator's side on a socket, with what a socket's file has: read, write, flush."""

    def __init__(self, link, psk):
        self.link, self.plain, self.pending = link, b'', b''
        h = hashlib.sha256(b'Noise_NNpsk0_25519_ChaChaPoly_SHA256').digest()
        ck, h = h, hashlib.sha256(h + b'SEEPWIRE').digest()
        ck, mixed, _ = derive(ck, psk, 3)
        h = hashlib.sha256(h + mixed).digest()
        secret = os.urandom(32)
        public = x25519(secret, b'\x09' + bytes(31))
        h = hashlib.sha256(h + public).digest()
        ck, key = derive(ck, public, 2)
        sealed = Cipher(key).seal(h, b'')
        h = hashlib.sha256(h + sealed).digest()
        self.send(public + sealed)
        answer = self.receive()
        if answer is None:
            raise EOFError('the server left')
        h = hashlib.sha256(h + answer[:32]).digest()
        ck, key = derive(ck, answer[:32], 2)
        ck, key = derive(ck, x25519(secret, answer[:32]), 2)
        assert Cipher(key).unseal(h, answer[32:]) == b''
        self.to, self.back = map(Cipher, derive(ck, b'', 2))

    def send(self, record):
        self.link.sendall(struct.pack('<H', len(record)) + record)

    def exactly(self, nr):
        got = b''
        while len(got) < nr:
            try:
                more = self.link.recv(nr - len(got))
            except ConnectionResetError:
                more = b''
            if not more:
                return None
            got += more
        return got

    def receive(self):
        length = self.exactly(2)
        return length and self.exactly(struct.unpack('<H', length)[0])

    def write(self, data):
        self.pending += data

    def flush(self):
        for i in range(0, len(self.pending), 60000):
            self.send(self.to.seal(b'', self.pending[i:i + 60000]))
        self.pending = b''

    def read(self, nr):
        while len(self.plain) < nr:
            record = self.receive()
            if record is None:
                break
            self.plain += self.back.unseal(b'', record)
        got, self.plain = self.plain[:nr], self.plain[nr:]
        return got


def connect(port, key_hex):
    link = socket.create_connection(('127.0.0.1', port), timeout=30)
    return link, NoiseLink(link, bytes.fromhex(key_hex))
