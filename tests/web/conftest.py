"""A lounge, a real server on loopback, and a browser, where there is one."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from asynccfr.games import load_game
from asynccfr.web.lounge import open_lounge
from tests.cli.command_line import ENVIRONMENT


@pytest.fixture
async def lounge(tmp_path):
    async with open_lounge(tmp_path, load_game("lost_cities")) as lounge:
        yield lounge


@contextmanager
def running(data: Path, *options: str, end: int = signal.SIGINT) -> Iterator[str]:
    """`asynccfr web` in a process of its own, ended by a signal; its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "asynccfr", "web", "--port", "0", "--data", str(data), *options],
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[0].rstrip("/")
    finally:
        process.send_signal(end)
        process.wait(20)
        process.stdout.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("tables"), "--rate", "5000") as address:
        yield address


# Not of the session: while it is open no test of another module could run an event loop.
@pytest.fixture(scope="module")
def browser():
    """Headless Chromium, of the system."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as running_playwright:
        browser = running_playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser) -> Iterator[Callable]:
    """Pages, each of a context of its own; an error of a script fails the test."""
    contexts, errors = [], []

    def open_page(width=1280, height=860, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
