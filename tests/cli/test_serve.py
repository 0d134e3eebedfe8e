# SPDX-License-Identifier: BSD-2-Clause
"""seep serve --http: who is refused, what is served, and that wrong requests do no harm. The page itself is in tests/web."""
import base64
import contextlib
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess

import pytest

import messages


@contextlib.contextmanager
def serving(seep, source, *options):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEEP_")}
    process = subprocess.Popen([seep, "serve", "--http", *options, source], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment, text=True)
    try:
        line = process.stdout.readline()
        match = re.fullmatch(r"http://(127\.0\.0\.1):(\d+)/#token=([0-9a-f]{32})\n", line)
        assert match, line + process.stderr.read()
        yield match.group(1), int(match.group(2)), match.group(3)
        assert process.poll() is None, "it ended by itself: " + process.stderr.read()
    finally:
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 0 and not errors, errors


@pytest.fixture
def trace(root):
    return os.path.join(root, "tests", "golden", "v1-tiny.seep")


@pytest.fixture
def server(seep, trace):
    with serving(seep, trace) as where:
        yield where


def get(server, path, **headers):
    host, port, token = server
    connection = http.client.HTTPConnection(host, port, timeout=30)
    fields = {"Authorization": "Bearer " + token}
    fields.update({name.replace("_", "-"): value for name, value in headers.items()})
    connection.request("GET", path, headers={name: value for name, value in fields.items() if value is not None})
    response = connection.getresponse()
    return response.status, response.read(), response


def raw(server, request):
    """What comes back for these bytes: the status, or None where the connection was dropped."""
    with socket.create_connection(server[:2], timeout=30) as connection:
        with contextlib.suppress(OSError):  # it may be refused before all was sent
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while True:
                part = connection.recv(65536)
                if not part:
                    break
                answer += part
    return int(answer.split(b" ", 2)[1]) if answer else None


def test_page_needs_no_token_and_data_does(server):
    status, page, response = get(server, "/", Authorization=None)
    assert status == 200 and page.startswith(b"<!DOCTYPE html>") and b"connect-src 'self'" in page and b"@seep" not in page
    assert response.headers["Cache-Control"] == "no-store" and response.headers["X-Content-Type-Options"] == "nosniff"
    for path in ("/data/sites", "/data/times", "/metrics", "/debug/pprof/heap", "/nothing"):
        assert get(server, path, Authorization=None)[0] == 401
        assert get(server, path, Authorization="Bearer " + "0" * 32)[0] == 401
        assert get(server, path, Authorization="Bearer " + server[2][:-1])[0] == 401
        assert get(server, path, Authorization="Bearer " + server[2] + "0")[0] == 401
        assert get(server, path, Authorization=server[2])[0] == 401
    status, data, _ = get(server, "/data/sites")
    assert status == 200 and json.loads(gzip.decompress(data).split(b"\n", 1)[0])["page"] == 1
    basic = base64.b64encode(b"me:" + server[2].encode()).decode()
    assert get(server, "/data/sites", Authorization="Basic " + basic)[0] == 200


def test_other_hosts_and_origins_are_refused(server):
    host, port, _ = server
    for name in ("example.com", "example.com:%d" % port, "127.0.0.1", "127.0.0.1:%d" % (port - 1), "127.0.0.1:%d.example.com" % port):
        assert get(server, "/", Host=name)[0] == 403, name
        assert get(server, "/data/sites", Host=name)[0] == 403, name
    for origin in ("http://example.com", "null", "http://127.0.0.1:%d" % (port - 1), "https://127.0.0.1:%d" % port):
        assert get(server, "/data/sites", Origin=origin)[0] == 403, origin
    assert get(server, "/data/sites", Origin="http://127.0.0.1:%d" % port)[0] == 200
    assert get(server, "/data/sites", Host="localhost:%d" % port)[0] == 200


def test_nothing_but_the_names_is_there(server):
    for path in ("/etc/passwd", "/../etc/passwd", "/data/../data/sites", "/data/sites/", "//data/sites", "/data/%73ites", "/page.html"):
        assert get(server, path)[0] == 404, path
    host, port, token = server
    head = "Host: %s:%d\r\nAuthorization: Bearer %s\r\n" % (host, port, token)
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD"):
        assert raw(server, ("%s /data/sites HTTP/1.1\r\n%s\r\n" % (method, head)).encode()) == 405
    assert raw(server, ("GET /data/sites HTTP/1.1\r\n%sContent-Length: 5\r\n\r\nhello" % head).encode()) == 405


@pytest.mark.parametrize("request_bytes", [
    b"\r\n", b"\0" * 100 + b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/2.0\r\n\r\n", b"GET http://x/ HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\n\n",
    b"GET / HTTP/1.1\r\nHost : x\r\n\r\n", b"GET / HTTP/1.1\r\n folded: x\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: \xff\r\n\r\n", b"GET /" + b"a" * 600 + b" HTTP/1.1\r\n\r\n"])
def test_wrong_requests_are_told_so(server, request_bytes):
    assert raw(server, request_bytes) == 400
    assert get(server, "/")[0] == 200


def test_huge_and_cut_requests_are_dropped(server):
    assert raw(server, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 2000) in (431, None)
    assert raw(server, b"GET / HTT") is None
    assert raw(server, b"") is None
    assert get(server, "/")[0] == 200


def test_who_stays_silent_keeps_nobody_else_out(server):
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(socket.create_connection(server[:2])) for _ in range(10)]
        for connection in silent[:5]:
            connection.sendall(b"GET / HTTP/1.1\r\nHos")
        assert get(server, "/data/sites")[0] == 200


@pytest.fixture
def folder(trace, tmp_path):
    inside = tmp_path / "traces"
    inside.mkdir()
    for name in ("one.seep", "it@1.seep", "<b>&.seep", ".hidden.seep", "notes.txt"):
        (inside / name).write_bytes(open(trace, "rb").read())
    (inside / "broken.seep").write_bytes(b"no trace")
    (tmp_path / "outside.seep").write_bytes(open(trace, "rb").read())
    os.symlink(tmp_path / "outside.seep", inside / "link.seep")
    os.symlink("/etc/passwd", inside / "users.seep")
    os.mkfifo(inside / "pipe.seep")
    (inside / "folder.seep").mkdir()
    return str(inside)


def test_folder_lists_its_traces_and_no_path_leaves_it(seep, run, folder, trace):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEEP_")}
    process = subprocess.Popen([seep, "serve", "--http", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    try:
        match = re.fullmatch(r"http://(127\.0\.0\.1):(\d+)/#token=([0-9a-f]{32})\n", process.stdout.readline())
        server = match.group(1), int(match.group(2)), match.group(3)
        assert b"<html data-folder" in get(server, "/", Authorization=None)[1]
        assert get(server, "/data/traces", Authorization=None)[0] == 401
        status, text, _ = get(server, "/data/traces")
        listed = json.loads(text)
        assert status == 200 and {item["name"] for item in listed["traces"]} == {"one.seep", "it@1.seep", "<b>&.seep", "broken.seep"}
        ids = {item["name"]: item["id"] for item in listed["traces"]}
        for name in ("one.seep", "it@1.seep", "<b>&.seep"):
            status, data, _ = get(server, "/data/%s/sites" % ids[name])
            head = json.loads(gzip.decompress(data).split(b"\n", 1)[0])
            assert status == 200 and head["source"] == name
            assert get(server, "/data/%s/times" % ids[name])[0] == 200
            assert get(server, "/data/%s/sites" % ids[name], Authorization=None)[0] == 401
        assert get(server, "/data/%s/sites" % ids["broken.seep"])[0] == 500
        # Of what is not listed there is nothing, by whatever name.
        for path in ("/data/one.seep/sites", "/data/%s/sites" % ("0" * 16), "/data/%s/../sites" % ids["one.seep"], "/data/%s" % ids["one.seep"],
                     "/data/../outside.seep/sites", "/data/..%2foutside.seep/sites", "/data/sites", "/data/%sf/sites" % ids["one.seep"],
                     "/data/%s/sites/" % ids["one.seep"], "/metrics", "/one.seep", "/data//etc/passwd/sites"):
            assert get(server, path)[0] == 404, path
        # A name that becomes a link is no longer there.
        os.unlink(os.path.join(folder, "one.seep"))
        os.symlink("/etc/passwd", os.path.join(folder, "one.seep"))
        get(server, "/data/%s/sites" % ids["it@1.seep"])
        assert get(server, "/data/%s/sites" % ids["one.seep"])[0] == 404
    finally:
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 0 and errors.count("\n") == 1 and "broken.seep: " in errors, errors


def test_a_trace_that_became_a_pipe_keeps_no_one_waiting(seep, trace, root, tmp_path):
    """Between the look at it and its opening; a pipe that no one writes into would be waited for."""
    library, folder = tmp_path / "exchange.so", tmp_path / "traces"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, os.path.join(root, "tests", "programs", "small", "serve_exchange.c")], check=True)
    folder.mkdir()
    (folder / "one.seep").write_bytes(open(trace, "rb").read())
    os.mkfifo(tmp_path / "pipe")
    environment = {**os.environ, "LD_PRELOAD": str(library), "SEEP_TEST_PIPE": str(tmp_path / "pipe")}
    process = subprocess.Popen([seep, "serve", "--http", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True)
    try:
        server = re.fullmatch(r"http://(127\.0\.0\.1):(\d+)/#token=([0-9a-f]{32})\n", process.stdout.readline()).groups()
        (listed,) = json.loads(get(server, "/data/traces")[1])["traces"]
        assert get(server, "/data/%s/sites" % listed["id"])[0] == 404
        assert (folder / "one.seep").is_fifo()
    finally:
        process.kill()
        process.communicate(timeout=30)


def test_slow_requests_are_dropped(server):
    with socket.create_connection(server[:2], timeout=30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        assert connection.recv(1) == b"", "after ten seconds it is closed"


def test_metrics_are_those_of_the_report(server, run, seep, trace):
    status, text, response = get(server, "/metrics")
    assert status == 200 and response.headers["Content-Type"].startswith("text/plain")
    totals = json.loads(run(seep, "report", trace, "--json").stdout)["totals"]
    values = {}
    for line in text.decode().splitlines():
        match = re.fullmatch(r'(seep_\w+)\{pid="\d+",program="(?:[^"\\\n]|\\.)*"(?:,\w+="\w+")?\} (\d+)', line)
        assert match or line.startswith("# "), line
        if match:
            values[match.group(1)] = int(match.group(2))
    for name, key in (("live_bytes", "live_bytes"), ("live_blocks", "live_blocks"), ("peak_bytes", "peak_bytes"),
                      ("allocations_total", "allocations"), ("allocated_bytes_total", "allocated_bytes"), ("frees_total", "frees")):
        assert values["seep_" + name] == totals[key], name


def test_wrong_use(run, seep, trace, tmp_path):
    for arguments, status, words in ((["serve", trace], 2, "seep serve --http"), (["serve", "--http=nowhere:1:2", trace], 2, "bad address"),
                                     (["serve", "--http=example.com:80", trace], 2, "bad address"),
                                     (["serve", "--http=127.0.0.1:99999", trace], 2, "bad address"),
                                     (["serve", "--key", "x", "1"], 2, "(add that, or leave --key out"),
                                     (["serve", "--http", "--listen", "unix:x", "1"], 2, messages.EXCLUDE + " (--http ADDR says"),
                                     (["serve", "999999999"], 1, messages.NO_PROCESS % 999999999),
                                     (["serve", "--http", tmp_path / "none.seep"], 1, "none.seep")):
        done = run(seep, *arguments, env={"COLUMNS": "999"})
        assert done.returncode == status and words in done.stderr and not done.stdout, done.stderr


def test_port_that_is_taken(run, seep, trace, server):
    done = run(seep, "serve", "--http=127.0.0.1:%d" % server[1], trace)
    assert done.returncode == 1 and "cannot listen" in done.stderr
