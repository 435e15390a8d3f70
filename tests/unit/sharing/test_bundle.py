"""Bundles: what was written is read; what was tampered with, or made to hurt, is refused and nothing of it is taken."""

import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pincite.domain.errors import InvalidInput, InvalidSetting, ShareRefused
from pincite.domain.ids import sha256_hex
from pincite.sharing import items as bundles
from pincite.sharing.items import BundleWriter, Item, Kind, Signer, item_of, read_bundle, vet_key

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SIGNER, STRANGER = Signer(bytes(range(32))), Signer(bytes(32))
ITEMS = tuple(
    item_of(Kind.CAPTURE, str(n), NOW, f"body {n}".encode() * 50, url=f"https://a.example/{n}") for n in range(3)
)


def written(path: Path, items: tuple[Item, ...] = ITEMS, signer: Signer = SIGNER) -> Path:
    writer = BundleWriter(path, signer)
    assert all(writer.add(item) for item in items)
    assert writer.finish(NOW) == path.stat().st_size
    writer.give_up()
    return path


def read(path: Path, *keys: str) -> list[Item | ShareRefused]:
    return [item for _, item in read_bundle(path, keys or (SIGNER.public,), lambda: NOW) if item is not None]


def listing(names: list[str]) -> bytes:
    body = json.dumps(names).encode()
    return SIGNER.sealed(item_of(Kind.BUNDLE, sha256_hex(body), NOW, body))


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a.pincite")
    assert read(path) == list(ITEMS)
    given = [(key, item is None) for key, item in read_bundle(path, (STRANGER.public, SIGNER.public), lambda: NOW)]
    assert given == [(SIGNER.public, True)] + [(SIGNER.public, False)] * 3
    names = zipfile.ZipFile(path).namelist()
    assert {sha256_hex(zipfile.ZipFile(path).read(name)) for name in names[:-1]} == {name[6:] for name in names[:-1]}
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.pincite"]


def test_an_item_is_in_it_once_and_the_same_items_make_the_same_names(tmp_path: Path) -> None:
    twice = written(tmp_path / "a", (*ITEMS, *ITEMS))
    assert read(twice) == list(ITEMS)
    assert zipfile.ZipFile(twice).namelist() == zipfile.ZipFile(written(tmp_path / "b")).namelist()


def test_a_full_bundle_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "ITEMS_MAX", 2)
    writer = BundleWriter(tmp_path / "a", SIGNER)
    assert [writer.add(item) for item in ITEMS] == [True, True, False]
    writer.finish(NOW)
    assert read(tmp_path / "a") == list(ITEMS[:2])


def test_a_place_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="can't be written"):
        BundleWriter(tmp_path / "none" / "a", SIGNER)
    with pytest.raises(InvalidInput, match="can't be read"):
        read(tmp_path / "none")


def _zip(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", compression) as out:
        for name, data in members.items():
            out.writestr(name, data)


def _with(path: Path, change: Callable[[dict[str, bytes]], None], compression: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path) as found:
        members = {name: found.read(name) for name in found.namelist()}
    change(members)
    _zip(path, members, compression)


def _another_name(members: dict[str, bytes]) -> None:
    members["items/../../../evil"] = b"x"


def _absolute(members: dict[str, bytes]) -> None:
    members["/etc/passwd"] = b"x"


def _one_more(members: dict[str, bytes]) -> None:
    data = SIGNER.sealed(item_of(Kind.CAPTURE, "x", NOW, b"smuggled"))
    members[f"items/{sha256_hex(data)}"] = data


def _one_less(members: dict[str, bytes]) -> None:
    del members[next(iter(members))]


def _no_list(members: dict[str, bytes]) -> None:
    del members["bundle.item"]


def _list_of_a_stranger(members: dict[str, bytes]) -> None:
    body = json.dumps([]).encode()
    members["bundle.item"] = STRANGER.sealed(item_of(Kind.BUNDLE, sha256_hex(body), NOW, body))


def _list_of_tomorrow(members: dict[str, bytes]) -> None:
    body = json.dumps([name[6:] for name in members if name != "bundle.item"]).encode()
    members["bundle.item"] = SIGNER.sealed(item_of(Kind.BUNDLE, "", NOW + timedelta(days=1), body))


def _item_as_list(members: dict[str, bytes]) -> None:
    members["bundle.item"] = SIGNER.sealed(ITEMS[0])


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("malformed", _another_name),
        ("malformed", _absolute),
        ("malformed", _one_more),
        ("malformed", _one_less),
        ("malformed", _no_list),
        ("malformed", _item_as_list),
        ("bad_signature", _list_of_a_stranger),
        ("future_date", _list_of_tomorrow),
    ],
)
def test_a_bundle_that_was_changed_is_refused_as_a_whole(
    tmp_path: Path, reason: str, change: Callable[[dict[str, bytes]], None]
) -> None:
    path = written(tmp_path / "a")
    _with(path, change)
    with pytest.raises(ShareRefused) as refused:
        read(path)
    assert refused.value.reason == reason
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_an_item_that_does_not_hold_is_refused_by_itself(tmp_path: Path) -> None:
    path = written(tmp_path / "a")

    def swap(members: dict[str, bytes]) -> None:
        first = next(iter(members))
        members[first] = members[first].replace(b"body 0", b"BODY 0")
        stolen = STRANGER.sealed(ITEMS[0])
        members[f"items/{sha256_hex(stolen)}"] = stolen
        members["bundle.item"] = listing([name[6:] for name in members if name != "bundle.item"])

    _with(path, swap)
    found = read(path)
    assert [item.reason for item in found if isinstance(item, ShareRefused)] == ["wrong_hash", "bad_signature"]
    assert [item for item in found if isinstance(item, Item)] == list(ITEMS[1:])


def test_a_stranger_s_bundle_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "a", signer=STRANGER)
    with pytest.raises(ShareRefused, match="not signed with a key that is trusted") as refused:
        read(path)
    assert "--key" in refused.value.hint
    with pytest.raises(ShareRefused):
        list(read_bundle(path, (), lambda: NOW))


def test_bombs_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = bytes(40_000_000)
    name = sha256_hex(bomb)
    _zip(tmp_path / "a", {f"items/{name}": bomb, "bundle.item": listing([name])})
    assert (tmp_path / "a").stat().st_size < 60_000
    (refused,) = read(tmp_path / "a")
    assert isinstance(refused, ShareRefused)
    assert refused.reason == "too_large"
    lying = (tmp_path / "a").read_bytes().replace((40_000_000).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    (tmp_path / "b").write_bytes(lying)
    (refused,) = read(tmp_path / "b")
    assert isinstance(refused, ShareRefused)
    assert refused.reason == "malformed"
    monkeypatch.setattr(bundles, "UNPACKED_BYTES_MAX", 1_000_000)
    with pytest.raises(ShareRefused, match="larger unpacked than"):
        read(tmp_path / "a")


def test_a_directory_of_millions_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a")
    data = bytearray(path.read_bytes())
    data[-12:-10] = (65_000).to_bytes(2, "little")
    path.write_bytes(data)
    with pytest.raises(ShareRefused, match="more items"):
        read(path)
    other = written(tmp_path / "b")
    monkeypatch.setattr(bundles, "FILE_BYTES_MAX", 10)
    with pytest.raises(ShareRefused, match="larger than a bundle"):
        read(other)


@pytest.mark.parametrize("data", [b"", b"PK", b"x" * 100, b"PK\x05\x06" + bytes(18)])
def test_other_files_are_no_bundles(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ShareRefused) as refused:
        read(tmp_path / "a")
    assert refused.value.reason == "malformed"


def test_a_damaged_bundle_is_refused_wherever_it_is_damaged(tmp_path: Path) -> None:
    whole = written(tmp_path / "a").read_bytes()
    for at in range(0, len(whole), 7):
        (tmp_path / "b").write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            found = read(tmp_path / "b")
        except ShareRefused:
            continue
        assert all(item in ITEMS for item in found if isinstance(item, Item)), at


def test_other_kinds_of_compression_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a")
    _with(path, lambda members: None, zipfile.ZIP_LZMA)
    with pytest.raises(ShareRefused):
        read(path)


@pytest.mark.parametrize("text", ["", "ed25519:", "ed25519:AAAA", "rsa:" + "A" * 44, "ed25519:" + "é" * 44])
def test_a_key_is_32_bytes(text: str) -> None:
    assert vet_key(SIGNER.public) == SIGNER.public
    with pytest.raises(InvalidSetting):
        vet_key(text)
