"""A headless Chromium that a test drives: opens pages, runs JavaScript in them, takes pictures, hears every complaint.

It is spoken to in the DevTools protocol over a pair of pipes, so nothing but Chromium itself is needed.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    def __init__(self, path, deadline=60):
        self.deadline = deadline
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ours, theirs = os.pipe(), os.pipe()  # We write into the first, Chromium into the second.
        # Chromium reads from descriptor 3 and writes to 4; the shell puts the pipes there.
        self._process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{ours[0]} 4>&{theirs[1]}', "sh", path, "--headless=new", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
             f"--user-data-dir={self._profile.name}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(ours[0], theirs[1]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ours[0])
        os.close(theirs[1])
        self._write, self._read = ours[1], theirs[0]
        self._buffer, self._next_id, self._session = b"", 0, None
        self.complaints = []  # Of the page: errors, exceptions, anything on the console, requests for other files.
        self._loaded = False
        page = next(target for target in self.call("Target.getTargets")["targetInfos"] if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._process.terminate()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def call(self, method, **parameters):
        self._next_id += 1
        message = {"id": self._next_id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(self.deadline)
            if answer.get("id") == self._next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, end - time.monotonic()))
            part = os.read(self._read, 1 << 20) if ready else b""
            if not part:
                raise TimeoutError("Chromium does not answer")
            self._buffer += part
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event, details):
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Runtime.exceptionThrown":
            thrown = details["exceptionDetails"]
            self.complaints.append(thrown.get("exception", {}).get("description") or thrown["text"])
        elif event == "Runtime.consoleAPICalled":
            self.complaints.append(f"console: {[item.get('value') for item in details['args']]}")
        elif event == "Log.entryAdded":
            self.complaints.append(f"log: {details['entry']['text']}")
        elif event == "Page.javascriptDialogOpening":
            self.complaints.append(f"dialog: {details['message']}")
            self.call("Page.handleJavaScriptDialog", accept=True)
        elif event == "Network.requestWillBeSent":
            url = details["request"]["url"]
            if not url.startswith(("data:", "file:", "about:")):
                self.complaints.append(f"request: {url[:200]}")

    def open(self, file, width=1280, height=900, scheme="light"):
        """Shows a file; returns the seconds until everything in it had been loaded and run."""
        self.complaints.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._loaded = False
        started = time.monotonic()
        self.call("Page.navigate", url=file.resolve().as_uri())
        while not self._loaded:
            self._receive(self.deadline)
        return time.monotonic() - started

    def run(self, script):
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, file):
        """The whole page as a PNG."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(answer["data"]))
