"""The pages of the public names, made from the code: what is exported, how it is called, and what its docstring says.

Nothing is written by hand twice, so a page cannot fall behind; what has no docstring is a gap that the test names.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TypeAlias, final

from pydantic import BaseModel

ROOT = Path(__file__).parents[2]
PACKAGES = ("registry", "connectors")
HEAD = "Made from the code by `pytest tests/docs/test_api_pages.py --rewrite-snapshots`; a test compares it.\n"
ARGUMENT = re.compile(r"^    (\w+): (.+(?:\n        .+)*)$", re.MULTILINE)
SECTION = re.compile(r"^(Args|Raises|Returns|Yields):$")
SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z`\"'(])")

Definition: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A name of a module: the definitions of it, and what stands below the last one as its docstring."""

    module: str
    definitions: tuple[Definition, ...]
    below: str


def public_modules() -> dict[str, Path]:
    """Every module of which no part begins with an underscore."""
    out: dict[str, Path] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if not any(part.startswith("_") for part in parts):
                out[".".join(parts)] = path
    return out


def exported(module: str) -> tuple[str, ...] | None:
    """The names of `__all__`, or None where a module has none."""
    found = definitions(module).get("__all__")
    if found is None:
        return None
    value = found.definitions[-1]
    assert isinstance(value, ast.Assign)
    return tuple(ast.literal_eval(value.value))


@cache
def tree(module: str) -> ast.Module:
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def definitions(module: str) -> dict[str, Found]:
    """What is defined at the top of a module, under `if` and `try` too."""
    out: dict[str, Found] = {}
    for node, below in flat(tree(module).body):
        for name in names_of(node):
            before = out[name].definitions if name in out else ()
            out[name] = Found(module=module, definitions=(*before, node), below=below)
    return out


def flat(body: list[ast.stmt]) -> Iterator[tuple[Definition, str]]:
    for at, node in enumerate(body):
        if isinstance(node, ast.If | ast.Try):
            yield from flat(node.body)
            yield from flat(node.orelse)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign):
            yield node, text_of(body[at + 1] if at + 1 < len(body) else None)


def names_of(node: Definition) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign):
        return [node.target.id] if isinstance(node.target, ast.Name) else []
    return [node.name]


def text_of(node: ast.stmt | None) -> str:
    """The text of a statement that is a string, which is the docstring of the assignment above it."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return inspect.cleandoc(node.value.value)
    return ""


def look_up(module: str, name: str) -> Found | str:
    """The definition of a name, wherever it was imported from; the name of a module if it is one."""
    found = definitions(module).get(name)
    if found is not None:
        return found
    for node in ast.walk(tree(module)):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                inner = f"{node.module}.{alias.name}"
                return inner if inner in public_modules() else look_up(node.module, alias.name)
    raise LookupError(f"{module} exports {name}, and defines and imports it nowhere")


# -- pages


def pages() -> dict[str, str]:
    """Every page by its file name, and the list of them."""
    out = {f"{module}.md": page(module) for module in public_modules() if exported(module)}
    index = ["# Public names", "", HEAD]
    for module in public_modules():
        if exported(module):
            first = (ast.get_docstring(tree(module)) or "").partition("\n\n")[0].replace("\n", " ")
            index.append(f"- [{module}]({module}.md): {SENTENCE.split(first)[0]}")
    return {**out, "README.md": "\n".join([*index, ""])}


def page(module: str) -> str:
    lines = [f"# {module}", "", HEAD, prose(ast.get_docstring(tree(module)) or ""), ""]
    for name in exported(module) or ():
        lines += [f"## {name}", "", *entry(look_up(module, name)), ""]
    return "\n".join(lines)


def entry(found: Found | str) -> list[str]:
    if isinstance(found, str):
        return [f"The module [{found}]({found}.md)."]
    last = found.definitions[-1]
    if isinstance(last, ast.ClassDef):
        return class_entry(last, found.module)
    if isinstance(last, ast.FunctionDef | ast.AsyncFunctionDef):
        overloads = [d for d in found.definitions if isinstance(d, ast.FunctionDef) and is_overload(d)]
        shown = [signature(d) for d in overloads] or [signature(last)]
        return ["```text", *shown, "```", "", prose(ast.get_docstring(last) or "")]
    return ["```text", assignment(last), "```", "", prose(found.below)]


def is_overload(node: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "overload" for d in node.decorator_list)


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef, *, of: str | None = None) -> str:
    """A definition on one line, or with a line for each parameter where that is too long."""
    arguments = ast.unparse(without_self(node.args) if of is not None else node.args)
    head = f"{'async ' if isinstance(node, ast.AsyncFunctionDef) else ''}{of or node.name}"
    back = f" -> {ast.unparse(node.returns)}" if node.returns is not None and node.name != "__init__" else ""
    line = f"{head}({arguments}){back}"
    if len(line) <= 100:
        return line
    parts = [f"    {part}," for part in parameters(without_self(node.args) if of is not None else node.args)]
    return "\n".join([f"{head}(", *parts, f"){back}"])


def without_self(args: ast.arguments) -> ast.arguments:
    names = [a.arg for a in args.args]
    if names[:1] not in (["self"], ["cls"]):
        return args
    return ast.arguments(
        posonlyargs=args.posonlyargs,
        args=args.args[1:],
        vararg=args.vararg,
        kwonlyargs=args.kwonlyargs,
        kw_defaults=args.kw_defaults,
        kwarg=args.kwarg,
        defaults=args.defaults[max(0, len(args.defaults) - len(args.args) + 1) :],
    )


def parameters(args: ast.arguments) -> Iterator[str]:
    places = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(places) - len(args.defaults)) + list(args.defaults)
    for place, default in zip(places, defaults, strict=True):
        yield parameter(place, default)
    if args.vararg is not None:
        yield f"*{ast.unparse(args.vararg)}"
    elif args.kwonlyargs:
        yield "*"
    for place, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield parameter(place, default)
    if args.kwarg is not None:
        yield f"**{ast.unparse(args.kwarg)}"


def parameter(place: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(place) if default is None else f"{ast.unparse(place)} = {ast.unparse(default)}"


def assignment(node: Definition) -> str:
    """An alias or a constant; a value that is no literal is how it is made, and no one's concern."""
    return ast.unparse(node)


def class_entry(node: ast.ClassDef, module: str) -> list[str]:
    lines = ["```text", f"class {node.name}{bases(node)}"]
    made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if made is not None and len(made.args.args) + len(made.args.kwonlyargs) > 1:
        lines.append(signature(made, of=node.name))
    lines += ["```", "", prose(ast.get_docstring(node) or ""), ""]
    lines += [f"- `{what}`{': ' if said else ''}{said}" for what, said in attributes(node, module)]
    lines += ["", *methods(node)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip().split("\n")


def bases(node: ast.ClassDef) -> str:
    return f"({', '.join(ast.unparse(b) for b in node.bases)})" if node.bases else ""


def attributes(node: ast.ClassDef, module: str) -> Iterator[tuple[str, str]]:
    """The fields of a class with what is said of them: below them, by `Field(description=...)`, or under `Args:`."""
    told = dict(ARGUMENT.findall(ast.get_docstring(node) or ""))
    for item, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and is_public(item.target.id):
            said = text_of(after) or described(module, node.name, item.target.id) or told.get(item.target.id, "")
            yield field_of(item), said.replace("\n", " ")
        elif isinstance(item, ast.Assign) and "Enum" in bases(node):
            yield ast.unparse(item), text_of(after).replace("\n", " ")


def described(module: str, of: str, name: str) -> str:
    """What a field of a pydantic model says of itself."""
    made: object = getattr(import_module(module), of)
    if not (isinstance(made, type) and issubclass(made, BaseModel)) or name not in made.model_fields:
        return ""
    return made.model_fields[name].description or ""


def field_of(item: ast.AnnAssign) -> str:
    """How a field is shown: a call that makes its default is left out but for the default."""
    kind, value = item.annotation, item.value
    if isinstance(kind, ast.Subscript) and ast.unparse(kind.value) == "Annotated":
        kind = kind.slice.elts[0] if isinstance(kind.slice, ast.Tuple) else kind
    shown = f"{ast.unparse(item.target)}: {ast.unparse(kind)}"
    if isinstance(value, ast.Call):
        alias = next((k.value for k in value.keywords if k.arg == "alias"), None)
        shown = shown if alias is None else f"{ast.literal_eval(alias)}: {ast.unparse(kind)}"
        default = next((k.value for k in value.keywords if k.arg == "default"), None) or next(iter(value.args), None)
        return shown if default is None else f"{shown} = {ast.unparse(default)}"
    return shown if value is None else f"{shown} = {ast.unparse(value)}"


def methods(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        # A method of which nothing is said is for ourselves; it stands in a private module as a rule.
        if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) or not is_public(item.name):
            continue
        said = prose(ast.get_docstring(item) or "")
        if not said:
            continue
        if is_a(item, "property", "cached_property"):
            kind = ast.unparse(item.returns) if item.returns is not None else "?"
            yield f"### {node.name}.{item.name}: `{kind}`\n\n{said}\n"
            continue
        of = f"{node.name}.{item.name}" if not is_a(item, "staticmethod") else None
        yield f"### {node.name}.{item.name}\n\n```text\n{signature(item, of=of)}\n```\n\n{said}\n"


def is_a(node: ast.FunctionDef | ast.AsyncFunctionDef, *decorators: str) -> bool:
    return any(ast.unparse(d).rpartition(".")[2] in decorators for d in node.decorator_list)


def is_public(name: str) -> bool:
    return not name.startswith("_")


def prose(docstring: str) -> str:
    """A docstring as Markdown, one sentence a line; its sections become lists."""
    out: list[str] = []
    for block in docstring.split("\n\n"):
        first, *rest = block.split("\n")
        if SECTION.match(first):
            out.append(section(first, rest))
        elif all(line.startswith(("- ", "  ")) for line in (first, *rest)):
            out.append(block)
        else:
            out.append("\n".join(SENTENCE.split(" ".join((first, *rest)))))
    return "\n\n".join(out)


def section(title: str, lines: list[str]) -> str:
    """`Args:` and its like: an item for each line that is indented once, with what goes on below it."""
    items: list[str] = []
    for line in lines:
        if line.startswith("        ") and items:
            items[-1] += f" {line.strip()}"
        else:
            items.append(line.strip())
    shown = [re.sub(r"^(\*{0,2}[\w.]+)(?=:)", r"`\1`", item) for item in items if item]
    return "\n".join([title, "", *(f"- {item}" for item in shown)])


# -- gaps


def gaps() -> list[str]:
    """The public names and their fields of which nothing is said."""
    out: list[str] = []
    for module in public_modules():
        for name in exported(module) or ():
            found = look_up(module, name)
            if isinstance(found, str):
                continue
            last = found.definitions[-1]
            if isinstance(last, ast.Assign | ast.AnnAssign):
                out += [] if found.below else [f"{module}.{name}"]
                continue
            out += [] if ast.get_docstring(last) else [f"{module}.{name}"]
            if isinstance(last, ast.ClassDef):
                out += [
                    f"{module}.{name}.{what.partition(':')[0]}"
                    for what, said in attributes(last, found.module)
                    if not said
                ]
    return out
