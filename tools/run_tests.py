#!/usr/bin/env python3
"""Runs the tests of a build folder and counts their cases.

    tools/run_tests.py build/dev [--label unit] [--exclude-label interop] [--name REGEX] [--jobs N]

CMake knows the tests (kelda_test, kelda_command_test); this program runs them, several at once, prints
what a failing one printed in full, and ends with `N passed, N failed` (and `, N skipped`) alone on a line.
Cases are GoogleTest cases; of other commands, those that their last line counts in the same form, or one.
Logs stay in <build folder>/test-results.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time

SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")


@dataclasses.dataclass
class Test:
    name: str
    command: list
    folder: str
    labels: list
    environment: dict
    timeout_seconds: float
    serial: bool


@dataclasses.dataclass
class Outcome:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    reason: str = ""
    output: str = ""


def list_tests(build):
    listing = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                             check=True, capture_output=True, text=True)
    tests = []
    for entry in json.loads(listing.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
        environment = dict(line.split("=", 1) for line in properties.get("ENVIRONMENT", []) if line)
        tests.append(Test(entry["name"], entry.get("command", []),
                          properties.get("WORKING_DIRECTORY", build), properties.get("LABELS", []),
                          environment, float(properties.get("TIMEOUT", 300)),
                          bool(properties.get("RUN_SERIAL", False))))
    return tests


def run_command(test, environment, log_path):
    """Returns (exit code or None after a timeout, seconds); what it prints goes to the log."""
    start = time.monotonic()
    with open(log_path, "wb") as log:
        process = subprocess.Popen(test.command, cwd=test.folder, env=environment, stdout=log,
                                   stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
        try:
            code = process.wait(timeout=test.timeout_seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            # Children that a test left behind end with it.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    return code, time.monotonic() - start


def count_gtest(report_path, output):
    """Counts from GoogleTest's report, or from its output if it did not live to write one."""
    outcome = Outcome()
    try:
        with open(report_path, encoding="utf-8") as file:
            report = json.load(file)
    except (OSError, ValueError):
        outcome.passed = len(re.findall(r"^\[       OK \]", output, re.MULTILINE))
        outcome.skipped = len(re.findall(r"^\[  SKIPPED \] .*\(\d+ ms\)$", output, re.MULTILINE))
        outcome.failed = len(re.findall(r"^\[  FAILED  \] .*\(\d+ ms\)$", output, re.MULTILINE))
        return outcome
    for suite in report["testsuites"]:
        for case in suite["testsuite"]:
            if case.get("failures"):
                outcome.failed += 1
            elif case["result"] == "SKIPPED" or case["status"] == "NOTRUN":
                outcome.skipped += 1
            else:
                outcome.passed += 1
    return outcome


def count_command(code, output):
    lines = output.rstrip().splitlines()
    match = SUMMARY.match(lines[-1].strip()) if lines else None
    if match:
        return Outcome(int(match[1]), int(match[2]), int(match[3] or 0))
    return Outcome(passed=1) if code == 0 else Outcome(failed=1)


def run_test(test, results):
    log_path = os.path.join(results, test.name + ".log")
    report_path = os.path.join(results, test.name + ".json")
    if os.path.exists(report_path):
        os.remove(report_path)
    if not test.command or not os.path.exists(test.command[0]):
        return Outcome(failed=1, reason="is not built")
    environment = os.environ | test.environment
    if "gtest" in test.labels:
        environment["GTEST_OUTPUT"] = f"json:{os.path.abspath(report_path)}"
        environment["GTEST_COLOR"] = "no"
    code, seconds = run_command(test, environment, log_path)
    with open(log_path, encoding="utf-8", errors="replace") as log:
        output = log.read()
    if "gtest" in test.labels:
        outcome = count_gtest(report_path, output)
    else:
        outcome = count_command(code, output)
    outcome.seconds, outcome.output = seconds, output
    if code is None:
        outcome.reason = f"was stopped after {test.timeout_seconds:.0f} s"
    elif code < 0:
        outcome.reason = f"ended by {signal.Signals(-code).name}"
    elif code != 0 and outcome.failed == 0:
        outcome.reason = f"exit code {code}"
    elif outcome.passed + outcome.failed + outcome.skipped == 0:
        outcome.reason = "has no test cases"
    if outcome.reason and outcome.failed == 0:
        outcome.failed = 1
    return outcome


def report(test, outcome):
    counts = f"{outcome.passed} passed"
    if outcome.failed:
        counts += f", {outcome.failed} failed"
    if outcome.skipped:
        counts += f", {outcome.skipped} skipped"
    if outcome.failed == 0:
        print(f"ok    {test.name:<36} {counts}, {outcome.seconds:.1f} s", flush=True)
        return
    print(f"----- {test.name}: output -----")
    print(outcome.output.rstrip())
    print(f"fail  {test.name:<36} {counts}, {outcome.seconds:.1f} s"
          f"{': ' + outcome.reason if outcome.reason else ''}", flush=True)


def select(tests, options):
    return [test for test in tests
            if (not options.label or set(options.label) & set(test.labels))
            and not set(options.exclude_label) & set(test.labels)
            and re.search(options.name, test.name)]


def run_all(tests, jobs, results):
    """Yields (test, outcome): first those that share the machine, longest first, then the others."""
    times_path = os.path.join(results, "seconds.json")
    try:
        with open(times_path, encoding="utf-8") as file:
            times = json.load(file)
    except (OSError, ValueError):
        times = {}
    tests = sorted(tests, key=lambda test: -times.get(test.name, 0))
    for group, workers in ((False, jobs), (True, 1)):
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            running = {pool.submit(run_test, test, results): test
                       for test in tests if test.serial == group}
            for done in concurrent.futures.as_completed(running):
                times[running[done].name] = done.result().seconds
                yield running[done], done.result()
    with open(times_path, "w", encoding="utf-8") as file:
        json.dump(times, file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--label", action="append", default=[])
    parser.add_argument("--exclude-label", action="append", default=[])
    parser.add_argument("--name", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    results = os.path.join(options.build, "test-results")
    os.makedirs(results, exist_ok=True)
    tests = select(list_tests(options.build), options)
    total, failures = Outcome(), []
    for test, outcome in run_all(tests, max(1, options.jobs), results):
        report(test, outcome)
        total.passed += outcome.passed
        total.failed += outcome.failed
        total.skipped += outcome.skipped
        if outcome.failed:
            failures.append(test.name)
    if failures:
        print(f"failed: {' '.join(sorted(failures))}; logs are in {results}")
    if not tests:
        print("error: no tests match", file=sys.stderr)
    print(f"{total.passed} passed, {total.failed} failed"
          + (f", {total.skipped} skipped" if total.skipped else ""))
    return 1 if total.failed or total.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
