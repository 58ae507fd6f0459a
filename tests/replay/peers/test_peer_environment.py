"""Environments of peers: which there are, at which versions, and how they come to be."""

import fcntl
import importlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from slicetape.errors import PeerError
from slicetape.replay.peers.environment import Environment
from slicetape.replay.peers.pins import DRIVERS, Peer, all_peers, peers


def peer(*packages: str) -> Peer:
    return Peer(name="fake", packages=packages, driver="none.py", does="tests", setups=())


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """An empty folder is all that pip may look into."""
    (tmp_path / "wheels").mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))


def test_every_peer_is_pinned_and_has_a_driver_and_setups():
    names = [one.name for one in all_peers()]
    assert names == ["headroom", "langchain", "pydantic", "openai-agents"]
    for one in all_peers():
        assert all("==" in package for package in one.packages)
        assert one.script.parent == DRIVERS
        assert one.script.is_file()
        assert one.setups


def test_an_environment_is_named_by_package_and_version_under_the_home_of_slicetape(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("SLICETAPE_HOME", str(tmp_path))
    (headroom,) = peers("headroom")
    place = Environment.of(headroom)
    assert place.folder == tmp_path / "peers" / "headroom-ai-0.42.0"
    assert place.home == place.folder / "home"
    assert not place.ready


def test_peers_and_setups_are_chosen_by_name():
    chosen = peers("openai-agents, langchain:30k/3,langchain:100k/3")
    assert [one.name for one in chosen] == ["openai-agents", "langchain"]
    assert [setup.name for setup in chosen[1].setups] == ["30k/3", "100k/3"]
    assert peers("langchain,langchain:30k/3") == peers("langchain")
    assert peers("") == ()


def test_names_that_mean_nothing_are_told():
    with pytest.raises(PeerError, match="unknown peer 'hedroom'; there are headroom, langchain"):
        peers("hedroom")
    with pytest.raises(
        PeerError, match="peer pydantic has no setup '1k'; it has 10k, 4k, clear 100k/3"
    ):
        peers("pydantic:1k")


def wheel(folder: Path) -> None:
    """A package `thing` of version 2 that has one module."""
    about = "thing-2.dist-info"
    with zipfile.ZipFile(folder / "thing-2-py3-none-any.whl", "w") as made:
        made.writestr("thing.py", "SAID = 'hello'\n")
        made.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 2\n")
        made.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        made.writestr(f"{about}/RECORD", "")


def test_an_environment_is_made_when_it_is_asked_for_and_apart_from_ours(offline, tmp_path):
    wheel(tmp_path / "wheels")
    said: list[str] = []
    place = Environment.of(peer("thing==2"), home=tmp_path)
    place.install(said.append)
    assert place.ready
    assert place.folder == tmp_path / "peers" / "thing-2"
    assert said[0] == "fake: making an environment for thing==2"
    assert any(line.startswith("fake: Installing collected packages: thing") for line in said)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("thing")
    told = subprocess.run(
        [place.python, "-c", "import thing; print(thing.SAID)"], capture_output=True, check=True
    )
    assert told.stdout.split() == [b"hello"]


def test_a_registry_out_of_reach_is_told_with_what_to_do(offline, tmp_path):
    said: list[str] = []
    place = Environment.of(peer("slicetape-has-no-such-peer==1.0"), home=tmp_path)
    with pytest.raises(PeerError) as caught:
        place.install(said.append)
    text = str(caught.value)
    assert "no package registry that pip is set up for offers it" in text
    assert text.endswith("try again; without it the peer is reported as absent")
    assert said == ["fake: making an environment for slicetape-has-no-such-peer==1.0"]
    assert not place.ready
    assert place.python.exists()  # the next try begins anew


def test_a_whole_environment_is_taken_as_it_is(tmp_path):
    place = Environment.of(peer("thing==2"), home=tmp_path)
    place.python.parent.mkdir(parents=True)
    place.python.symlink_to(sys.executable)
    (place.folder / "installed").write_text("thing==2\n")
    said: list[str] = []
    place.install(said.append)
    assert (place.ready, said) == (True, [])
    other = Environment(peer("thing==2", "part==1"), place.folder)
    assert not other.ready  # a pin changed


def test_two_programs_do_not_make_one_environment(tmp_path):
    place = Environment.of(peer("thing==2"), home=tmp_path)
    place.folder.parent.mkdir(parents=True)
    with Path(f"{place.folder}.lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(PeerError, match="another process installs it; wait for it"):
            place.install()


def test_a_home_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "peers").write_text("a file")
    with pytest.raises(PeerError, match="cannot be written"):
        Environment.of(peer("thing==2"), home=tmp_path).install()
