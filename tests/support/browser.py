"""A browser that no one sees: Debian's Chromium and its driver, and what the console of a page says."""

import shutil

import pytest

OPTIONS = [
    "--headless=new",
    "--no-sandbox",  # which root cannot have
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]


def open_browser(folder, width=1200, height=1000, dark=False):
    """Return a driver whose profile is in this folder, to be ended by quit(); without Chromium, skip the test."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed; see the extra test")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("no Chromium and its driver; Debian has them: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for option in [*OPTIONS, f"--user-data-dir={folder}", f"--window-size={width},{height}"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    view(browser, width, height, dark)
    return browser


def view(browser, width, height=1000, dark=False):
    """Let the browser show pages at this size, in a light or dark theme."""
    answer = {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", answer)
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def complaints(browser):
    """Messages of the console since the last call, except debug messages."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] in ("WARNING", "SEVERE")]
