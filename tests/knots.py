#!/usr/bin/env python3
"""Finds circles of imports: among the Rust files below src/ and among the ES modules below html/.

Usage: tests/knots.py [--edges] [ROOT]    prints every circle, exit status 1 if there is one
       tests/knots.py --self-test         tries the script on small trees of its own

A Rust file imports another with `use`, with a path in an expression (`super::limits::MAX`), with a re-export and
with `mod child;`. A name is followed through re-exports to the file that defines it: siblings that use each other
through their parent import each other, not the parent; but a child that uses an item of its parent's file makes a
circle, as the parent imports the child. What is under `#[cfg(test)]` does not count.

An ES module imports what it names in `import`, `export … from`, `import()` and in JSDoc types. A page's modules
import from their own page and from common/; those in core/ only from core/ and common/.

`--edges` also prints every import inside each circle. Python's standard library only.
"""

import os
import re
import sys
import tempfile
from collections import deque, namedtuple

# Sets of files that may import each other, with the reason as a comment. Nothing so far.
EXCEPTIONS = []

TOKEN = re.compile(
    r"""
      (?P<skip> \s+ | //[^\n]* | /\* .*? \*/ )
    | (?P<string> [bc]?" (?: [^"\\] | \\. )* " )
    | (?P<raw> [bc]?r(?P<hashes>\#*)" )
    | (?P<char> b?' (?: [^'\\\n] | \\ (?: u\{[0-9a-fA-F_]+\} | x[0-9a-fA-F]{2} | . ) ) ' )
    | (?P<life> '[A-Za-z_]\w* )
    | (?P<name> (?:r\#)?[A-Za-z_]\w* | \$crate )
    | (?P<number> \d[\w]* )
    | (?P<path> :: )
    | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)
OPEN, CLOSE = "([{", ")]}"
ITEM_WORDS = {"fn", "struct", "enum", "union", "trait", "type", "const", "static"}
KEYWORDS = ITEM_WORDS | {"pub", "use", "mod", "impl", "unsafe", "extern", "async", "mut", "let", "for", "where"}


Token = namedtuple("Token", "kind text line")  # line from 1


def tokens_of(source):
    """The tokens of Rust source, without comments and blanks."""
    found, at, line = [], 0, 1
    while at < len(source):
        match = TOKEN.match(source, at)
        kind, text, end = match.lastgroup, match.group(), match.end()
        if match.group("raw"):
            kind = "string"
            closing = '"' + match.group("hashes")
            end = source.find(closing, end) + len(closing)
            text = source[at:end]
        if kind != "skip":
            found.append(Token(kind, text.removeprefix("r#") if kind == "name" else text, line))
        line += source.count("\n", at, end)
        at = end
    return found


class Module:
    """A Rust module: a file, or an inline module of one."""

    def __init__(self, file, parent, child_directory):
        self.file, self.parent, self.child_directory = file, parent, child_directory
        self.children, self.items, self.aliases = {}, set(), {}
        self.globs, self.paths, self.uses = [], [], []


class Crate:
    """The module tree below one root file."""

    def __init__(self, root_file):
        self.files, self.declared, self.modules = set(), [], []
        self.root = self.load(root_file, None, os.path.dirname(root_file))

    def load(self, file, parent, child_directory):
        module = Module(file, parent, child_directory)
        self.files.add(file)
        self.modules.append(module)
        with open(file, encoding="utf-8") as opened:
            Parser(self, tokens_of(opened.read())).module(module)
        return module

    def child_file(self, module, name, path_attribute):
        """The file of `mod name;`, and where its own children lie."""
        here = os.path.dirname(module.file)
        if path_attribute is not None:
            file = os.path.normpath(os.path.join(here, path_attribute))
            return file, os.path.dirname(file)
        beside = os.path.join(module.child_directory, name)
        if os.path.exists(beside + ".rs"):
            return beside + ".rs", beside
        return os.path.join(beside, "mod.rs"), beside

    def edges(self):
        """{file: {imported file: [(line, what is written there)]}}"""
        graph = {file: {} for file in self.files}

        def add(importer, imported, line, written):
            if importer != imported:
                graph[importer].setdefault(imported, []).append((line, written))

        for parent, child, line, name in self.declared:
            add(parent, child, line, f"mod {name}")
        for module in self.modules:
            begun = {segments[0] for segments, _ in module.paths} | {segments[0] for segments, _, _ in module.uses}
            for segments, name, line in module.uses:
                found = self.resolve(module, segments, set())
                # An imported module is only a prefix: what is taken from it counts where it is taken.
                if found and (found[0] == "item" or name not in begun):
                    add(module.file, file_of(found), line, "use " + "::".join(segments))
            for segments, line in module.paths:
                found = self.resolve(module, segments, set())
                if found:
                    add(module.file, file_of(found), line, "::".join(segments))
        return graph

    def resolve(self, module, segments, seen):
        """('module', Module), ('item', file that defines it), or None for another crate's."""
        first, *rest = segments
        if first in ("crate", "$crate"):
            found = ("module", self.root)
        elif first == "self":
            found = ("module", module)
        elif first == "super":
            found = ("module", module.parent) if module.parent else None
        else:
            found = self.lookup(module, first, seen)
        for segment in rest:
            if found is None or found[0] == "item":
                return found
            inside = found[1]
            if segment == "super":
                found = ("module", inside.parent)
            elif segment not in ("self", "*"):
                found = self.lookup(inside, segment, seen) or ("item", inside.file)
        if segments[-1] == "*" and found:
            return ("item", file_of(found))
        return found

    def lookup(self, module, name, seen):
        if (id(module), name) in seen:
            return None
        seen = seen | {(id(module), name)}
        if name in module.children:
            return ("module", module.children[name])
        if name in module.items:
            return ("item", module.file)
        if name in module.aliases:
            return self.resolve(module, module.aliases[name], seen)
        for segments in module.globs:
            target = self.resolve(module, segments, seen)
            found = target and target[0] == "module" and self.lookup(target[1], name, seen)
            if found:
                return found
        return None


def file_of(found):
    return found[1].file if found[0] == "module" else found[1]


class Parser:
    """Reads the tokens of one file into its modules."""

    def __init__(self, crate, tokens):
        self.crate, self.tokens, self.at = crate, tokens, 0

    def text(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def kind(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at].kind if 0 <= at < len(self.tokens) else ""

    def module(self, module):
        """Until the module's closing brace or the end of the file."""
        depth, path_attribute = 0, None
        while self.at < len(self.tokens):
            text, kind = self.text(), self.kind()
            if kind == "mark" and text == "#" and self.text(1) in "[!":
                inner = self.text(1) == "!"
                test, path = self.attribute()
                path_attribute = path or path_attribute
                if test and not inner:
                    self.skip_item()
                    path_attribute = None
            elif kind == "mark" and text in "{}":
                depth += 1 if text == "{" else -1
                self.at += 1
                if depth < 0:
                    return
            elif kind != "name":
                self.at += 1
            elif text == "pub" and self.text(1) == "(" and self.text(2) in ("crate", "self", "super", "in"):
                self.at += 1
                self.skip_balanced()
            elif text == "mod" and self.kind(1) == "name" and self.text(2) in (";", "{"):
                self.declaration(module, path_attribute)
                path_attribute = None
            elif text == "use" and (self.kind(1) in ("name", "path") or self.text(1) == "{"):
                self.at += 1
                line = self.tokens[self.at].line
                self.use_tree(module, [], line)
            elif text in ITEM_WORDS and depth == 0 and self.kind(1) == "name" and self.text(1) not in KEYWORDS:
                module.items.add(self.text(1))
                self.at += 2
            else:
                self.path(module)

    def attribute(self):
        """Over `#[…]`: whether it is cfg(test), and the value of a path attribute."""
        start = self.at
        self.at += 1 + (self.text(1) == "!")
        self.skip_balanced()
        words = [token.text for token in self.tokens[start : self.at]]
        path = words[4][1:-1] if words[2:4] == ["path", "="] else None
        return words[2:4] == ["cfg", "("] and "test" in words and "not" not in words, path

    def skip_balanced(self):
        """Over a bracket with all that is in it."""
        depth = 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.kind == "mark" and token.text in OPEN:
                depth += 1
            elif token.kind == "mark" and token.text in CLOSE:
                depth -= 1
                if depth == 0:
                    return

    def skip_item(self):
        """Over the item, field, statement or arm that follows an attribute."""
        while self.text() == "#":
            self.attribute()
        item = self.text() in KEYWORDS
        braces_end_it = self.text() != "use" and not (self.text() == "pub" and "use" in (self.text(1), self.text(4)))
        while self.at < len(self.tokens):
            text = self.text() if self.kind() == "mark" else ""
            if text and text in CLOSE:
                return
            if text and text in OPEN:
                self.skip_balanced()
                if text == "{" and item and braces_end_it:
                    return
                continue
            self.at += 1
            if text == ";" or (text == "," and not item):
                return

    def declaration(self, module, path_attribute):
        name, line, inline = self.text(1), self.tokens[self.at].line, self.text(2) == "{"
        self.at += 3
        if inline:
            child = Module(module.file, module, os.path.join(module.child_directory, name))
            self.crate.modules.append(child)
            module.children[name] = child
            self.module(child)
            return
        file, directory = self.crate.child_file(module, name, path_attribute)
        module.children[name] = self.crate.load(file, module, directory)
        self.crate.declared.append((module.file, file, line, name))

    def use_tree(self, module, prefix, line):
        """One tree of a `use`, up to the `;`, `,` or `}` after it."""
        segments = list(prefix)
        while self.at < len(self.tokens):
            text = self.text()
            self.at += 1
            if text == "{":
                while self.text() not in ("}", ""):
                    self.use_tree(module, segments, line)
                    if self.text() == ",":
                        self.at += 1
                self.at += 1
                return
            if text == "*":
                module.globs.append(segments)
                module.uses.append(([*segments, "*"], None, line))
                return
            if text != "::":
                segments.append(text)
            if self.text() == "as":
                self.record(module, segments, self.text(1), line)
                self.at += 2
                return
            if text != "::" and self.text() != "::":
                self.record(module, segments, segments[-1], line)
                return

    def record(self, module, segments, name, line):
        if segments[-1] == "self" and len(segments) > 1:
            segments = segments[:-1]
            name = segments[-1] if name == "self" else name
        # `use ring;` or `use self::child;` add no name that the lookup lacks.
        if segments != [name]:
            module.aliases[name] = segments
            module.uses.append((segments, name, line))

    def path(self, module):
        """`a::b::c` in code; a single name was imported by a `use` that counts already."""
        line, segments = self.tokens[self.at].line, [self.text()]
        begins = self.text(-1) not in ("::", ".")
        self.at += 1
        while self.text() == "::" and self.kind(1) == "name":
            segments.append(self.text(1))
            self.at += 2
        if begins and len(segments) > 1:
            module.paths.append((segments, line))


ES_IMPORT = re.compile(
    r"""^[ \t]*(?:import|export)\b(?:[^'"();]*?\bfrom)?\s*(['"])(?P<static>[^'"]+)\1"""
    r"""|\bimport\(\s*(['"])(?P<dynamic>[^'"]+)\3\s*\)""",
    re.MULTILINE,
)


def es_edges(root):
    """The imports among the .js files below a directory, and what breaks the layers."""
    graph, wrong = {}, []
    for directory, _, names in os.walk(root):
        for name in names:
            if name.endswith(".js"):
                graph[os.path.join(directory, name)] = {}
    for file in sorted(graph):
        with open(file, encoding="utf-8") as opened:
            source = opened.read()
        for match in ES_IMPORT.finditer(source):
            written = match["static"] or match["dynamic"]
            line = source.count("\n", 0, match.start()) + 1
            imported = os.path.normpath(os.path.join(os.path.dirname(file), written))
            if imported not in graph:
                wrong.append(f"{file}:{line}: no such module: {written}")
                continue
            if imported != file:
                graph[file].setdefault(imported, []).append((line, f"import '{written}'"))
            broken = broken_layer(os.path.relpath(file, root), os.path.relpath(imported, root))
            if broken:
                wrong.append(f"{file}:{line}: {broken}: {written}")
    return graph, wrong


def broken_layer(importer, imported):
    """Names the fault of an import, given both paths below html/; None if it has none."""
    page, other = importer.split(os.sep)[0], imported.split(os.sep)[0]
    if other not in (page, "common"):
        return "common/ imports from a page" if page == "common" else "a page imports from another page"
    in_core = importer.split(os.sep)[1] == "core"
    if in_core and other != "common" and imported.split(os.sep)[1] != "core":
        return "core/ imports from outside core/"
    return None


def circles(graph):
    """The strongly connected components of more than one file, the largest first (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for step in sorted(graph[node]):
            if step not in index:
                visit(step)
                low[node] = min(low[node], low[step])
            elif step in stack:
                low[node] = min(low[node], index[step])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(set(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10_000)
    for start in sorted(graph):
        if start not in index:
            visit(start)
    return sorted(found, key=lambda component: (-len(component), sorted(component)))


def shortest_circle(graph, component):
    """The files of a shortest circle inside a component; the first is not repeated at the end."""

    def circle_from(start):
        paths, queue = {start: [start]}, deque([start])
        while start not in graph[queue[0]]:
            node = queue.popleft()
            for step in sorted(set(graph[node]) & component - set(paths)):
                paths[step] = [*paths[node], step]
                queue.append(step)
        return paths[queue[0]]

    return min((circle_from(start) for start in sorted(component)), key=len)


def describe(graph, component, with_edges):
    path = shortest_circle(graph, component)
    lines = [f"knots: {len(component)} files import each other: " + ", ".join(sorted(component))]
    for importer, imported in zip(path, path[1:] + path[:1]):
        line, written = graph[importer][imported][0]
        lines.append(f"  {importer}:{line}: {written}  ->  {imported}")
    if with_edges:
        for importer in sorted(component):
            for imported in sorted(set(graph[importer]) & component):
                for line, written in sorted(set(graph[importer][imported])):
                    lines.append(f"    {importer}:{line}: {written}  ->  {imported}")
    return "\n".join(lines)


def check(root, with_edges=False):
    """All that is wrong below a root, as texts."""
    here = os.getcwd()
    os.chdir(root)
    try:
        rust = Crate(os.path.join("src", "lib.rs")).edges() if os.path.exists("src/lib.rs") else {}
        pages, problems = es_edges("html") if os.path.isdir("html") else ({}, [])
    finally:
        os.chdir(here)
    for graph in (rust, pages):
        for component in circles(graph):
            if component not in [set(files) for files in EXCEPTIONS]:
                problems.append(describe(graph, component, with_edges))
    return problems


def self_test():
    trees = [
        ("no circle: a sibling through the parent's re-export", 0, {
            "src/lib.rs": "pub mod a;\n#[cfg(test)]\nextern crate self as me;",
            "src/a/mod.rs": "mod b;\nmod c;\npub use b::{B, helper as help};",
            "src/a/b.rs": "pub struct B; pub fn helper() {}\n#[cfg(test)]\nmod tests { use super::super::c::C; }",
            "src/a/c.rs": "use super::B;\n// use super::b::Gone;\npub struct C(B);\nfn f() { super::help(); let _ = \"crate::a::X\"; }",
        }),
        ("a child uses an item of its parent's file", 1, {
            "src/lib.rs": "mod a;",
            "src/a/mod.rs": "mod b; pub(crate) const MAX: u8 = 1;",
            "src/a/b.rs": "fn f() -> u8 { super::MAX }",
        }),
        ("two siblings, by an expression and by an alias of a module", 1, {
            "src/lib.rs": "mod a; mod b;",
            "src/a.rs": "use crate::b;\npub fn f<'a>(x: &'a str) -> char { b::g(); 'x' }",
            "src/b.rs": "pub fn g() { if '\"' == '\\'' { crate::a::f(r#\"\"x\"\"#); } }",
        }),
        ("through a re-export and a glob", 1, {
            "src/lib.rs": "pub mod a; pub mod b;",
            "src/a/mod.rs": "mod inner; pub use inner::*;",
            "src/a/inner.rs": "pub struct Thing; use crate::b::{self, other::{Other as O}};",
            "src/b/mod.rs": "pub mod other;",
            "src/b/other.rs": "use crate::a::Thing; pub struct Other;",
        }),
        ("visibility, inline modules and tests do not count", 0, {
            "src/lib.rs": "mod a;",
            "src/a.rs": "mod b;\n#[cfg(test)]\nuse b::{x, y};\nmod words { pub(in crate::a) const A: u8 = 1; fn f() { super::g() } }\nfn g() {}",
            "src/a/b.rs": "pub(in super::super) fn x() {}\n#[cfg(test)]\n#[path = \"b_tests.rs\"]\nmod tests;\nstruct S {\n#[cfg(test)]\nfield: super::Gone,\n}",
        }),
        ("two modules and a page's import from another page", 3, {
            "html/one/app.js": "import { b } from './b.js';\nimport '../two/app.js';\n",
            "html/one/b.js": "export { a } from \"./c.js\";\n",
            "html/one/c.js": "const late = () => import('./b.js');\n",
            "html/two/app.js": "import {\n  x,\n} from './core/x.js';\n",
            "html/two/core/x.js": "import { app } from '../view.js';\n",
            "html/two/view.js": "// import '../one/app.js';\nconst word = 'import';\n",
        }),
    ]
    for name, expected, files in trees:
        with tempfile.TemporaryDirectory() as root:
            for path, source in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(source)
            problems = check(root)
            if len(problems) != expected:
                sys.exit(f"knots: self-test: {name}: {len(problems)} instead of {expected}\n" + "\n".join(problems))
    print(f"knots: self-test: {len(trees)} trees, as expected")


def main(arguments):
    if "--self-test" in arguments:
        return self_test()
    roots = [a for a in arguments if not a.startswith("--")]
    root = roots[0] if roots else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    problems = check(root, "--edges" in arguments)
    print("\n".join(problems) if problems else "knots: no two files import each other")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
