"""The page of the server as a person uses it, in a browser."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.browser import complaints, open_browser
from support.servers import until

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "build" / "page"  # not tracked
AXE = "axe-core@4.14.0"


class Page:
    """The page in a browser, at a server."""

    def __init__(self, browser, server):
        self.browser, self.server = browser, server

    def open(self, link):
        """Show what a link says, in a fresh document."""
        self.browser.get("about:blank")
        self.browser.get(f"{self.server.address}/{link}")
        self.drawn()

    def drawn(self):
        """Wait until what is shown is what the address says."""
        until(lambda: self.run("return document.body.dataset.drawn === location.hash"))

    def run(self, script, *given):
        return self.browser.execute_script(script, *given)

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def one(self, selector):
        return self.browser.find_element("css selector", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def text(self, selector):
        (text,) = self.texts(selector)
        return text

    def click(self, selector):
        """Click, and wait for the answer."""
        self.run("delete document.body.dataset.drawn", selector)
        self.run("document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })", selector)
        self.one(selector).click()
        self.drawn()

    def set(self, name, value, event="change"):
        """Set a control, and wait for the answer."""
        self.run(
            "delete document.body.dataset.drawn; const e = document.getElementById(arguments[0]);"
            "e[e.type === 'checkbox' ? 'checked' : 'value'] = arguments[1]; e.dispatchEvent(new Event(arguments[2]))",
            name, value, event,
        )  # fmt: skip
        self.drawn()

    def focus(self, selector):
        self.run("document.querySelector(arguments[0]).focus()", selector)

    def press(self, *keys, waits=False):
        """Press keys where the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        if waits:
            self.run("delete document.body.dataset.drawn")
        ActionChains(self.browser).send_keys(*keys).perform()
        if waits:
            self.drawn()

    @property
    def focused(self):
        """The key of what has the focus, which is the same after it is drawn again, or its id."""
        return self.run("const e = document.activeElement; return e.dataset.key ?? (e.id || e.tagName)")

    @property
    def labels(self):
        return self.texts("#best .label")

    @property
    def words(self):
        return self.texts("#best .form")

    def picture(self, name):
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.browser.save_screenshot(str(PICTURES / f"{name}.png"))


def open_page(folder, server):
    """Return a page in a browser of its own, whose profile is in this folder."""
    return Page(open_browser(folder, 1180, 1500), server)


def quiet(page):
    """Yield the page to a test, after which the console must have no complaints."""
    complaints(page.browser)
    yield page
    assert complaints(page.browser) == []


def axe_script():
    """Return the source of axe-core, fetched once into build/; without npm, skip the test."""
    folder = ROOT / "build" / "axe"
    script = folder / "package" / "axe.min.js"
    if not script.exists():
        if not shutil.which("npm"):
            pytest.skip("npm is not installed, which fetches axe-core")
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", AXE, "--silent", "--pack-destination", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
        if done.returncode:
            pytest.skip(f"axe-core cannot be fetched: {done.stderr[-300:]}")
        (packed,) = re.findall(r"\S+\.tgz", done.stdout)
        subprocess.run(["tar", "-xzf", folder / packed, "-C", folder], check=True)
    return script.read_text(encoding="utf-8")


def axe_findings(page):
    """Return what axe-core reports as serious or critical: (rule, elements)."""
    if not page.run("return Boolean(window.axe)"):
        page.run(axe_script())
    found = page.browser.execute_async_script(
        "const done = arguments[0]; axe.run({ resultTypes: ['violations'] }).then((r) => done(r.violations.map("
        "(v) => [v.impact, v.id, v.nodes.map((n) => n.html.slice(0, 200))])));"
    )
    return [own for own in found if own[0] in ("serious", "critical")]


# Of every visible piece of text: the ratio of its luminance to that of what is behind it (WCAG 2, 1.4.3).
CONTRASTS = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function rgba(colour) {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
}
const over = (top, below) => [0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3])).concat(1);
function ground(element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) layers.unshift(rgba(getComputedStyle(e).backgroundColor));
  return layers.reduce((below, top) => over(top, below), [255, 255, 255, 1]);
}
const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const made = [];
for (const element of document.querySelectorAll("main *, header *")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (element.closest("svg, option") || !own) continue;
  if (!element.getClientRects().length) continue;
  const below = ground(element), text = over(rgba(getComputedStyle(element).color), below);
  const [a, b] = [light(text), light(below)].sort((x, y) => y - x);
  made.push((a + 0.05) / (b + 0.05));
}
return made;
"""
