"""Facts that lie on a device until they are read, as many as there is room for."""

from __future__ import annotations

from dataclasses import dataclass, field

from regard.models.track import Later, Track

ROOM = 2**30  # bytes: a device has its model to hold


@dataclass
class Shelf:
    """Tracks with facts on a device, the oldest first; ``held`` is at least their bytes."""

    tracks: list[Track] = field(default_factory=list)
    held: int = 0

    def add(self, track: Track, later: Later) -> None:
        """Put a piece that its track expects aside, if it can wait on its device."""
        if not later.held:
            track.settle()
            return
        self.tracks.append(track)
        self.held += later.held
        if self.held > ROOM:
            self._make_room()

    def _make_room(self) -> None:
        """Read the oldest until half is free: each time the host waits for the device."""
        self.tracks = [track for track in dict.fromkeys(self.tracks) if track.waiting]
        self.held = sum(track.held for track in self.tracks)
        most = ROOM // 2 if self.held > ROOM else ROOM
        while self.held > most:
            track = self.tracks.pop(0)
            self.held -= track.held
            track.settle()
