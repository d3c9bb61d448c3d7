"""Stands in for `comity` on a PATH: lets the fork server run the command, with this program's streams and signals."""

import json
import os
import signal
import socket
import sys

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    connection = socket.socket(socket.AF_UNIX)
    environment = dict(os.environ)
    connection.connect(environment.pop("COMITY_TEST_FORKS"))
    asked = {"argv": sys.argv[1:], "env": environment, "cwd": os.getcwd()}
    message = (json.dumps(asked) + "\n").encode()
    sent = socket.send_fds(connection, [message], [0, 1, 2])
    connection.sendall(message[sent:])
    answers = connection.makefile("rb")
    pid = json.loads(answers.readline())["started"]
    for number in FORWARDED:
        signal.signal(number, lambda number, _frame: os.kill(pid, number))
    code: int = json.loads(answers.readline())["code"]
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main())
