"""A static host for tests and benchmarks: text compressed, every byte counted."""

import functools
import gzip
import http.server
import threading
from contextlib import contextmanager
from pathlib import Path

COMPRESSED = (".html", ".js", ".mjs", ".css", ".wasm", ".svg", ".txt", ".json")
TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"}


@functools.cache
def compressed(path, written):
    """A file as it was written at a time."""
    return gzip.compress(path.read_bytes(), 9, mtime=0)


class Host:
    """What a host sent.

    ``cut`` maps a file's name to the bytes after which it ends, ``held`` to an event that it waits
    for.
    """

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.sent = 0
        self.requests = []
        self.cut = {}
        self.held = {}
        self.address = ""
        self.stop = lambda: None


@contextmanager
def serving(folder):
    """Serve a folder on a free port of loopback."""
    host = Host(folder)

    class Files(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            path = Path(self.translate_path(self.path))
            path = path / "index.html" if path.is_dir() else path
            host.requests.append(self.path)
            if not path.is_file():
                self.send_error(404)
                return
            if path.name in host.held:
                host.held[path.name].wait()
            packed = path.suffix in COMPRESSED
            content = compressed(path, path.stat().st_mtime_ns) if packed else path.read_bytes()
            content = content[: host.cut.get(path.name)]
            self.send_response(200)
            self.send_header("Content-Type", TYPES.get(path.suffix) or self.guess_type(path))
            self.send_header("Content-Length", str(len(content)))
            if packed:
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(content)
            host.sent += len(content)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Files, directory=str(host.folder))
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()

    def stop():
        server.shutdown()
        server.server_close()

    host.address, host.stop = f"http://127.0.0.1:{server.server_address[1]}/", stop
    try:
        yield host
    finally:
        stop()
