#!/usr/bin/env python3
"""The program among damaged files, wrong values, full disks, killed processes and competitors:
safety_test.py [PROGRAM] [-v] [TEST...]; without PROGRAM, the environment variable KELDA names it.

Everything here goes through the program, as a user would meet it.
"""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import program  # noqa: E402

MODULES = ["damage_test", "value_test", "later_kinds_test", "trouble_test"]


def main():
    arguments = sys.argv[1:]
    verbose = "-v" in arguments
    names = [a for a in arguments if a != "-v"]
    if names and os.path.isfile(names[0]):
        program.PROGRAM = os.path.abspath(names.pop(0))
    else:
        program.PROGRAM = os.path.abspath(os.environ["KELDA"])
    suite = unittest.defaultTestLoader.loadTestsFromNames(names or MODULES)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2 if verbose else 1).run(suite)
    failed = len({str(test) for test, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    for test, reason in result.skipped:
        print(f"skipped {test}: {reason}")
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
