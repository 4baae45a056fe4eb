"""A real browser for tests: Chromium without a window, where it and its driver are installed."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def missing() -> str:
    """Why there is no browser to test with, "" where there is one."""
    try:
        import axe_core_python  # noqa: F401
        import selenium  # noqa: F401
    except ImportError as lacking:
        return f"{lacking.name} is not installed: pip install selenium axe-core-python"
    if _program() is None or shutil.which("chromedriver") is None:
        return "no browser: install chromium and its driver (Debian: apt-get install chromium chromium-driver)"
    return ""


def _program() -> str | None:
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


@contextmanager
def browser(folder: Path) -> Iterator[Any]:
    """A driver that logs the console and the network; its profile lies in the folder."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = _program() or ""
    for argument in (
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--window-size=1200,900",
        f"--user-data-dir={folder}",
        *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(120)
    try:
        yield driver
    finally:
        driver.quit()


def until(found: Callable[[], Any], what: str, seconds: float = 30.0) -> Any:
    """The first value that is true; fails after a while, saying what was waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = found()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited in vain: {what}")


def open_page(driver: Any, path: Path, look: str = "light") -> None:
    """Opens a page and waits until its charts are drawn."""
    emulate(driver, look)
    for kind in ("browser", "performance"):
        driver.get_log(kind)
    driver.get(path.as_uri())
    drawn(driver, look)


def drawn(driver: Any, look: str) -> None:
    """Waits until the charts are drawn in a look."""
    until(lambda: driver.execute_script("return document.documentElement.dataset.drawn") == look, f"{look} charts")


def emulate(driver: Any, look: str, media: str = "") -> None:
    """Has the reader's system be light or dark, and the page be on a screen or on paper."""
    feature = {"name": "prefers-color-scheme", "value": look}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})


def requests(driver: Any) -> list[str]:
    """What was asked for since the last look, but for data in the page itself."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [url for url in asked if not url.startswith(("data:", "blob:"))]


def by_role(driver: Any, role: str) -> dict[str, str]:
    """The elements of a role as an assistive program finds them: by their names, their texts."""
    nodes = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    by_id = {node["nodeId"]: node for node in nodes}

    def text(node: dict[str, Any]) -> str:
        if node["role"]["value"] == "StaticText":
            return str(node["name"]["value"])
        return " ".join(filter(None, (text(by_id[child]) for child in node.get("childIds", ()) if child in by_id)))

    found = (n for n in nodes if not n.get("ignored") and n.get("role", {}).get("value") == role)
    return {node.get("name", {}).get("value", ""): text(node) for node in found}


def faults(driver: Any) -> list[str]:
    """What axe-core finds against WCAG 2 A and AA, each with its elements."""
    from axe_core_python.selenium import Axe

    found = Axe().run(driver, None, {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]})
    return [f"{one['id']}: {[node['html'][:160] for node in one['nodes']][:4]}" for one in found["violations"]]
