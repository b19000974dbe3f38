#!/usr/bin/env python3
"""Checks the texts that people read, as a part of `make lint`: phrases of tests/words.txt that must not appear in them,
sentences of README and manual that are too long, and comments that begin with no noun or verb.
`--self-test` checks the checks."""

import html
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LONGEST = 30
# No comment or docstring begins so: begin with a noun or a verb, such as "True if", "Returns" or "Limit for".
QUESTION = re.compile(
    r'^[ \t]*(?:(?://[/!]?|/?\*+|#)[ \t]+|r?"""\s*)'
    r'((?:What|Whatever|Whether|Who|Whoever|Whose|Which|How|Why|Where|When|That|Those|One that|The same)\b.*)',
    re.M,
)
COMMENTED = (
    'src/**/*.rs', 'tests/**/*.rs', 'build/*.rs', 'build.rs', 'examples/*.rs', 'html/**/*.js', 'html/**/*.css', 'html/**/*.ts',
    'tests/**/*.js', 'tests/**/*.mjs', 'tests/**/*.py', 'tests/**/*.sh', 'tests/**/*.toml', 'build/*.py', 'Makefile', 'Cargo.toml',
)
RUST = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
SCRIPT = re.compile(r"'((?:[^'\\\n]|\\.)*)'|`((?:[^`\\]|\\.)*)`")
TESTS = re.compile(r'\n#\[cfg\(test\)\]\nmod \w+ \{.*', re.S)


def prose(text):
    """The sentences of a page, without what stands in code, tables and headings."""
    text = re.sub(r'(?s)<(pre|table|head)\b.*?</\1>', '. ', text)
    text = re.sub(r'</?(?:p|li|h\d|ul|ol|main|header)\b[^>]*>', '. ', text)
    text = html.unescape(re.sub(r'<[^>]+>', '', text))
    return re.split(r'(?<=[.!?:;])\s+', text)


def readme(text):
    text = re.sub(r'(?s)```.*?```|<[^>]+>', '. ', text)
    text = re.sub(r'(?m)^(?:\||#).*$', '. ', text)
    text = re.sub(r'\]\([^)]*\)', ']', text)
    return re.split(r'(?<=[.!?:;])\s+|\n\s*\n|\n- ', text)


def literals(path, text):
    """Text that a person may read, by line."""
    if path.suffix == '.rs':
        text = TESTS.sub('', text)
        code = re.sub(r'(?m)^[ \t]*//.*$', '', text)
        found = ((code.count('\n', 0, one.start()) + 1, one.group(1)) for one in RUST.finditer(code))
    elif path.suffix == '.js':
        code = re.sub(r'(?m)^[ \t]*(?://|\*|/\*\*).*$', '', text)
        found = ((code.count('\n', 0, one.start()) + 1, one.group(1) or one.group(2) or '') for one in SCRIPT.finditer(code))
    else:
        found = enumerate(text.splitlines(), 1)
    return [(line, re.sub(r'\\\n\s*', '', said)) for line, said in found]


def forbidden(text, phrases):
    return [phrase.pattern for phrase in phrases if phrase.search(text)]


def questions(name, text):
    found = ((text.count('\n', 0, one.start(1)) + 1, one.group(1)) for one in QUESTION.finditer(text))
    return [f'{name}:{line}: a comment begins with no noun or verb: {said[:90]}' for line, said in found]


def files(*patterns):
    for pattern in patterns:
        yield from (path for path in sorted(ROOT.glob(pattern)) if 'target' not in path.parts)


def main():
    lines = (ROOT / 'tests/words.txt').read_text().splitlines()
    phrases = [re.compile(line) for line in lines if line and not line.startswith('#')]
    faults = []
    for path in files('src/**/*.rs', 'html/**/*.js', 'html/**/*.html', 'src/**/openapi.json', 'README.md', 'Makefile'):
        if path.stem.endswith('_tests'):
            continue
        text = path.read_text()
        name = path.relative_to(ROOT)
        for line, said in literals(path, text):
            faults += [f'{name}:{line}: “{phrase}”: {said.strip()[:90]}' for phrase in forbidden(said, phrases)]
        if name.parts[0] == 'html' and name.parts[1] == 'docs' or path.name == 'README.md':
            for sentence in readme(text) if path.suffix == '.md' else prose(text):
                count = len([word for word in sentence.split() if re.search(r'\w', word)])
                if count > LONGEST:
                    faults.append(f'{name}: {count} words in a sentence: {" ".join(sentence.split())[:90]} …')
    for path in files(*COMMENTED):
        faults += questions(path.relative_to(ROOT), path.read_text())
    print('\n'.join(faults) or 'words: no faults')
    return 1 if faults else 0


def self_test():
    assert forbidden('it is let in', [re.compile('is let in')]) and not forbidden('allowed', [re.compile('is let in')])
    assert literals(pathlib.Path('a.rs'), '// "no"\nf("one \\\n   two");\n#[cfg(test)]\nmod tests {\n "x" }') == [(2, 'one two')]
    assert literals(pathlib.Path('a.js'), "// 'no'\nx = 'yes';") == [(2, 'yes')]
    long = 'word ' * 31
    assert any(len(one.split()) > LONGEST for one in prose(f'<p>{long}</p>'))
    assert not any(len(one.split()) > LONGEST for one in prose(f'<pre>{long}</pre><p>Short. Short.</p>'))
    assert questions('a.rs', 'use b;\n    /// Whether it holds.') == ['a.rs:2: a comment begins with no noun or verb: Whether it holds.']
    assert questions('a.css', '/* What is shown */') and questions('a.js', '/** The same */') and questions('a.sh', '# Who asks')
    assert questions('a.mjs', '// Those that run') and questions('a.rs', 'a;\n//! One that runs')
    assert questions('a.py', 'def a():\n    """How many."""') and questions('a.py', '"""\nWhere it is."""')
    assert not questions('a.rs', '/// True if it holds.\n/// Whole lines.\n//\nThat(a);\nlet a = "// What";')
    assert not questions('a.py', 'a = """What"""\n"""\nCounts what runs."""')
    print('words: self-test: as expected')
    return 0


sys.exit(self_test() if sys.argv[1:] == ['--self-test'] else main())
