"""Visits a page in headless Chromium and prints, for each visit, the browser's own times in ms since loading began: its
first paint, and the mark "drawn" that the page sets. Prints nothing where there is no Chromium.

Speaks the browser's protocol over a pipe: https://chromedevtools.github.io/devtools-protocol/"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

LIMIT = 30


class Browser:
    def __init__(self, program, folder):
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()

        def descriptors():
            # The protocol's are 3 and 4.
            os.dup2(to_browser, 103)
            os.dup2(from_browser, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=descriptors, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.count, self.rest = 0, b""

    def ask(self, method, session=None, **parameters):
        self.count += 1
        command = {"id": self.count, "method": method, "params": parameters}
        if session:
            command["sessionId"] = session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                part = os.read(self.answers, 1 << 16)
                if not part:
                    raise SystemExit("the browser ended")
                self.rest += part
            message, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(message)
            if answer.get("id") == self.count:
                return answer.get("result", {})

    def visit(self, address):
        target = self.ask("Target.createTarget", url=address)["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        times = ("JSON.stringify([performance.getEntriesByName('first-paint'), performance.getEntriesByName('drawn')]"
                 ".map(all => all.length ? all[0].startTime : null))")
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            answer = self.ask("Runtime.evaluate", session, expression=times)
            paint, drawn = json.loads(answer.get("result", {}).get("value") or "[null, null]")
            if paint is not None and drawn is not None:
                self.ask("Target.closeTarget", targetId=target)
                return paint, drawn
            time.sleep(0.05)
        raise SystemExit(f"{address} was not drawn within {LIMIT} s")


def main():
    address, times = sys.argv[1], int(sys.argv[2])
    program = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if program is None:
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, folder)
        # The first visit starts parts of the browser, too.
        browser.visit(address)
        for _ in range(times):
            print("%.1f %.1f" % browser.visit(address))
        browser.process.terminate()
        browser.process.wait()


main()
