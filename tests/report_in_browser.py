#!/usr/bin/env python3
"""Opens the pages that `regtune report` makes in headless Chromium and looks at them as a reader would.

    tests/report_in_browser.py build/dev/regtune tests/data/h200 [FOLDER for screenshots]

Exit code 0: all is right; 1: something is not, which is said; 77: there is no Chromium here.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Browser:
    """Chromium, spoken to over a pair of pipes (--remote-debugging-pipe): nothing beside Python is needed."""

    def __init__(self, program, profile):
        # High numbers first, so that neither end lies where the other is to go.
        commands, self._commands = self._pipe()
        self._answers, answers = self._pipe()

        def place_pipes():
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        self._process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-extensions", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=place_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self._number = 0
        self._left = b""
        self.events = []

    @staticmethod
    def _pipe():
        import fcntl
        ends = os.pipe()
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends]
        for end in ends:
            os.close(end)
        return high

    def _next(self):
        while b"\0" not in self._left:
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise RuntimeError("Chromium has ended")
            self._left += part
        message, self._left = self._left.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, session=None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") != self._number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self._next())

    def close(self):
        try:
            self.ask("Browser.close")
        except (RuntimeError, OSError):
            pass
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Page:
    def __init__(self, browser, file, width=1000, dark=False, fragment=""):
        self._browser = browser
        browser.events.clear()
        target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        self._target = target
        self._session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")
        self._width = width
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self._ask("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self._ask("Page.navigate", url=pathlib.Path(file).resolve().as_uri() + fragment)
        browser.wait_for("Page.loadEventFired")

    def _ask(self, method, **parameters):
        return self._browser.ask(method, session=self._session, **parameters)

    def run(self, script):
        answer = self._ask("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    def complaints(self):
        """Whatever the console says, whatever went wrong, and whatever the page asked of the network."""
        self.run("1")
        said = []
        for event in self._browser.events:
            method = event.get("method")
            if method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
                said.append(json.dumps(event["params"])[:400])
            if method == "Network.requestWillBeSent":
                url = event["params"]["request"]["url"]
                if not url.startswith("file:"):
                    said.append("asked for " + url)
        return said

    def screenshot(self, file, height):
        clip = {"x": 0, "y": 0, "width": self._width, "height": height, "scale": 1}
        shot = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        pathlib.Path(file).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self):
        return base64.b64decode(self._ask("Page.printToPDF", printBackground=True)["data"])

    def close(self):
        self._browser.ask("Target.closeTarget", targetId=self._target)


faults = []


def expect(truth, what):
    if not truth:
        faults.append(what)
        print(f"FAULT: {what}")


VISIBLE_POINTS = """Array.from(document.querySelectorAll('.point')).filter(
    point => point.getBoundingClientRect().width > 0).length"""
COLUMN = """(key => { const at = document.querySelector('button[data-key=' + key + ']').parentNode.cellIndex;
    return Array.from(document.querySelector('table.codes').tBodies[0].rows,
                      row => row.cells[at].getAttribute('data-v')); })"""


def numbers(page, key):
    return [float(value) for value in page.run(f"{COLUMN}('{key}')") if value != ""]


def distinct_codes(record):
    return sum(1 for trial in record["trials"] if trial["facts"] and trial["outcome"]["kind"] != "same code as")


def look_at_one(browser, file, record, name):
    page = Page(browser, file)
    codes = distinct_codes(record)
    expect(page.run(VISIBLE_POINTS) == codes, f"{name}: {page.run(VISIBLE_POINTS)} points for {codes} codes")
    rows = page.run("document.querySelector('table.codes').tBodies[0].rows.length")
    expect(rows == codes, f"{name}: {rows} rows for {codes} codes")
    expect(numbers(page, "time") == sorted(numbers(page, "time")), f"{name}: the table does not begin with the fastest")
    for key in ("registers", "stores", "speedup"):
        page.run(f"document.querySelector('button[data-key={key}]').click()")
        expect(numbers(page, key) == sorted(numbers(page, key)), f"{name}: a click does not sort by {key}")
        page.run(f"document.querySelector('button[data-key={key}]').click()")
        expect(numbers(page, key) == sorted(numbers(page, key), reverse=True),
               f"{name}: a second click does not turn the order by {key}")
    page.run("document.querySelector('svg.wide .point').dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))")
    expect(page.run("document.querySelectorAll('tr.hot').length") == 1, f"{name}: pointing at a mark does not mark its row")
    expect(page.complaints() == [], f"{name}: {page.complaints()}")
    page.close()

    page = Page(browser, file, fragment="#sort=registers,desc")
    expect(numbers(page, "registers") == sorted(numbers(page, "registers"), reverse=True),
           f"{name}: #sort=registers,desc does not sort")
    expect(page.run("document.querySelector('th[aria-sort=descending] button').dataset.key") == "registers",
           f"{name}: the sorted column does not say so")
    page.close()


def look_at_widths(browser, file, name, points):
    for width in (320, 360, 412, 768, 1000, 1600):
        page = Page(browser, file, width=width)
        wide = page.run("document.documentElement.scrollWidth")
        expect(wide <= width, f"{name}: {wide} px wide in a window of {width}")
        expect(page.run(VISIBLE_POINTS) == points, f"{name}: not every point is there at {width} px")
        small = page.run("""Math.min(...Array.from(document.querySelectorAll('svg text')).map(text => {
            const svg = text.ownerSVGElement; const box = svg.getBoundingClientRect();
            return box.width === 0 ? 99 : 12 * box.width / svg.viewBox.baseVal.width; }))""")
        expect(small >= 9, f"{name}: letters of {small:.1f} px at {width} px")
        tall = page.run("""Math.max(0, ...Array.from(document.querySelectorAll('td[data-head=Best], td[data-head=Gain]'))
            .map(cell => { const text = document.createRange(); text.selectNodeContents(cell);
                           return text.getBoundingClientRect().height; }))""")
        expect(tall < 40, f"{name}: a figure of {tall:.0f} px, broken into lines, at {width} px")
        page.close()


def look_at_themes(browser, file, name):
    grounds = []
    for dark in (False, True):
        page = Page(browser, file, dark=dark)
        grounds.append(page.run("getComputedStyle(document.body).backgroundColor"))
        page.close()
    expect(grounds == ["rgb(255, 255, 255)", "rgb(22, 24, 27)"], f"{name}: paper of {grounds}")
    page = Page(browser, file, dark=True)
    printed = page.pdf()
    expect(printed[:5] == b"%PDF-", f"{name}: cannot be printed")
    page.close()


def hostile(record):
    """A record as somebody may have written it who wants his script to run."""
    text = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>'\"&" + "W" * 10000
    record = json.loads(json.dumps(record))
    for key in ("signature", "kernel", "host", "compiler", "source_path", "started", "regtune_version"):
        record[key] = text
    record["options"] = record["arguments"] = [text]
    record["gpu"]["id"]["name"] = text
    record["gpu"]["driver_version"] = text
    return record


def look(browser, regtune, data, folder, shots):
    def make(name, *subjects):
        file = folder / name
        subprocess.run([regtune, "report", "-q", "-o", str(file), *map(str, subjects)], check=True)
        return file

    records = {path.stem: json.loads(path.read_text()) for path in sorted(data.glob("*.json"))}
    for name, record in records.items():
        look_at_one(browser, make(f"{name}.html", data / f"{name}.json"), record, name)
    one = folder / "decay_wide.html"
    look_at_widths(browser, one, "decay_wide", distinct_codes(records["decay_wide"]))
    look_at_themes(browser, one, "decay_wide")

    later = json.loads(json.dumps(records["decay_wide"]))
    later["gpu"]["driver_version"] = "590.10"
    (folder / "later.json").write_text(json.dumps(later))
    two = make("two.html", data / "decay_wide.json", folder / "later.json", data / "nbody.json")
    look_at_widths(browser, two, "three runs", 2 * distinct_codes(later) + distinct_codes(records["nbody"]))

    (folder / "hostile.json").write_text(json.dumps(hostile(later)))
    bad = make("hostile.html", folder / "hostile.json")
    look_at_widths(browser, bad, "hostile names", distinct_codes(later))
    page = Page(browser, bad)
    expect("owned" not in page.run("document.title")[:20], "a name's script ran")
    expect(page.run("document.images.length") == 0, "a name became an element")
    expect(page.complaints() == [], f"hostile names: {page.complaints()}")
    page.close()

    if shots:
        shots.mkdir(parents=True, exist_ok=True)
        for name, file, width, dark, height in (("light", one, 820, False, 1500), ("dark", one, 820, True, 1500),
                                                ("narrow", one, 360, False, 2400), ("runs", two, 1200, False, 1600)):
            page = Page(browser, file, width=width, dark=dark)
            page.screenshot(shots / f"{name}.png", height)
            if name == "light":
                (shots / "print.pdf").write_bytes(page.pdf())
            page.close()


def main():
    regtune, data = sys.argv[1], pathlib.Path(sys.argv[2])
    shots = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    program = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if not program:
        print("skipped: no Chromium here; Debian's package is chromium")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        browser = Browser(program, os.path.join(folder, "profile"))
        try:
            look(browser, regtune, data, pathlib.Path(folder), shots)
        finally:
            browser.close()
    print("the pages are right" if not faults else f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
