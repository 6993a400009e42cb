"""How many bytes of requests the server holds at once."""

from __future__ import annotations

from http import HTTPStatus

from rubricgrade.server.refusing import CLOSE, Refused


class Share:
    """What one request holds."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.size = 0

    def close(self) -> None:
        """Hold nothing any more."""
        self._room.held -= self.size
        self.size = 0

    def check(self, size: int) -> None:
        """Find out whether so many bytes more could be held if nobody else held any.

        Raises:
            Refused: They could not (413).
        """
        if self.size + size > self._room.most:
            message = (
                f"the request takes more, unpacked, than the {self._room.most} bytes that all requests may together"
            )
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", message, CLOSE)

    def grow(self, size: int) -> None:
        """Hold so many bytes more.

        Raises:
            Refused: There is no room for them now (429), or there never is (413).
        """
        self.check(size)
        self._room.take(size)
        self.size += size


class Room:
    """Bytes that all requests may hold together.

    Attributes:
        most: That many.
        held: Bytes that are held now.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0

    def share(self) -> Share:
        """For one request; has to be closed."""
        return Share(self)

    def take(self, size: int) -> None:
        """Hold so many bytes more.

        Raises:
            Refused: There is no room for them now.
        """
        if self.held + size > self.most:
            message = "the requests that are being read or answered take all the room that there is; try again later"
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "busy", message, {"retry-after": "1"})
        self.held += size
