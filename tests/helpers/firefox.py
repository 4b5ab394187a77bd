"""Headless Firefox by its own protocol, Marionette: JSON over a socket, no driver in between."""

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path

LIMIT_SECONDS = 180
PREFERENCES = {
    "marionette.port": 0,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.enabled": False,
}


class Firefox:
    """A browser with a profile of its own; ``run`` calls a script of the page."""

    def __init__(self, profile: Path) -> None:
        lines = [f'user_pref("{name}", {json.dumps(x)});' for name, x in PREFERENCES.items()]
        (profile / "user.js").write_text("\n".join(lines))
        command = ["firefox", "--headless", "--marionette", "--profile", profile]
        with (profile / "log").open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        port = profile / "MarionetteActivePort"
        wait_for(lambda: port.is_file() and port.read_text().strip())
        self.socket = socket.create_connection(("127.0.0.1", int(port.read_text())))
        self.socket.settimeout(LIMIT_SECONDS)
        self._receive()  # its greeting
        self.last = 0
        self.call("WebDriver:NewSession")

    def call(self, command, **fields):
        self.last += 1
        text = json.dumps([0, self.last, command, fields]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self._receive()
        assert error is None, error
        return result

    def visit(self, address):
        self.call("WebDriver:Navigate", url=address)

    def run(self, script, *arguments):
        """What a function's body returns."""
        return self.call("WebDriver:ExecuteScript", script=script, args=list(arguments))["value"]

    def wait(self, script, *arguments):
        """Wait until a function's body returns something true."""
        wait_for(lambda: self.run(script, *arguments))

    def close(self):
        with self.socket:
            self.call("Marionette:Quit", flags=["eForceQuit"])
        self.process.wait(LIMIT_SECONDS)

    def _receive(self):
        length = b""
        while not length.endswith(b":"):
            length += self.socket.recv(1)
        size, text = int(length[:-1]), b""
        while len(text) < size:
            text += self.socket.recv(size - len(text))
        return json.loads(text)


def is_installed() -> bool:
    return shutil.which("firefox") is not None


def wait_for(condition):
    end = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
