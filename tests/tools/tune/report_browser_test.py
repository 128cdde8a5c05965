#!/usr/bin/env python3
"""report_browser_test.py MAKE_REPORT: the report in a real browser, Chromium without a window.

A made-up sweep is drawn; the page is opened from the disk and its document looked at after its script has run. The address chooses a map;
for clicks, keys and sorting a copy of the page has a script more, which does what a user would do. There may be no message on the console.
Fails where there is no Chromium, which tools/setup installs."""

import html.parser
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome")

# What a user does, and what is seen then; it ends up in the document as JSON.
USER = """
<script>
addEventListener("load", () => {
    const seen = {};
    const shown = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.getClientRects().length > 0);
    const click = (selector) => document.querySelector(selector).click();
    const choose = (id, value) => { const one = document.getElementById(id); one.value = value; one.dispatchEvent(new Event("change")); };
    click("[data-map=schedule]");
    seen.pressed = shown("#controls [aria-pressed=true]").map((one) => one.textContent);
    seen.schedule_cells = shown("td .schedule").length;
    seen.gain_cells = shown("td .gain").length;
    choose("precision", "f32");
    choose("device", "AMD EPYC 9374F");
    choose("slice", "batch=16");
    seen.heading = shown(".setting h3").map((one) => one.textContent);
    seen.captions = shown(".slice caption").map((one) => one.textContent);
    seen.address = location.hash;
    const cell = shown(".setting td[tabindex]")[0];
    cell.focus();
    seen.tip = shown("#tip").map((one) => one.textContent);
    dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
    seen.tip_after_escape = shown("#tip").length;
    const column = [...document.querySelectorAll(".sortable thead th")].findIndex((one) => one.textContent === "gain");
    const gains = () => [...document.querySelectorAll(".sortable tbody tr")].map((row) => Number(row.cells[column].dataset.sort));
    const button = document.querySelectorAll(".sortable thead button")[column];
    button.click();
    seen.ascending = gains();
    button.click();
    seen.descending = gains();
    seen.sorted_by = [...document.querySelectorAll("[aria-sort]")].map((one) => one.textContent + " " + one.getAttribute("aria-sort"));
    const make = URL.createObjectURL;
    let blob = null;
    URL.createObjectURL = (made) => { blob = made; return make.call(URL, made); };
    HTMLAnchorElement.prototype.click = function () { seen.download = this.download; };
    document.getElementById("download").click();
    seen.download_bytes = blob.size;
    seen.width = document.documentElement.scrollWidth;
    seen.window = innerWidth;
    document.documentElement.classList.remove("script");  // as it is where no script runs
    seen.controls_without_script = shown(".with-script").length;
    const out = document.createElement("script");
    out.type = "application/json";
    out.id = "seen";
    out.textContent = JSON.stringify(seen).replaceAll("<", "\\\\u003c");
    document.body.append(out);
});
</script>
</body>"""


class Browser:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, page, *options, hash="", width=1280, height=900):
        """What it prints; fails on a message of the page's."""
        command = [
            self.program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            f"--user-data-dir={self.folder}/profile",
            f"--window-size={width},{height}",
            *options,
            page.as_uri() + hash,
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(self.folder)})
        assert done.returncode == 0, done.stderr
        messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        assert not messages, messages
        return done.stdout

    def document(self, page, **where):
        return self.run(page, "--dump-dom", **where)


class Shown(html.parser.HTMLParser):
    """What is shown of the maps: the attribute of the container, and the settings and slices that are not hidden."""

    def __init__(self, text):
        super().__init__()
        self.map, self.settings, self.slices, self.script, self.gains = None, [], [], None, {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        if own.get("id") == "maps":
            self.map = own["data-map"]
        if own.get("class") == "setting":
            setting = own["data-device"], own["data-precision"], own["data-objective"]
            self.gains[setting] = float(own["data-gain"])
        if own.get("class") == "setting" and "hidden" not in own:
            self.settings.append(setting)
            self.within = True
        elif own.get("class") == "setting":
            self.within = False
        if own.get("class") == "slice" and "hidden" not in own and self.within:
            self.slices.append(own["data-slice"])

    def best(self, *words):
        """The setting with the largest gain, of those that have these words."""
        return max((setting for setting in self.gains if set(words) <= set(setting)), key=self.gains.__getitem__)


def check_addresses(browser, page):
    first = Shown(browser.document(page))
    assert len(set(first.gains.values())) > 2, first.gains
    assert (first.map, first.settings, first.slices) == ("gain", [first.best()], ["batch=1"]), vars(first)
    for hash, expected in {
        "#map=speed&precision=f32": ("speed", [first.best("f32")], ["batch=1"]),
        "#map=variant&slice=horizon%3D50": ("variant", [first.best()], ["horizon=50"]),
        "#map=floor&device=AMD+EPYC+9374F&slice=batch=16": ("floor", [first.best("AMD EPYC 9374F")], ["batch=16"]),
        "#map=%3Cb%3E&precision=f16&slice=none": ("gain", [first.best()], ["batch=1"]),
    }.items():
        shown = Shown(browser.document(page, hash=hash))
        assert (shown.map, shown.settings, shown.slices) == expected, (hash, vars(shown))


def check_user(browser, folder, page, records):
    copy = folder / "user.html"
    text = page.read_text()
    copy.write_text(text.replace("</body>", USER))
    for width in (1280, 500):
        document = browser.document(copy, width=width)
        seen = json.loads(re.search(r'id="seen">(.*?)</script>', document, re.S).group(1))
        assert seen["pressed"] == ["schedule"] and seen["schedule_cells"] > 0 and seen["gain_cells"] == 0, seen
        assert seen["heading"] == ["AMD EPYC 9374F \u00b7 f32 \u00b7 factor_solve"] and seen["captions"] == ["n and N, 16 systems"], seen
        assert seen["address"] == "#map=schedule&slice=batch%3D16&device=AMD+EPYC+9374F&precision=f32&objective=factor_solve", seen[
            "address"
        ]
        assert len(seen["tip"]) == 1 and seen["tip"][0].startswith("16x4x16 f32\nwinner: ") and "runner-up: " in seen["tip"][0], seen["tip"]
        assert seen["tip_after_escape"] == 0, seen
        assert seen["ascending"] == sorted(seen["ascending"]) and seen["descending"] == seen["ascending"][::-1], seen
        assert len(set(seen["ascending"])) > 10 and seen["sorted_by"] == ["gain descending"], seen
        assert seen["download"] == "trials.jsonl" and seen["download_bytes"] == len(records), (seen["download_bytes"], len(records))
        assert seen["controls_without_script"] == 0, "controls that do nothing are shown where no script runs"
        assert seen["width"] <= seen["window"], f"the page is {seen['width']} wide in a window of {seen['window']}"


def check_hostile(browser, make_report, folder, records):
    """Records whose text would run, were it not shown as text: it would be an error on the console, or change the title."""
    bad = "</script><script>document.title='taken';throw 1</script><img src=x onerror=\"document.title='taken'\">"
    lines = []
    for line in records.splitlines():
        tree = json.loads(line)
        tree["device"] = tree["variant"] = tree["generator"] = bad
        if tree.get("verdict", "sound") != "sound":
            tree["why"] = bad
        lines.append(json.dumps(tree))
    (folder / "hostile.jsonl").write_text("\n".join(lines))
    page = folder / "hostile.html"
    subprocess.run([make_report, "tune", "report", "--trials", folder / "hostile.jsonl", "-o", page], check=True, stdout=subprocess.DEVNULL)
    document = browser.document(page)
    assert "<title>Trifold: report of a tuning sweep</title>" in document and "<img" not in document
    assert len(Shown(document).settings) == 1


def check_database(make_report, folder, records):
    """The database that is the user's own is taken where nothing is named."""
    home = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}

    def report(*options):
        command = [make_report, "tune", "report", *options, "-o", folder / "data.html"]
        return subprocess.run(command, capture_output=True, text=True, env=home)

    none = report()
    assert none.returncode == 2 and "tuning.db" in none.stderr, none.stderr
    subprocess.run([make_report, "database", folder / "sweep.jsonl", folder / "sweep.db"], check=True)
    assert report("--database", folder / "sweep.db").returncode == 0
    assert (folder / "data.html").read_bytes().count(b'"standard_schedule"') == records.count('"standard_schedule"')
    (folder / "data/trifold").mkdir(parents=True)
    (folder / "sweep.db").rename(folder / "data/trifold/tuning.db")
    assert report().returncode == 0
    bad = report("--trials", __file__)
    assert bad.returncode == 2 and "report_browser_test.py: line 1 is neither" in bad.stderr, bad.stderr


def check_empty(browser, make_report, folder):
    (folder / "empty.jsonl").write_text("\n")
    page = folder / "empty.html"
    subprocess.run([make_report, "tune", "report", "--trials", folder / "empty.jsonl", "-o", page], check=True, stdout=subprocess.DEVNULL)
    assert "nothing has been tuned yet" in browser.document(page)


def check_pictures(browser, folder, page):
    """Light and dark, wide and narrow: each is a picture of its size, of more than one colour."""
    sizes = {}
    for name, width, options in (("wide", 1280, []), ("narrow", 500, []), ("dark", 1280, ["--blink-settings=preferredColorScheme=0"])):
        picture = folder / f"{name}.png"
        browser.run(page, f"--screenshot={picture}", "--hide-scrollbars", *options, width=width)
        data = picture.read_bytes()
        assert struct.unpack(">II", data[16:24]) == (width, 900), name
        sizes[name] = len(data)
    assert min(sizes.values()) > 10000, sizes
    assert (folder / "wide.png").read_bytes() != (folder / "dark.png").read_bytes()


def main():
    make_report = pathlib.Path(sys.argv[1]).resolve()
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if not program:
        print("there is no Chromium here; run tools/setup", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        subprocess.run([make_report, "sweep", "7", "384", "8", folder / "sweep.jsonl"], check=True)
        page = folder / "report.html"
        told = subprocess.run(
            [make_report, "tune", "report", "--trials", folder / "sweep.jsonl", "-o", page], check=True, capture_output=True, text=True
        )
        assert told.stdout == f"{page}: 384 decisions, 3072 trials\n", told.stdout
        records = (folder / "sweep.jsonl").read_bytes()
        assert not re.search(rb'(src|href)="(?!data:)', page.read_bytes()), "the page refers to something outside"
        check_database(make_report, folder, records.decode())
        browser = Browser(program, folder)
        check_addresses(browser, page)
        check_user(browser, folder, page, records)
        check_hostile(browser, make_report, folder, records.decode())
        check_empty(browser, make_report, folder)
        check_pictures(browser, folder, page)
    print("the report works in a browser")
    return 0


if __name__ == "__main__":
    sys.exit(main())
