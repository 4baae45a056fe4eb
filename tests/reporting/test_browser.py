"""Every family's report in a real browser: it draws, leaves the console silent, asks for nothing, serves everybody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mrdsl.core.charts import LineChart, Series
from mrdsl.core.result import Result, Table
from mrdsl.explaining.report import report
from mrdsl.explaining.sensitivity import How
from mrdsl.families import SHIPPED
from mrdsl.language.loading import load_file
from mrdsl.reporting.report import Report, Section
from mrdsl.reporting.report_files import page
from mrdsl.sweeping.cells import sweep_report
from studies.study_files import study_report
from tests.reporting.browser import (
    browser,
    by_role,
    drawn,
    emulate,
    faults,
    missing,
    open_page,
    requests,
    until,
)
from tests.reporting.test_page import hostile

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "there is one")
ROOT = Path(__file__).resolve().parents[2]
CURVES = {"capacity": 60.0}
"""What-if curves are those of one family, for as long as they take."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def driver(folder: Path) -> Iterator[Any]:
    with browser(folder / "profile") as started:
        yield started


def made(folder: Path, family: str) -> tuple[Path, str]:
    """The page of a family's reference spec, and its decision."""
    loaded = load_file(ROOT / "models" / family / "reference.mrspec")
    assert loaded.spec is not None
    whole, result = report(loaded.spec, How(seconds=CURVES.get(family, 0.0)), "mrdsl report", known=loaded.diagnostics)
    assert isinstance(result, Result)
    path = folder / f"{family}.html"
    path.write_text(page(whole), encoding="utf-8")
    return path, whole.decision


@pytest.mark.parametrize("family", SHIPPED)
def test_a_report_is_opened(driver: Any, folder: Path, family: str) -> None:
    path, decision = made(folder, family)
    open_page(driver, path)
    assert driver.get_log("browser") == []
    assert requests(driver) == [path.as_uri()]
    assert decision in by_role(driver, "region")["Decision"]
    assert list(by_role(driver, "main")) == [""]
    assert list(by_role(driver, "navigation")) == ["Sections"]
    charts = driver.execute_script("return document.querySelectorAll('figure').length")
    assert charts >= 1
    assert driver.execute_script("return document.querySelectorAll('figure.drawn .live svg.marks').length") == charts
    assert faults(driver) == []
    emulate(driver, "dark")
    drawn(driver, "dark")
    assert family != "capacity" or faults(driver) == []
    assert driver.get_log("browser") == []


def test_tooltips_answer_wheels_zoom_legends_filter_and_keys_work(driver: Any, folder: Path) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    path, _ = made(folder, "capacity")
    open_page(driver, path)
    driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert driver.switch_to.active_element.text == "Skip to the report"
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    until(lambda: driver.current_url.endswith("#content"), "the skip link")
    summary = driver.find_element(By.CSS_SELECTOR, "#chart-1 > details > summary")
    driver.execute_script("arguments[0].focus()", summary)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert "103.488" in driver.find_element(By.CSS_SELECTOR, "#chart-1 > details table").text

    def marks() -> list[Any]:
        return list(driver.find_elements(By.CSS_SELECTOR, "#chart-3 .mark-rect.role-mark path"))

    bars = marks()
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", bars[0])
    ActionChains(driver).move_to_element(bars[0]).perform()
    shown = until(
        lambda: driver.execute_script("return document.querySelector('#vg-tooltip-element.visible')?.innerText"),
        "a tooltip",
    )
    assert "twitter" in shown
    assert "admitted" in shown
    ticks = "return [...document.querySelectorAll('#chart-2 .role-axis-label text')].map(one => one.textContent).join()"
    whole = driver.execute_script(ticks)
    chart = driver.find_element(By.CSS_SELECTOR, "#chart-2 .live svg.marks")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    ActionChains(driver).scroll_from_origin(ScrollOrigin.from_element(chart), 0, -120).perform()
    until(lambda: driver.execute_script(ticks) != whole, "zoom by the wheel")
    before = len(bars)
    symbol = driver.find_elements(By.CSS_SELECTOR, "#chart-3 .role-legend .mark-symbol path")[1]
    ActionChains(driver).move_to_element(symbol).click().perform()
    until(lambda: 0 < len(marks()) < before, "the legend's filter")


def test_a_slider_shows_the_values_of_the_nearest_point(driver: Any, folder: Path) -> None:
    from selenium.webdriver.common.by import By

    places = [70.0, 100.0, 130.0]
    lines = (Series("a", places, [9.0, 5.0, 2.5]), Series("b", places, [7.0, None, 3.5]))
    chart = LineChart("Cost over deadlines", "deadline [%]", "cost [USD]", lines, slider=100.0)
    path = folder / "slider.html"
    path.write_text(page(Report("t", "", "", (Section("What if", (chart,)),))), encoding="utf-8")
    open_page(driver, path)
    assert requests(driver) == [path.as_uri()]
    slider = driver.find_element(By.CSS_SELECTOR, "input[type=range]")
    shown = (
        "return [...document.querySelectorAll('.live .mark-text.role-mark text')].map(one => one.textContent).sort()"
    )
    within = """
        const box = document.querySelector('.live .mark-rule.role-mark').closest('.mark-group.role-scope, svg')
            .querySelector('.background').getBoundingClientRect();
        return [...document.querySelectorAll('.live .mark-text.role-mark text')].map(
            one => one.getBoundingClientRect()).every(one => box.left <= one.left
                && one.right <= box.right && box.top <= one.top && one.bottom <= box.bottom)
    """
    assert driver.execute_script(within)
    assert driver.execute_script(shown) == ["5"], "b has no value at 100 %"
    for value, expected in ((121, ["2.5", "3.5"]), (75, ["7", "9"])):
        move = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
        driver.execute_script(move, slider, value)
        until(lambda expected=expected: driver.execute_script(shown) == expected, "the values at the slider")
        assert driver.execute_script(within), "the words are in the chart, which is clipped"
    assert driver.get_log("browser") == []


def test_sweeps_and_studies_have_pages_too(driver: Any, folder: Path) -> None:
    rows = [{"run": i, "peak": i % 3, "seed": i, "value": float(i), "unit": "USD"} for i in range(1, 7)]
    sweep = sweep_report(rows, ["peak"], "night.mrspec", "mrdsl sweep night.mrspec")
    charts = [part for part in sweep.sections[0].parts if not isinstance(part, str)]
    tables = [part for part in sweep.sections[1].parts if isinstance(part, Table)]
    study = study_report("small", "what is studied", charts, tables, {"points": 2}, "python -m studies small")
    for name, whole in (("sweep", sweep), ("study", study)):
        path = folder / f"{name}.html"
        path.write_text(page(whole), encoding="utf-8")
        open_page(driver, path)
        assert driver.get_log("browser") == []
        assert requests(driver) == [path.as_uri()]
        assert whole.decision in by_role(driver, "region")["Decision"]
        assert faults(driver) == []


def test_paper_gets_pictures(driver: Any, folder: Path) -> None:
    path, _ = made(folder, "bounds")
    open_page(driver, path, "dark")
    emulate(driver, "dark", "print")
    shown = "return getComputedStyle(document.querySelector(arguments[0])).display"
    assert driver.execute_script(shown, "figure .still") != "none"
    assert driver.execute_script(shown, "figure .live") == "none"
    assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_names_that_are_markup_do_nothing(driver: Any, folder: Path) -> None:
    path = folder / "hostile.html"
    path.write_text(page(hostile()), encoding="utf-8")
    open_page(driver, path)
    assert driver.get_log("browser") == []
    assert requests(driver) == [path.as_uri()]
    assert driver.execute_script("return document.querySelectorAll('img[src=x], [onerror]').length") == 0
    assert "</script><script>alert(1)" in driver.execute_script("return document.querySelector('h1').textContent")
