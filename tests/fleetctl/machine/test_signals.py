"""Signals to an apply: the first is heard whatever the main thread does, the second ends the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from fleetctl.machine.signals import interruptible

NUMBERS = [signal.SIGINT, signal.SIGTERM]
DEAF = """
import ctypes
python = ctypes.CDLL(None)
python.PyThread_allocate_lock.restype = ctypes.c_void_p
lock = ctypes.c_void_p(python.PyThread_allocate_lock())
python.PyThread_acquire_lock(lock, 1)
"""
"""A lock that is taken: whoever takes it again waits, and comes back to Python for no signal."""
PROCESS = f"""
import threading
from fleetctl.machine.signals import interruptible
{DEAF}
with interruptible(threading.Event()):
    print("begun", flush=True)
    python.PyThread_acquire_lock(lock, 1)
"""


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_is_heard_while_the_main_thread_is_in_no_state_to_hear(number: signal.Signals) -> None:
    there: dict[str, Any] = {}
    exec(DEAF, there)
    stop, heard = threading.Event(), []

    def elsewhere() -> None:
        time.sleep(0.2)
        os.kill(os.getpid(), number)
        heard.append(stop.wait(20))
        there["python"].PyThread_release_lock(there["lock"])

    with interruptible(stop) as caught:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        there["python"].PyThread_acquire_lock(there["lock"], 1)
        thread.join()
    assert heard == [True]
    assert caught.name == number.name


@pytest.mark.parametrize("number", NUMBERS)
def test_a_second_signal_ends_the_process_while_the_main_thread_is_in_no_state_to_hear(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROCESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        for _ in range(2):
            time.sleep(0.2)
            process.send_signal(number)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert err.startswith(b"STOPPED: a second signal came")


def test_a_signal_of_another_kind_is_no_second_one_and_the_first_is_told() -> None:
    stop = threading.Event()
    with interruptible(stop) as caught:
        for number in NUMBERS:
            os.kill(os.getpid(), number)
    assert (caught.name, stop.is_set()) == ("SIGINT", True)


def test_what_heard_signals_before_hears_them_again() -> None:
    before = [signal.getsignal(number) for number in NUMBERS]
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    wakeup = signal.set_wakeup_fd(theirs)
    try:
        with interruptible(threading.Event()):
            assert [signal.getsignal(number) for number in NUMBERS] != before
        assert signal.set_wakeup_fd(wakeup) == theirs
    finally:
        signal.set_wakeup_fd(wakeup)
        os.close(ours)
        os.close(theirs)
    assert [signal.getsignal(number) for number in NUMBERS] == before
    assert not any(thread.name.startswith("listen") for thread in threading.enumerate())
