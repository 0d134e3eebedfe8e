# SPDX-License-Identifier: BSD-2-Clause
"""Real programs: wall time and resident memory under each tool, against the same program untraced.

Every program's output must be what it is untraced. A case is a function that returns a Case or a
server, or None with a printed reason when its program is not installed.
"""
import hashlib
import os
import signal
import subprocess
import time

import common
import inputs
from common import Failed, figure, interleave, say, take

PEERS = ("heaptrack", "heaptrack raw", "lsan", "memcheck")
TIMEOUT = {"memcheck": 30}


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Case:
    """A program that runs to its end. `product` is a file whose content is part of its output."""

    def __init__(self, name, command, stdin=None, product=None, settings=None):
        self.name, self.command, self.stdin, self.product = name, command, stdin, product
        self.settings = settings or {}

    def run(self, context, tool):
        if self.product and os.path.exists(self.product):
            os.remove(self.product)
        command, environment, preload = tool.wrap(context, self.command, dict(context.environment, **self.settings))
        taken = take(context, command, environment, TIMEOUT.get(tool.name, 60), preload, self.stdin)
        # heaptrack writes lines of its own among the program's.
        output = digest(self.product) if self.product else \
            None if tool.name.startswith("heaptrack") else digest(taken.output)
        return {"seconds": taken.wall_s, "cpu_s": taken.cpu_s, "rss_kib": taken.rss_kib, "output": output}


class Server:
    """A server under load from a client that is never traced; what counts is the client's time."""

    def __init__(self, name):
        self.name = name

    def command(self, context):
        raise NotImplementedError

    def ready(self, context):
        """True when it answers."""
        raise NotImplementedError

    def load(self, context):
        """(seconds, digest of what the server then holds or says)"""
        raise NotImplementedError

    def run(self, context, tool):
        command, environment, preload = tool.wrap(context, self.command(context), dict(context.environment))
        if preload:
            environment["LD_PRELOAD"] = preload
        process = subprocess.Popen(command, env=environment, cwd=context.scratch, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            end = time.monotonic() + 20
            while not self.ready(context):
                if process.poll() is not None or time.monotonic() > end:
                    raise Failed("the server does not come up")
                time.sleep(0.02)
            self.limit = TIMEOUT.get(tool.name, 60)
            seconds, output = self.load(context)
            return {"seconds": seconds, "cpu_s": self.cpu_seconds(process.pid), "rss_kib": self.peak_rss(process.pid),
                    "output": output}
        finally:
            self.stop(process)

    @staticmethod
    def session_of(leader):
        """Processes of the server's session: a tool may stand between us and the server."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as file:
                    if int(file.read().rsplit(")", 1)[1].split()[3]) == leader:
                        found.append(int(name))
            except OSError:
                pass
        return found

    def cpu_seconds(self, leader):
        ticks = 0
        for pid in self.session_of(leader):
            try:
                with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as file:
                    ticks += sum(int(word) for word in file.read().rsplit(")", 1)[1].split()[11:13])
            except OSError:
                pass
        return ticks / os.sysconf("SC_CLK_TCK")

    def peak_rss(self, leader):
        most = 0
        for pid in self.session_of(leader):
            try:
                with open("/proc/%d/status" % pid, encoding="utf-8") as file:
                    most = max([most] + [int(line.split()[1]) for line in file if line.startswith("VmHWM")])
            except OSError:
                pass
        return most

    def stop(self, process):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                break
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                continue
        process.wait()


class Redis(Server):
    def command(self, context):
        self.socket = os.path.join(context.scratch, "redis.sock")
        if os.path.exists(self.socket):
            os.remove(self.socket)
        return [common.program("redis-server"), "--port", "0", "--unixsocket", self.socket, "--save", "",
                "--appendonly", "no", "--enable-debug-command", "yes", "--dir", context.scratch]

    def client(self, context, *words):
        return subprocess.run([common.program("redis-cli"), "-s", self.socket] + list(words), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode().strip()

    def ready(self, context):
        return os.path.exists(self.socket) and self.client(context, "ping") == "PONG"

    def load(self, context):
        command = [common.program("redis-benchmark"), "-s", self.socket, "-q", "-n", "25000", "-c", "10", "-P", "8", "-d",
                   "100", "-t", "set,get,incr,lpush,lpop,sadd,hset,zadd,lrange_100,mset"]
        begin = time.perf_counter()
        try:
            subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=self.limit, check=True)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as trouble:
            raise Failed("redis-benchmark: %s" % type(trouble).__name__) from None
        seconds = time.perf_counter() - begin
        return seconds, self.client(context, "debug", "digest")


class Nginx(Server):
    PORT = 18473
    REQUESTS = 20000

    def command(self, context):
        folder = os.path.join(context.scratch, "nginx")
        os.makedirs(os.path.join(folder, "logs"), exist_ok=True)
        inputs.write(os.path.join(folder, "page.txt"), "a line of text that compresses\n" * 300)
        inputs.write(os.path.join(folder, "nginx.conf"), """
daemon off; master_process off; worker_processes 1; error_log logs/error.log; pid nginx.pid;
events { worker_connections 256; }
http { access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u;
  scgi_temp_path s; keepalive_requests 100000; gzip on; gzip_types text/plain; default_type text/plain;
  server { listen 127.0.0.1:%d; root .; location / { ssi on; ssi_types text/plain; } } }
""" % self.PORT)
        return [common.program("nginx"), "-p", folder + "/", "-c", "nginx.conf"]

    def fetch(self):
        import http.client
        connection = http.client.HTTPConnection("127.0.0.1", self.PORT, timeout=30)
        try:
            connection.request("GET", "/page.txt")
            return connection.getresponse().read()
        finally:
            connection.close()

    def ready(self, context):
        try:
            return len(self.fetch()) > 0
        except OSError:
            return False

    def load(self, context):
        done = subprocess.run([common.program("wrk"), "-t", "1", "-c", "8", "-d", "1s", "-H", "Accept-Encoding: gzip",
                               "http://127.0.0.1:%d/page.txt" % self.PORT], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=60, check=False).stdout.decode()
        rate = [line.split()[1] for line in done.splitlines() if line.startswith("Requests/sec:")]
        if not rate or "Non-2xx" in done or float(rate[0]) <= 0:
            raise Failed("wrk: no answer")
        return self.REQUESTS / float(rate[0]), hashlib.sha256(self.fetch()).hexdigest()


def missing(name, *programs):
    for needed in programs:
        if not common.program(needed):
            say("skipped: %s, %s is not installed" % (name, needed))
            return True
    return False


def part_of_gcc(name):
    path = common.first_line(["gcc", "-print-prog-name=" + name])
    return path if os.path.isabs(path) and os.access(path, os.X_OK) else None


def cases(context):
    """All cases this machine can run; makes their inputs."""
    folder = os.path.join(context.folder, "inputs")
    subprocess.run(["rm", "-rf", folder], check=True)
    os.makedirs(folder)
    at = lambda name: os.path.join(folder, name)
    found = []
    if not missing("sqlite3", "sqlite3"):
        found.append(Case("sqlite3", [common.program("sqlite3"), ":memory:"], stdin=inputs.sql(at("in.sql"))))
    if not missing("jq", "jq"):
        found.append(Case("jq", [common.program("jq"), "-S", "group_by(.kind) | map({k: .[0].kind, n: length, "
                                 "s: (map(.value) | add), t: (map(.tags | join(\"+\")) | sort)})",
                                 inputs.records(at("in.json"))]))
    if os.access("/usr/bin/python3", os.X_OK):
        found.append(Case("python3", ["/usr/bin/python3", "-S", inputs.python_script(at("in.py"))],
                          settings={"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}))
    if not missing("perl", "perl"):
        found.append(Case("perl", [common.program("perl"), inputs.perl_script(at("in.pl"))],
                          settings={"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}))
    for name, part in (("cc1 -O2", "cc1"), ("cc1plus -O1", "cc1plus")):
        compiler = part_of_gcc(part)
        if not compiler:
            say("skipped: %s, gcc has no %s here" % (name, part))
            continue
        source = inputs.c_source(at("in.i"), 40) if part == "cc1" else inputs.cxx_source(at("in.ii"))
        standard = [] if part == "cc1" else ["-std=c++17"]
        found.append(Case(name, [compiler, "-fpreprocessed", "-quiet", name.split()[1], "-frandom-seed=1"] + standard +
                          [source, "-o", at("out.s")], product=at("out.s")))
    if not missing("clang", "clang"):
        found.append(Case("clang -O2", [common.program("clang"), "-w", "-O2", "-c", inputs.c_source(at("in2.c"), 60),
                                        "-o", at("out.o")], product=at("out.o")))
    if not missing("z3", "z3"):
        found.append(Case("z3", [common.program("z3"), "sat.random_seed=1", inputs.smt(at("in.smt2"), 9)]))
    if not missing("git", "git"):
        repository = inputs.repository(at("repository.git"), 500)
        settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_PAGER": "cat"}
        git = [common.program("git"), "-C", repository]
        found.append(Case("git log -p", git + ["log", "-p", "--stat"], settings=settings))
        # What gc spends its time on, without changing the repository.
        found.append(Case("git gc (pack-objects)", git + ["-c", "pack.threads=1", "pack-objects", "--all", "--stdout", "-q",
                                                          "--no-reuse-delta", "--no-reuse-object", "--window=20"],
                          settings=settings))
    if not missing("redis-server", "redis-server", "redis-benchmark", "redis-cli"):
        found.append(Redis("redis-server"))
    if not missing("nginx", "nginx", "wrk"):
        found.append(Nginx("nginx"))
    plain = context.plain
    found.append(Case("fraction (cfrac-like)", [plain["fraction"], "150000"]))
    found.append(Case("server (larson-like)", [plain["patterns"], "-q", "-p", "server", "-j", "2", "-n", "12000000"]))
    found.append(Case("stress (mstress-like)", [plain["patterns"], "-q", "-p", "stress", "-j", "2", "-n", "4000000"]))
    if context.programs:
        found = [case for case in found if any(word in case.name for word in context.programs)]
    return found


def run_real(context):
    results = []
    for case in cases(context):
        say(case.name)
        names = ["untraced", "hooks that do nothing", "seep", "seep sampled", "seep run"] + ([] if context.quick else list(PEERS))
        tools = [context.tools[n] for n in names if n in context.tools]
        taken = interleave(tools, context.runs, lambda t: case.run(context, t), case.name)
        results.append({"case": case.name, "tools": compare(case, taken)})
    return results


def compare(case, taken):
    """Figures of every tool; ratios are against the untraced run of the same round."""
    plain = taken["untraced"]
    if "failed" in plain:
        say("  skipped: %s does not run untraced: %s" % (case.name, plain["failed"]))
        return taken
    expected = {one["output"] for one in plain}
    if len(expected) != 1:
        say("  the output of %s differs from run to run, it cannot be compared" % case.name)
    tools = {}
    for name, values in taken.items():
        if "failed" in values:
            tools[name] = values
            continue
        outputs = {one["output"] for one in values} - {None}
        if len(expected) == 1 and not outputs <= expected:
            say("  %s under %s gives another output" % (case.name, name))
            tools[name] = {"failed": "another output"}
            continue
        tools[name] = {key: figure([one[key] for one in values]) for key in ("seconds", "cpu_s", "rss_kib")}
        tools[name]["ratio"] = figure([one["seconds"] / base["seconds"] for one, base in zip(values, plain)])
        tools[name]["cpu_ratio"] = figure([one["cpu_s"] / max(base["cpu_s"], 0.001) for one, base in zip(values, plain)])
        tools[name]["extra_rss_kib"] = figure([one["rss_kib"] - base["rss_kib"] for one, base in zip(values, plain)])
        tools[name]["same_output"] = bool(outputs) and len(expected) == 1
    return tools
