"""Objects under a location, in a folder or a bucket.

Keys are relative to the location and separated by `/`. Folders exist only where objects lie
below them, as in a bucket; an empty local folder is a name without keys.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lanceway.errors import InternalError, InvalidInputError, PermissionDeniedError, ServiceUnavailableError


@dataclass(frozen=True, slots=True)
class Object:
    """What a store says of an object without reading it."""

    key: str
    size: int
    modified_millis: int
    e_tag: str | None = None


class Store(ABC):
    """All objects below one location. Safe to use from several threads."""

    @abstractmethod
    def put_if_absent(self, key: str, data: bytes) -> bool:
        """Write an object unless one is there; of several writers one gets True. Never half visible."""

    @abstractmethod
    def put(self, key: str, data: bytes) -> None:
        """Write an object, replacing any that is there. Never half visible."""

    @abstractmethod
    def read(self, key: str) -> bytes | None:
        """Return the content of an object, None if there is no such object."""

    @abstractmethod
    def head(self, key: str) -> Object | None:
        """Size, time and tag of an object, None if there is none."""

    @abstractmethod
    def names(self, prefix: str = "") -> list[str]:
        """Return the names of the folders directly below `prefix`, in no order."""

    @abstractmethod
    def level(self, prefix: str = "") -> tuple[list[str], list[str]]:
        """Return the names of the folders and of the objects directly below `prefix`, in no order; one request."""

    @abstractmethod
    def objects(self, prefix: str = "") -> Iterator[Object]:
        """Return all objects below `prefix`, at any depth, in no order."""

    @abstractmethod
    def delete(self, *keys: str) -> None:
        """Remove objects; one that is not there is fine."""

    @abstractmethod
    def copy_if_absent(self, source: str, target: str) -> bool:
        """Copy an object unless the target is there. Raises InvalidInputError if the source is not."""

    def place_if_absent(self, source: str, target: str, data: bytes) -> bool:
        """Put what another object holds, unless the target is there; the source is about to be deleted."""
        return self.put_if_absent(target, data)

    def delete_if(self, key: str, test: Callable[[bytes], bool]) -> None:
        """Remove an object if what it holds passes a test.

        What takes its place in between is spared where folders are folders. A bucket cannot be asked for that.
        """
        data = self.read(key)
        if data is not None and test(data):
            self.delete(key)

    def exists(self, key: str) -> bool:
        """Return whether there is an object of this very key."""
        return self.head(key) is not None

    def has_any(self, prefix: str = "") -> bool:
        """Return whether any object is below `prefix`."""
        return next(self.objects(prefix), None) is not None

    def keys(self, prefix: str = "") -> Iterator[str]:
        return (stored.key for stored in self.objects(prefix))

    def remove_empty_folders(self, prefix: str = "", *, unless: str = "") -> None:  # noqa: B027 - a bucket has none
        """Remove local folders below `prefix`, and it, that hold no file; none if it holds the file `unless`."""


def checked_key(location: str, key: str) -> str:
    """Return a key that stays below its location. Raises InvalidInputError for one that would lead elsewhere."""
    if key.startswith("/") or (".." in key and ".." in key.split("/")):
        raise InvalidInputError(
            f"{key!r} is not a key below {location}: it begins with '/' or has a part '..'. Give a path inside it."
        )
    return key


# What absence looks like to the operating system: no such entry, or a file where a folder is asked for.
_ABSENT = (FileNotFoundError, NotADirectoryError)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_WEB = ("http:", "https:")
# The storage option that says when credentials end, in epoch milliseconds.
EXPIRES = "expires_at_millis"


def open_store(location: str, storage_options: Mapping[str, str] | None = None) -> Store:
    """Return the store rooted at a location, which need not exist yet."""
    path = local_path(location)
    if path is not None:
        return FolderStore(path)
    if location.lower().startswith(_WEB):  # which can be read, but neither listed nor written
        raise InvalidInputError(
            f"{location!r} cannot hold tables: it is a web address. Give a path, or a bucket such as s3://bucket/path."
        )
    from lanceway.tables.storage.bucket import BucketStore, is_usable_here
    from lanceway.tables.storage.fork import RelayedStore

    return (BucketStore if is_usable_here() else RelayedStore)(location, storage_options or {})


def local_path(location: str) -> Path | None:
    """Return the absolute local path that a location means, None if it is elsewhere."""
    if not location:
        raise InvalidInputError("A location is needed, but it is empty. Give a path or a URI such as s3://bucket/path.")
    if "://" not in location and not location.startswith("file:"):
        # One that is absolute means the same in every folder: it is asked for some times in each commit.
        return _remembered(location) if os.path.isabs(location) else Path(location).absolute()
    parts = urlsplit(location)
    if parts.scheme not in ("file", "file-object-store"):
        return None
    if parts.netloc not in ("", "localhost"):
        raise InvalidInputError(f"The location {location!r} names the host {parts.netloc!r}; write file:///path.")
    return Path(unquote(parts.path)).absolute()


_remembered = lru_cache(maxsize=4096)(Path)


class FolderStore(Store):
    """A local folder, through the operating system's own calls."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)

    def _path(self, key: str) -> str:
        return os.path.join(self._root, checked_key(self._root, key)) if key else self._root

    def put_if_absent(self, key: str, data: bytes) -> bool:
        with translated("write", self._path(key)), self._staged(key, data) as staged:
            return _link(staged, self._path(key))

    def put(self, key: str, data: bytes) -> None:
        with translated("write", self._path(key)), self._staged(key, data) as staged:
            os.replace(staged, self._path(key))

    @contextmanager
    def _staged(self, key: str, data: bytes) -> Iterator[str]:
        """Write the data to a hidden file beside its target, gone afterwards."""
        folder, name = os.path.split(self._path(key))
        os.makedirs(folder, exist_ok=True)
        staged = os.path.join(folder, f".{name[:100]}.{uuid.uuid4().hex}.part")
        try:
            with open(staged, "xb") as file:
                file.write(data)
            yield staged
        finally:
            with suppress(FileNotFoundError):
                os.unlink(staged)

    def read(self, key: str) -> bytes | None:
        with translated("read", self._path(key)):
            try:
                with open(self._path(key), "rb") as file:
                    return file.read()
            except (*_ABSENT, IsADirectoryError):
                return None

    def read_at_once(self, key: str, most: int) -> bytes | None:
        """Return the content of a regular file of at most `most` bytes, waiting for nothing but the disk.

        None means to `read` it: it cannot be opened, is larger, or is something whose other end may be awaited.
        """
        try:
            descriptor = os.open(self._path(key), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            status = os.fstat(descriptor)
            return os.read(descriptor, most) if stat.S_ISREG(status.st_mode) and status.st_size <= most else None
        except OSError:
            return None
        finally:
            os.close(descriptor)

    def head(self, key: str) -> Object | None:
        with translated("look at", self._path(key)):
            try:
                status = os.stat(self._path(key))
            except _ABSENT:
                return None
        return None if os.path.isdir(self._path(key)) else _object(key, status)

    def exists(self, key: str) -> bool:
        return os.path.isfile(self._path(key))

    def names(self, prefix: str = "") -> list[str]:
        return self.level(prefix)[0]

    def level(self, prefix: str = "") -> tuple[list[str], list[str]]:
        folders: list[str] = []
        files: list[str] = []
        with (
            translated("list", self._path(prefix)),
            suppress(*_ABSENT),
            os.scandir(self._path(prefix)) as entries,
        ):
            for entry in entries:
                (folders if entry.is_dir() else files).append(entry.name)
        return folders, files

    def objects(self, prefix: str = "") -> Iterator[Object]:
        with translated("list", self._path(prefix)):
            yield from self._below(prefix.rstrip("/"))

    def _below(self, prefix: str) -> Iterator[Object]:
        try:
            with os.scandir(self._path(prefix)) as listing:
                entries = list(listing)
        except _ABSENT:  # a folder may vanish while its parent is being listed
            return
        for entry in entries:
            key = f"{prefix}/{entry.name}" if prefix else entry.name
            # A link to a folder is an object: deleting all that is listed must not delete what is behind it.
            if entry.is_dir(follow_symlinks=False):
                yield from self._below(key)
            else:
                with suppress(FileNotFoundError):
                    yield _object(key, _status(entry))

    def delete(self, *keys: str) -> None:
        for path in [self._path(key) for key in keys]:
            with translated("delete", path), suppress(*_ABSENT):
                os.unlink(path)

    def place_if_absent(self, source: str, target: str, data: bytes) -> bool:
        try:
            return _link(self._path(source), self._path(target))  # the same file under another name
        except OSError:  # links may be missing or not allowed; a copy raises what else is wrong
            return self.put_if_absent(target, data)

    def copy_if_absent(self, source: str, target: str) -> bool:
        data = self.read(source)
        if data is None:
            raise InvalidInputError(f"{self._path(source)} cannot be copied: there is no such file.")
        return self.put_if_absent(target, data)

    def delete_if(self, key: str, test: Callable[[bytes], bool]) -> None:
        folder, name = os.path.split(self._path(key))
        with translated("delete", self._path(key)), suppress(*_ABSENT), _opened(folder) as inside:
            with open(name, "rb", opener=lambda name, flags: os.open(name, flags, dir_fd=inside)) as file:
                data = file.read()
            if test(data):
                os.unlink(name, dir_fd=inside)

    def remove_empty_folders(self, prefix: str = "", *, unless: str = "") -> None:
        # A link at `prefix` is no folder of this store: what is behind it stays.
        with suppress(*_ABSENT), _opened(self._path(prefix), follow=not prefix) as top:
            if unless and unless in os.listdir(top):
                return
            for _, folders, _, inside in os.fwalk(".", topdown=False, dir_fd=top):
                for name in folders:
                    with suppress(OSError):  # not empty, or gone already
                        os.rmdir(name, dir_fd=inside)
        with suppress(OSError):
            os.rmdir(self._path(prefix))


@contextmanager
def _opened(folder: str, *, follow: bool = True) -> Iterator[int]:
    """Open a folder itself, whatever gets its name later; NotADirectoryError for a link unless `follow`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | (0 if follow else os.O_NOFOLLOW))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _link(staged: str, path: str) -> bool:
    """Give the staged file its name, unless the name is taken: the one step that is exclusive."""
    try:
        os.link(staged, path)
    except FileExistsError:
        return False
    return True


def _status(entry: os.DirEntry[str]) -> os.stat_result:
    """Return an entry's status: of a link to a file the file's, which is what is read; of other links their own."""
    if entry.is_symlink() and not entry.is_file():
        return entry.stat(follow_symlinks=False)
    return entry.stat()


def _object(key: str, status: os.stat_result) -> Object:
    # The tag is written as pylance's own local store writes it.
    tag = f'"{status.st_ino:x}-{status.st_mtime_ns // 1000:x}-{status.st_size:x}"'
    return Object(key, status.st_size, status.st_mtime_ns // 1_000_000, tag)


@contextmanager
def translated(verb: str, path: str) -> Iterator[None]:
    """Translate what calls of the operating system raise into the contract's errors."""
    try:
        yield
    except PermissionError as error:
        raise PermissionDeniedError(
            f"This process may not {verb} {path}: {error.strerror}. Check the owner and mode of the folder."
        ) from error
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidInputError(f"Could not {verb} {path}: a file is in the way. Choose another path.") from error
    except OSError as error:
        if error.errno in _FULL:
            raise ServiceUnavailableError(
                f"Could not {verb} {path}: {error.strerror}. Free some space, and try again."
            ) from error
        kind = InvalidInputError if error.errno in (errno.ENAMETOOLONG, errno.EINVAL) else InternalError
        raise kind(f"Could not {verb} {path}: {error.strerror}.") from error
    except ValueError as error:  # a zero byte in a path
        raise InvalidInputError(f"{path!r} is not a valid path: {error}.") from error
