# SPDX-License-Identifier: BSD-2-Clause
"""seep service where it is called wrongly, or where there is no systemd."""
import pytest

import messages


@pytest.mark.parametrize("words, said", [
    (["enabl", "nginx"], "seep: service: unknown action 'enabl' (did you mean 'enable'?)\n"),
    (["x", "nginx"], "seep: service: unknown action 'x' (enable, disable or status)\n"),
    (["enable", "nginx.timer"], "seep: 'nginx.timer' is no service (only units that end with .service run programs)\n"),
    (["status", "getty@"], "seep: 'getty@' is a template (name one of its instances: getty@NAME.service)\n"),
    (["disable", "a b"], "seep: 'a b' %s\n" % messages.NO_UNIT_NAME),
    (["enable", "--sample", "4G", "nginx"], "seep: --sample: '4G' is too big (the most is 4294967295)\n"),
])
def test_wrong_use(run, seep, words, said):
    done = run(seep, "service", *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_without_systemctl(run, seep, tmp_path):
    done = run(seep, "service", "status", "nginx", env={"PATH": str(tmp_path)})
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr == ("seep: there is no systemctl here (seep service needs systemd; without it, start the program with "
                           "'seep run')\n")


def test_watch_says_what_it_lacks(run, seep):
    done = run(seep, "service", "watch", "nginx.service")
    assert done.returncode == 2 and done.stderr == "seep: watch: --folder is missing\n"
