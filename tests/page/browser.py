# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A headless Chromium, driven with the DevTools protocol over a pair of pipes: messages are JSON that
ends with a zero octet, on the descriptors 3 and 4 of the browser.

The browser has no network. An error on the console, an exception in the page, and a request for
anything but a file are collected in `faults`.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-dev-shm-usage", "--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe",
         "--proxy-server=127.0.0.1:9", "--force-prefers-reduced-motion")
KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "ArrowUp": 38, "ArrowDown": 40, "Enter": 13, "Escape": 27,
        "Tab": 9, "Home": 36, "End": 35, "PageDown": 34, "PageUp": 33}
TEXTS = {"Enter": "\r"}
MODIFIERS = {"": 0, "Alt": 1, "Control": 2, "Shift": 8}


class Browser:
    """Use it in a `with` statement: the browser and its files end with it."""

    def __init__(self, timeout=20):
        self.timeout = timeout
        self.faults = []
        self.events = []
        self.number = 0
        self.rest = b""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="page-test.")
        to_read, self.to = os.pipe()
        self.source, from_write = os.pipe()
        # A shell puts the pipes on descriptors 3 and 4: Python cannot choose numbers.
        command = f'exec chromium "$@" 3<&{to_read} 4>&{from_write}'
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "bash", "-c", command, "chromium", *FLAGS,
             f"--user-data-dir={self.folder}", "about:blank"],
            pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.folder})
        os.close(to_read)
        os.close(from_write)
        self.session = None
        self.attach()
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(5)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.source)
        shutil.rmtree(self.folder, ignore_errors=True)

    def attach(self):
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Network.emulateNetworkConditions", offline=True, latency=0,
                  downloadThroughput=0, uploadThroughput=0)

    # --- messages ----------------------------------------------------------------------------------

    def call(self, method, **parameters):
        """Returns the result of a command; raises RuntimeError if it fails."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + self.timeout
        while True:
            answer = self.receive(end, method)
            if answer.get("id") == self.number:
                break
            self.note(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def receive(self, end, what):
        while b"\0" not in self.rest:
            if not select.select([self.source], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError(f"{what}: no answer within {self.timeout} s")
            octets = os.read(self.source, 1 << 20)
            if not octets:
                raise RuntimeError(f"{what}: the browser has ended")
            self.rest += octets
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def note(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.faults.append("exception: " + details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.faults.append(f"console: {parameters['args']}")
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.faults.append(f"log: {parameters['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            address = parameters["request"]["url"]
            if not address.startswith(("file:", "data:", "about:")):
                self.faults.append(f"request: {address}")

    # --- the page ----------------------------------------------------------------------------------

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def media(self, media="screen", scheme="light"):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path, fragment=""):
        """Loads a file anew and waits until its scripts have run."""
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + fragment)
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def run(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True,
                           userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + self.timeout
        while not self.run(expression):
            if time.monotonic() > end:
                raise RuntimeError(f"not true within {self.timeout} s: {expression}")
            time.sleep(0.02)

    def key(self, key, modifier=""):
        """Presses and releases a key, as a keyboard would."""
        text = TEXTS.get(key, key if len(key) == 1 else "")
        common = {"key": key, "modifiers": MODIFIERS[modifier],
                  "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text):
        for letter in text:
            self.key(letter)

    def click(self, selector):
        """Clicks into the middle of an element with the mouse."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        x, y = self.run("(() => { const b = document.querySelector(%s).getBoundingClientRect();"
                        " return [b.left + b.width / 2, b.top + b.height / 2]; })()" % json.dumps(selector))
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=1,
                      button="none" if kind == "mouseMoved" else "left")

    def screenshot(self, path):
        import base64
        answer = self.call("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
