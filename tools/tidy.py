#!/usr/bin/env python3
"""Checks what the compiler does not: which folder may include which, words that are banned, files nobody builds, sizes.

    tools/tidy.py            checks the repository; status 1 and one line per finding when something is wrong
    tools/tidy.py --list     prints the rules

The rules are the tables below; the reasons are in CONTRIBUTING.md. Needs nothing but Python's standard library.
"""

import argparse
import ast
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rooms import ALGORITHM_BOXES, MAY_INCLUDE, TESTS_MAY_INCLUDE

# torch/torch.h costs 20 s of compile time: these files alone may pay it.
TORCH_FILES = re.compile(r"huddle/train/.*\.cc|(examples|bench|tests)/.*\.cc")


@dataclass(frozen=True)
class Word:
    """A word that may not stand in C++ code, and where it may all the same: path pattern -> reason."""

    pattern: str
    instead: str
    allowed: dict


ANY_TEST = r"tests/|.*_test\.cc$"
SYNCHRONISATION = (
    r"std::(recursive_|shared_|timed_)?mutex\b|std::(lock_guard|unique_lock|scoped_lock|shared_lock)\b"
    r"|std::condition_variable|std::(counting_)?semaphore\b|std::latch\b|std::barrier\b"
)
WORDS = [
    Word(
        r"std::j?thread\b|std::async\b|std::this_thread|\b(u|nano)?sleep\(",
        "start work beside a worker with Endpoint::spawn; threads and sleeps belong to the engines",
        {
            r"huddle/transport/": "engines own the threads",
            r"huddle/report/.*_test\.cc": "several workers report at once",
            r"huddle/cli/interrupt(_test)?\.(h|cc)": "signals are waited for on a thread of their own",
        },
    ),
    Word(
        SYNCHRONISATION,
        "a worker is one thread of control: wait on a Pending; locks belong to the engines",
        {
            r"huddle/transport/": "engines own the threads",
            r"huddle/report/": "all workers of a process report to one place",
            r"huddle/cli/stopper\.(h|cc)": "the watcher of signals and the run share a launcher",
            ANY_TEST: "workers that run side by side collect what they saw",
        },
    ),
    Word(
        r"std::chrono::\w+_clock\b|\b(clock_)?gettime(ofday)?\(|std::time\(",
        "ask Endpoint::now(), which also knows simulated time",
        {
            r"huddle/transport/": "engines own the clock",
            r"huddle/base/steady_seconds\.cc": "a person watches it in real time, whatever time the engine keeps",
            r"bench/": "benchmarks measure real time",
            ANY_TEST: "tests bound how long something may take",
        },
    ),
    Word(r"\busing namespace\b", "name what you use: `using std::swap;` or the full name", {}),
    Word(r"\bgetenv\b", "pass the value in; only the command line reads the environment", {
        r"huddle/cli/": "it does",
        r"huddle/api/engine\.cc": "so does a user's own program that `huddle launch` starts",
    }),
    Word(r"\bthread_local\b", "keep the state in the object that needs it and pass it in", {}),
    Word(
        r"std::(mt19937|random_device|minstd_rand|\w+_distribution)\b|\bs?rand\(",
        "draw from huddle/base/random.h, which gives the same numbers on every machine",
        {},
    ),
    Word(
        r"\bmanual_seed\(",
        "libtorch's global generator is shared by all workers: pass a generator made from huddle/base/random.h",
        {ANY_TEST: "one thread, one generator", r"examples/": "likewise"},
    ),
    Word(r"(?<!static_)\bassert\(", "use check() of huddle/base/error.h, which release builds keep", {}),
    Word(r"^\s*#\s*define\b", "write a constant, a function or a template", {}),
]

# Guidance on size, in lines. Who must be larger for now stands in LARGER with the exact number; it may only shrink.
HEADER_LINES, BODY_LINES, TEST_LINES, FUNCTION_LINES = 150, 400, 600, 60
BOX_LINES = 150  # Of the algorithm of a strategy.
LARGER = {}  # "huddle/base/x.cc": 412, or for a function "huddle/base/x.cc:name": 75.

CPP, PYTHON = {".h", ".cc"}, {".py"}
COLUMNS = {".h": 100, ".cc": 100, ".py": 120, ".cmake": 120, "CMakeLists.txt": 120}
TEXT = CPP | PYTHON | {".cmake", ".txt", ".md", ".sh", ".toml", ".json", ".yml", ".supp", ""}
SKIPPED = re.compile(r"(\.git|\.venv|\.cache|__pycache__|out|build([-_].*)?)$")

LOCAL_PATH = re.compile(r"(?:^|[\s\"'`(=:<,])/(root|home|work|tmp)(?![\w-])")
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
LEFT_TO_DO = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X])\b(?!.*#\d+)")

RULES = {
    "include": "a folder includes only what the table MAY_INCLUDE lets it; a body's own header comes first",
    "torch": "torch/torch.h only in bodies of huddle/train, and in examples, bench and tests",
    "word": "threads, locks, clocks, macros, environment variables and the like only where the table WORDS lets them",
    "left-to-do": "a note of work left over names its issue (#12)",
    "unbuilt": "every .cc is named in a CMakeLists.txt; every .h is included by somebody",
    "type": "a type's name is defined in one header only: everything is in one namespace",
    "size": f"header <= {HEADER_LINES} lines, body <= {BODY_LINES}, test <= {TEST_LINES}, function <= {FUNCTION_LINES},"
    f" a strategy's algorithm box (rooms.py) <= {BOX_LINES};"
    " exceptions stand in the table LARGER and only shrink",
    "path": "no absolute path of anybody's machine (a folder for temporary files only in tests)",
    "layout": "no tabs, trailing spaces or invisible characters; C++ lines <= 100 columns, Python and CMake <= 120",
    "header": "a header opens with a comment that says what it is and why, then `#pragma once`",
}


@dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.message}"


class Source:
    """One text file of the repository."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.folder = path.relative_to(root).parent.as_posix()
        self.name = path.name
        self.suffix = path.suffix
        self.text = path.read_text(encoding="utf-8", errors="replace")
        self.lines = self.text.split("\n")
        self.is_test = self.name.endswith("_test.cc") or self.path.startswith("tests/")

    @cached_property
    def code(self):
        """The C++ text with comments and the inside of literals blanked out; every character keeps its place."""
        literals = r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
        pattern = re.compile(r"//[^\n]*|/\*.*?\*/|" + literals, re.DOTALL)
        return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text)

    @cached_property
    def includes(self):
        """(line number, header, whether in quotes) of every #include."""
        found = []
        for number, line in enumerate(self.lines, 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if match:
                found.append((number, match[2], match[1] == '"'))
        return found

    def finding(self, line, rule, message):
        return Finding(self.path, line, rule, message)


def read_repository(root):
    sources, pending = [], [root]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.is_symlink() or SKIPPED.match(path.name):
                continue
            if path.is_dir():
                pending.append(path)
            elif path.suffix in TEXT and path.name != "LICENSE":
                sources.append(Source(root, path))
    return sources


def check_includes(source):
    if source.folder.split("/")[0] not in {"huddle", "tests", "examples", "bench"}:
        return
    row = source.folder
    while row not in MAY_INCLUDE and not row.startswith("huddle/"):
        row = row.rpartition("/")[0]
    if row not in MAY_INCLUDE:
        yield source.finding(1, "include", f"{row} has no row in MAY_INCLUDE (tools/rooms.py): say what it may include")
        return
    folders, headers = (list(allowed) for allowed in MAY_INCLUDE[row])
    if source.is_test:
        headers += TESTS_MAY_INCLUDE
        folders += ["tests/support"] + (["huddle/transport/threads"] if "huddle/transport" in folders else [])
    for number, header, quoted in source.includes:
        if row in ("tests", "bench") and header.startswith(row + "/"):
            allowed = True
        elif header.startswith(("huddle/", "tests/")):
            allowed = "*" in folders or header.rpartition("/")[0] in folders
        elif quoted:
            yield source.finding(number, "include", f'"{header}": write the path from the root, "huddle/..."')
            continue
        else:
            is_standard = re.fullmatch(r"[a-z_0-9]+", header)
            allowed = is_standard or "*" in headers or any(header.startswith(prefix) for prefix in headers)
        if not allowed:
            mend = f"{row} may include {', '.join(folders + headers)}; move the code, or pass in what it needs"
            yield source.finding(number, "include", f"{header}: {mend}")


def check_own_header_first(source, paths):
    own = re.sub(r"(_test|_bench)?\.cc$", ".h", source.path)
    if source.suffix == ".cc" and own in paths and source.includes and source.includes[0][1] != own:
        line = source.includes[0][0]
        yield source.finding(line, "include", f'put #include "{own}" first, so that it stands on its own')


def check_torch(source):
    for number, header, _ in source.includes:
        if header in {"torch/torch.h", "torch/all.h"} and not TORCH_FILES.fullmatch(source.path):
            mend = "use ATen/core/Tensor.h, or move the code into huddle/train"
            yield source.finding(number, "torch", f"{header} takes 20 s to compile; {mend}")


def check_words(source):
    for word in WORDS:
        if any(re.match(pattern, source.path) for pattern in word.allowed):
            continue
        for match in re.finditer(word.pattern, source.code, re.MULTILINE):
            number = source.code.count("\n", 0, match.start()) + 1
            yield source.finding(number, "word", f"`{match[0].strip()}`: {word.instead}")


def check_left_to_do(source):
    for number, line in enumerate(source.lines, 1):
        for match in LEFT_TO_DO.finditer(line):
            yield source.finding(number, "left-to-do", f"{match[0]} without an issue: do it, or write {match[0]}(#12)")


def check_unbuilt(sources):
    named, included = set(), set()
    for source in sources:
        included.update(header for _, header, _ in source.includes if source.suffix in CPP)
        if source.name == "CMakeLists.txt":
            text = re.sub(r"#[^\n]*", "", source.text)
            text = text.replace("${PROJECT_SOURCE_DIR}/", "/").replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
            for name in re.findall(r"[\w./-]+\.cc\b", text):
                named.add(name[1:] if name.startswith("/") else f"{source.folder}/{name}")
    for source in sources:
        if source.suffix == ".cc" and source.path not in named:
            mend = f"add it to {source.folder}/CMakeLists.txt, or delete it"
            yield source.finding(1, "unbuilt", f"no CMakeLists.txt names it: {mend}")
        if source.suffix == ".h" and source.path not in included:
            yield source.finding(1, "unbuilt", "no file includes it: use it, or delete it")


def check_types(sources):
    """All of Huddle is one namespace: two types of one name would be one to the linker. Specialisations are not."""
    places = {}
    for source in (source for source in sources if source.suffix == ".h"):
        for match in re.finditer(r"^(?:struct|class|enum class) (\w+)\b(?!<)[^;{]*\{", source.code, re.MULTILINE):
            if places.setdefault(match[1], source.path) != source.path:
                mend = f"{match[1]} is defined in {places[match[1]]} too: give one another name"
                yield source.finding(source.code.count("\n", 0, match.start()) + 1, "type", mend)


def cpp_functions(source):
    """(name, first line, lines) of each function with a body, by its braces. Approximate: enough to measure."""
    code, depth, start, opened, name = source.code, [], 0, 0, ""
    for match in re.finditer(r"[{};]", code):
        at, mark = match.start(), match[0]
        if mark == "{":
            head = code[start:at].strip()
            is_scope = re.search(r"(^|\s)(namespace|class|struct|union|enum|extern)\b[^()]*$", head)
            is_function = not is_scope and "(" in head and "function" not in depth and "=" not in head.partition("(")[0]
            if is_function:
                opened = code.count("\n", 0, at - len(code[start:at].lstrip())) + 1
                calls = re.findall(r"[\w:~]+(?=\()", head)
                name = ".".join(re.findall(r"\w+", head)[1:3]) if head.startswith("TEST") else (calls or ["?"])[0]
            depth.append("function" if is_function else "scope" if is_scope else "braces")
        elif mark == "}" and depth and depth.pop() == "function":
            yield name, opened, code.count("\n", 0, at) + 2 - opened
        start = at + 1


def python_functions(source):
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def measure(source):
    """(key in LARGER, first line, lines, guidance) of the file and of each of its functions."""
    guidance = HEADER_LINES if source.suffix == ".h" else TEST_LINES if source.is_test else BODY_LINES
    if source.path in ALGORITHM_BOXES:
        guidance = BOX_LINES
    yield source.path, 1, len(source.lines) - 1, guidance
    for name, first, lines in cpp_functions(source) if source.suffix in CPP else python_functions(source):
        yield f"{source.path}:{name}", first, lines, FUNCTION_LINES


def check_size(sources):
    needless = dict(LARGER)
    for source in sources:
        for key, first, lines, guidance in measure(source):
            limit = LARGER.get(key, guidance)
            if lines > guidance:
                needless.pop(key, None)
            if lines > limit:
                mend = "a second concept hides there: give it a place of its own"
                yield source.finding(first, "size", f"{key} has {lines} lines, {limit} are the limit; {mend}")
            elif guidance < lines < limit:
                mend = f"lower its entry in LARGER from {limit} to {lines}"
                yield source.finding(first, "size", f"{key} has shrunk: {mend}")
    for key in needless:
        yield Finding("tools/tidy.py", 1, "size", f"{key} needs no exception any more: take it out of LARGER")


def check_path(source):
    for number, line in enumerate(source.lines, 1):
        for match in LOCAL_PATH.finditer(line):
            if not (match[1] == "tmp" and source.is_test):
                mend = "make it relative to the repository, or an argument"
                yield source.finding(number, "path", f"/{match[1]} is a place on one machine: {mend}")


def check_layout(source):
    columns = COLUMNS.get(source.suffix, COLUMNS.get(source.name))
    for number, line in enumerate(source.lines, 1):
        if line != line.rstrip():
            yield source.finding(number, "layout", "trailing space")
        if "\t" in line and source.suffix in CPP | PYTHON:
            yield source.finding(number, "layout", "tab: use spaces")
        for hidden in INVISIBLE.findall(line):
            yield source.finding(number, "layout", f"invisible character U+{ord(hidden):04X}: remove or escape it")
        if columns and len(line) > columns:
            mend = "run `make format`" if source.suffix in CPP else "break the line"
            yield source.finding(number, "layout", f"{len(line)} columns, {columns} are the limit: {mend}")
    if source.text and not source.text.endswith("\n"):
        yield source.finding(len(source.lines), "layout", "the last line has no end: add a newline")


def check_header(source):
    if not source.text.startswith("// "):
        yield source.finding(1, "header", "open with a comment: what this is, why it exists, its paper and cost if any")
    if "\n#pragma once\n" not in source.text:
        yield source.finding(1, "header", "add `#pragma once` after the opening comment")


def check_all(sources):
    cpp = [source for source in sources if source.suffix in CPP]
    paths = {source.path for source in sources}
    for source in sources:
        yield from check_path(source)
        yield from check_layout(source)
        if source.suffix in CPP | PYTHON | {".cmake", ".sh"}:
            yield from check_left_to_do(source)
    for source in cpp:
        yield from check_includes(source)
        yield from check_own_header_first(source, paths)
        yield from check_torch(source)
        yield from check_words(source)
        if source.suffix == ".h":
            yield from check_header(source)
    yield from check_unbuilt(sources)
    yield from check_types(sources)
    yield from check_size([source for source in sources if source.suffix in CPP | PYTHON])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the rules and stop")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="another repository")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{name:11} {text}" for name, text in RULES.items()))
        return 0
    sources = read_repository(options.root.resolve())
    findings = sorted(set(check_all(sources)))
    for finding in findings:
        print(finding)
    print(f"tidy: {len(findings)} findings in {len(sources)} files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
