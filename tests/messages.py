# SPDX-License-Identifier: BSD-2-Clause
"""Messages of seep that more than one test looks for and that have no code: errors of the command line, and the reason behind a
code that several reasons share. Notes have codes (report_json.codes()); a report's words are in tests/golden.

tests/lint/test_tests.py holds that each is in src, and that no test repeats it.
"""

# ---- files ----
NOT_A_TRACE = "not a seep trace, but "
INPUT_OF_IT = "the file that is read"
NOT_WRITTEN_OVER = "a trace, which is not written over"
CANNOT_WRITE_TRACE = "%s: cannot write the trace: "
CANNOT_WRITE_REPORT = "%s: cannot write the report"
CANNOT_PRINT = "cannot write to standard output: "
NAME_ANOTHER = "name another file"
NAME_A_FILE = "name a file in it"
FILES_AT_MOST = "files may have %s at most (ulimit -f)"
MAKE_ROOM = "make room there, or write to another place"

# ---- what a trace does not have ----
DO_NOT_GROW = "not grow without bound: "
NO_MARK = "there is no mark '%s' in it"
CHECK_NOTHING_PASSES = "no stack of the run passes "
CHECK_GONE = "of the baseline leaked nothing in this run: mended, or of another program"
PEAK_NOT_KEPT = "recording knows it: "
NO_MARK_OR_SNAPSHOT = "there is no mark and no snapshot '%s' in it"
GROWTH_NEEDS_SNAPSHOTS = "--sort growth needs snapshots"
NEEDS_A_SCAN = "--kind needs a scan, and none was made here"
NO_SNAPSHOTS = "there are no snapshots in it"
TOO_FEW_SNAPSHOTS = "too few snapshots to say what grows: 7 are needed"
TOO_SHORT_A_TIME = "too short a time to say what grows: "
TOO_FEW_LOOKS = "too few looks with the process running: 7 are needed to say what grows"
NO_HISTORY = "what it did over time is not in it"
NO_AGES = "they are kept by 'seep run --age'"

# ---- programs and processes ----
ENDED_EARLY = "ended before it could be looked at"
NOT_IN_PATH = "not found in PATH"
STATIC_BINARY = "%s is a static binary"
SET_USER_ID = "is set-user-ID, set-group-ID or has file capabilities"
OWN_ENVIRONMENT = "%s was started with an environment of its own, without libseep.so in LD_PRELOAD"
NOT_TRACED = "is not traced by seep"
RUNS_NO_LONGER = "%s: the program no longer runs"
NO_PROCESS = "no process %d (name a running process)"
REFUSED = "messages at the socket that were refused, as not from our user or not ours: %d"
EMULATED = "runs under an emulator"
RECORDS_NOTHING = "allocations are not recorded, releases are"

NOT_BESIDE = "is neither beside"
DOES_NOT_STOP = "does not stop"
NO_PROBES_ON = "the kernel puts no probes on"

# ---- options and names ----
EXCLUDE = "exclude one another"
NOT_IN_LOG = "not in the log"
WRITES_TO_STDOUT = "it writes to standard output: "
BAD_INTERVAL = "INTERVAL: bad value '%s'"
MIN_OVER_MAX = "--min-size 10 is more than --max-size 5"
USES_THE_DEFAULT = "using the default"
NO_SINGLE_BLOCKS = "--combined-only shows no single blocks: not with --blocks"
ANY_AGE = "--combined-only is of any age: not with --older"
NAME_IS_EMPTY = "the name is empty"
EMPTY_IN_LIST = "an empty name in the list"
NO_UNIT_NAME = "is no name of a unit"

# ---- reports ----
FILE_UNFOUND = "was not found at the end, because it is gone or named from another folder"
MAPPINGS = "mappings by the program"
AT_THE_PEAK = "at the peak"
FREED_IN_A_WRONG_WAY = "freed in a wrong way"
MAY_BE_RIGHT = "freed in a way that may be right"
FREED_ONLY_AT_EXIT = "freed only at exit"
ON_ANOTHER_MACHINE = "on another machine: "
THREAD_LOCAL = "thread-local storage of thread"
CYCLES = "(cycles among them)"
STDIO_BUFFERS = "buffers of stdio"
NOTHING_ELSE = ", nothing else"
IN_NO_BLOCK = "in no live block"
