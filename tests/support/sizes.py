"""Sizes of classes and functions, read from formatted source files."""

import ast
import re
from typing import NamedTuple


class Function(NamedTuple):
    """A function, method or lambda."""

    name: str
    parameters: int
    lines: int


class Class(NamedTuple):
    """A class or struct and how many data members it has."""

    name: str
    members: int


def cpp_sizes(text):
    """Return the functions and classes of C++ source that clang-format has formatted.

    A scanner, not a parser: it follows braces, and knows what opens one by the text since the last statement.
    """
    text = _blanked(text)
    functions, classes = [], []
    stack = []  # of (kind, name, parameters, line, members)
    statement, parens, start = "", 0, None
    for line, content in enumerate(text.split("\n"), 1):
        if content.lstrip().startswith("#"):
            continue
        for character in content + "\n":
            if character == "{":
                kind, name, parameters = _opened(statement, stack[-1][0] if stack else "namespace")
                stack.append((kind, name, parameters, start or line, statement, parens))
                if kind != "initialiser":
                    statement, parens, start = "", 0, None
                else:
                    statement += "{"
            elif character == "}":
                if not stack:
                    continue
                kind, name, parameters, first, before, outside = stack.pop()
                if kind == "function":
                    functions.append(Function(name, parameters, line - first + 1))
                    statement, parens, start = (before + "}", outside, first) if outside else ("", 0, None)
                elif kind == "class":
                    classes.append(Class(name, parameters[0]))
                    statement, parens, start = "", 0, None
                elif kind == "initialiser":
                    statement = before + "{}"
                    parens = outside
                else:
                    statement, parens, start = (before + "{}", outside, start) if outside else ("", 0, None)
            elif character == ";" and parens == 0:
                if stack and stack[-1][0] == "class":
                    stack[-1][2][0] += _members(statement)
                statement, start = "", None
            else:
                if not statement.strip() and not character.isspace():
                    start = line
                statement += character
                parens += (character == "(") - (character == ")")
                if statement.strip() in ("public:", "private:", "protected:"):
                    statement, start = "", None
    return functions, classes


def _blanked(text):
    """Replace comments, strings and characters by blanks of the same number of lines."""

    def blank(found):
        return '""' + "\n" * found.group().count("\n")

    # A comment may contain a quote, and a string what looks like a comment.
    literals = r"""("(?:\\.|[^"\\\n])*"|(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])')"""
    text = re.sub(rf"{literals}|//[^\n]*", lambda found: found[1] or "", text)
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found.group().count("\n"), text, flags=re.S)
    text = re.sub(r'R"\w*\(.*?\)\w*"', blank, text, flags=re.S)
    return re.sub(literals, blank, text)


def _without_template(statement):
    statement = statement.strip()
    while statement.startswith("template"):
        depth = 0
        for place, character in enumerate(statement):
            depth += (character == "<") - (character == ">" and statement[place - 1] != "-")
            if character == ">" and depth == 0:
                statement = statement[place + 1 :].strip()
                break
        else:
            return statement
    return statement


CLASS = re.compile(r"(?:class|struct|union)\s+(?:\[\[\w+\]\]\s*)?([\w:<>, ]+?)(?:\s+final)?\s*(?::[^:].*)?$", re.S)
LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(?:<[^()]*>\s*)?(\(.*\))?\s*(?:mutable|noexcept|\s|->[^()]*)*$", re.S)
NOT_A_MEMBER = re.compile(r"(using|typedef|friend|static|template|enum|class|struct|union|explicit|virtual)\b")


def _opened(statement, outside):  # noqa: PLR0911
    """Return what a brace after this text opens, its name, and its number of parameters."""
    statement = _without_template(statement)
    if re.match(r"(inline )?namespace\b|extern\b", statement):
        return "namespace", "", 0
    if statement.startswith("enum"):
        return "initialiser", "", 0
    if found := CLASS.match(statement):
        return "class", found.group(1), [0]
    if found := LAMBDA.search(statement):
        return "function", "lambda", _count(_last_group(found.group(1) or ""))
    if outside in ("namespace", "class") and "(" in statement and not re.search(r"=\s*$", statement):
        head = re.sub(r"operator\s*\(\s*\)", "operator_call", statement)
        at = head.index("(")
        name = re.search(r"([\w:~]+|operator\W+)\s*$", head[:at])
        if name and "=" not in head[:at].replace("operator", ""):
            return "function", name.group(1), _count(_group(head[at:]))
    if re.search(r"(^|[^\w])(if|for|while|switch|do|else|try|catch)\b", statement) or statement == "":
        return "block", "", 0
    return "initialiser", "", 0


def _group(text):
    """Return what the parentheses hold with which the text begins."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:place]
    return ""


def _last_group(text):
    return _group(text[text.find("(") :]) if "(" in text else ""


def _split(text):
    """Split at commas outside brackets of any kind."""
    parts, depth, part = [], 0, ""
    for place, character in enumerate(text):
        if character in "([{<":
            depth += 1
        elif character in ")]}" or (character == ">" and text[place - 1] != "-"):
            depth -= 1
        if character == "," and depth == 0:
            parts.append(part)
            part = ""
        else:
            part += character
    return [part for part in [*parts, part] if part.strip()]


def _count(parameters):
    return len(_split(parameters))


def _members(statement):
    """Return how many data members a statement of a class declares."""
    statement = _without_template(re.sub(r"^\s*(public|private|protected):", "", statement.strip()).strip())
    if not statement or NOT_A_MEMBER.match(statement):
        return 0
    bare = re.sub(r"<[^<>]*(<[^<>]*(<[^<>]*>)?[^<>]*>)?[^<>]*>", "", statement)
    bare = re.split(r"=|\{", bare, maxsplit=1)[0] if "(" in bare.split("=")[-1] else bare
    if "(" in bare or "operator" in bare:
        return 0
    return len(_split(statement))


def python_sizes(text):
    """Return the functions of a Python module, without `self` and `cls` among their parameters."""
    made = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        own = [argument for argument in named if argument.arg not in ("self", "cls")]
        made.append(Function(node.name, len(own), node.end_lineno - node.lineno + 1))
    return made
