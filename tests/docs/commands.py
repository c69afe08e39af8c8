"""`memlog` for a shell of a test, without half a second of imports for each command.

    python commands.py SOCKET           the server: imports the command once, forks for each call
    python commands.py SOCKET -- ...    a call: hands its arguments and streams to the server

A call runs as a process of its own, with the caller's directory, environment and terminal.
"""

import array
import json
import os
import socket
import sys
from importlib import import_module
from pathlib import Path


def call(path: str, arguments: list[str]) -> int:
    request = {"arguments": arguments, "environ": dict(os.environ), "directory": str(Path.cwd())}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        streams = array.array("i", [0, 1, 2]).tobytes()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)]
        connection.sendmsg([json.dumps(request).encode() + b"\n"], rights)
        connection.shutdown(socket.SHUT_WR)
        return int(connection.recv(16) or b"70")


def serve(path: str) -> None:
    for name in ("eventsourcing.sqlite", "rich.progress", "memlog.verify.opening"):
        import_module(name)
    from memlog.cli import main

    main(["--version"])  # Builds the command; what it prints goes nowhere.
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        server.listen(16)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                _run(connection)
            connection.close()
            _reap()


def _reap() -> None:
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def _run(connection: socket.socket) -> None:
    """Be the process of one call, in the child of the server."""
    from memlog.cli import main

    content, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    while not content.endswith(b"\n"):
        content += connection.recv(1 << 20)
    request = json.loads(content)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request["environ"])
    os.chdir(request["directory"])
    code = 70
    try:
        code = main(request["arguments"])
        sys.stdout.flush()
    finally:
        connection.sendall(str(code).encode())
        os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        serve(sys.argv[1])
    else:
        sys.exit(call(sys.argv[1], sys.argv[3:]))
