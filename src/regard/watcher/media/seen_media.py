"""Pictures and sound of a run: functions of a ``Seen``, each in a file of this folder."""

from __future__ import annotations

from regard.watcher.media.image_attention import image, with_picture
from regard.watcher.media.image_grids import image_grid
from regard.watcher.media.sound import seconds, word_times


class SeenMedia:
    """Methods of ``Seen`` for models that see or hear: functions of this folder."""

    with_picture = with_picture
    image = image
    image_grid = image_grid
    seconds = seconds
    word_times = word_times
