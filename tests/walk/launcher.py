"""Stands in for `comity` on a PATH, and for the interpreter of child processes: the fork server runs the command.

The command has this program's streams, open files and signals.
"""

import json
import os
import resource
import signal
import socket
import sys

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CHILD = ["-P", "-m", "comity.run.child_process"]
SERVER = ""  # the interpreter's stand-in has its server's socket here: a child's environment is what its parent gave it


def main() -> int:
    environment = dict(os.environ)
    path = SERVER or environment.pop("COMITY_TEST_FORKS")
    asked = {"argv": sys.argv[1:], "env": environment, "cwd": os.getcwd()}
    files = [0, 1, 2]
    if SERVER:
        if sys.argv[1:] != CHILD:  # another module, which this interpreter is to run itself
            os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
        others = [number for number in map(int, os.listdir("/proc/self/fd")) if number > 2 and is_open(number)]
        asked |= {"argv": [], "module": CHILD[-1], "descriptors": others, "has_session": True}
        files += others
        if (limit := resource.getrlimit(resource.RLIMIT_FSIZE)[0]) != resource.RLIM_INFINITY:
            asked["limit"] = limit
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    message = (json.dumps(asked) + "\n").encode()
    sent = socket.send_fds(connection, [message], files)
    connection.sendall(message[sent:])
    answers = connection.makefile("rb")
    pid = json.loads(answers.readline())["started"]
    for number in FORWARDED:
        signal.signal(number, lambda number, _frame: os.kill(pid, number))
    if SERVER:
        with open("/proc/self/comm", "w") as name:
            name.write(f"for {pid}")  # `children_of` reads it
        for file in files:
            os.close(file)  # the parent reads to the end
    code: int = json.loads(answers.readline())["code"]
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def is_open(number: int) -> bool:
    """Whether a file is open; the one that listed them is not any more."""
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
