"""HTTP connections with a time limit: half-sent requests end, and cannot fill the server."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0  # for a complete request, from its first byte or the last answer on
MOST_INCOMPLETE = 128  # connections without a complete request; beyond, the oldest ends


class BoundedProtocol(H11Protocol):
    """An HTTP/1.1 connection that has to send each request completely within some seconds."""

    request_seconds = REQUEST_SECONDS
    most_incomplete = MOST_INCOMPLETE
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the time limit, and end the oldest incomplete connection where there are many."""
        super().connection_made(transport)
        self._start_timer()
        incomplete = [x for x in self.connections if isinstance(x, BoundedProtocol) and x._timer]
        if len(incomplete) > self.most_incomplete:
            min(incomplete, key=lambda x: x._deadline).abort()

    def data_received(self, data: bytes) -> None:
        """Stop the time limit once the request is complete."""
        super().data_received(data)
        if self._is_complete():
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Start the time limit of the next request."""
        super().on_response_complete()
        if not self._is_complete() and not self.transport.is_closing():
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit of a connection that ended."""
        self._stop_timer()
        super().connection_lost(exc)

    def abort(self) -> None:
        """End the connection at once."""
        self._stop_timer()
        self.transport.abort()

    def _is_complete(self) -> bool:
        return bool(self.cycle) and not self.cycle.more_body and not self.cycle.response_complete

    @property
    def _deadline(self) -> float:
        return self._timer.when() if self._timer else float("inf")

    def _start_timer(self) -> None:
        self._stop_timer()
        self._timer = self.loop.call_later(self.request_seconds, self.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
