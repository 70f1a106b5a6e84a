"""One pass from libcst's tree to the small form of `_ir.py`, for files in a newer Python than the one that runs; must never
ask for libcst's metadata, which costs more than the parse.

Children are visited in the order of the text, so that ordinals agree with those `_positions.py` counts.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import libcst as cst

from tools_check._ir import (
    ASYNC,
    GENERATOR,
    SITE_BITS,
    SITE_MASK,
    ClassDef,
    Def,
    ModuleIR,
    Node,
    Param,
)
from tools_check._lowering import LOST, Lowerer, constant, formatted, negative, placed

LONGEST: Final = 200  # signs of a whole number that is read at all
ESCAPE: Final = re.compile(r"\\(?:N\{[^{}]*\}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|[\s\S])")
SINGLETONS: Final[dict[str, Node]] = {"True": ("k", True), "False": ("k", False), "None": ("k", None)}


def lower(module: cst.Module) -> ModuleIR:
    """The small form of a parsed module."""
    work = CstLowerer()
    return work.module(work.block(module.body))


class CstLowerer(Lowerer):
    """The pass over libcst's tree."""

    # -- statements

    def block(self, body: Sequence[Any]) -> tuple[Node, ...]:
        out: list[Node] = []
        for node in body:
            if type(node) is cst.SimpleStatementLine:
                for small in node.body:
                    self.statement(small, out)
            else:
                self.statement(node, out)
        return tuple(out)

    def suite(self, body: Any) -> tuple[Node, ...]:
        if type(body) is cst.IndentedBlock:
            return self.block(body.body)
        out: list[Node] = []
        for small in body.body:
            self.statement(small, out)
        return tuple(out)

    def statement(self, node: Any, out: list[Node]) -> None:
        self.ordinal += 1
        self.calls = 0
        ordinal = self.ordinal
        kind: Any = node.__class__
        lowered = STATEMENTS.get(kind)
        if lowered is None:  # pass, break, continue
            return
        out.append((ordinal, *lowered(self, node)))

    def expression_statement(self, node: cst.Expr) -> Node:
        return ("e", self.expr(node.value))

    def assign(self, node: cst.Assign) -> Node:
        targets = tuple(self.expr(target.target) for target in node.targets)
        return ("=", targets, self.expr(node.value))

    def aug_assign(self, node: cst.AugAssign) -> Node:
        target = self.expr(node.target)
        return ("aug", target, type(node.operator).__name__, self.expr(node.value))

    def ann_assign(self, node: cst.AnnAssign) -> Node:
        target = self.expr(node.target)
        annotation = self.expr(node.annotation.annotation)
        return ("ann", target, annotation, self.maybe(node.value))

    def returned(self, node: cst.Return) -> Node:
        return ("r", self.maybe(node.value))

    def raised(self, node: cst.Raise) -> Node:
        exc = self.maybe(node.exc)
        return ("raise", exc, self.maybe(node.cause.item) if node.cause else None)

    def conditional(self, node: cst.If) -> Node:
        test = self.expr(node.test)
        body = self.suite(node.body)
        return ("if", test, body, self.orelse(node.orelse))

    def orelse(self, node: cst.If | cst.Else | None) -> tuple[Node, ...]:
        if node is None:
            return ()
        if isinstance(node, cst.Else):
            return self.suite(node.body)
        out: list[Node] = []
        self.statement(node, out)
        return tuple(out)

    def loop(self, node: cst.For) -> Node:
        target = self.expr(node.target)
        iterated = self.expr(node.iter)
        body = self.suite(node.body)
        return ("for", target, iterated, body, self.orelse(node.orelse))

    def while_loop(self, node: cst.While) -> Node:
        test = self.expr(node.test)
        body = self.suite(node.body)
        return ("while", test, body, self.orelse(node.orelse))

    def with_block(self, node: cst.With) -> Node:
        items = tuple(
            (self.expr(item.item), self.expr(item.asname.name) if item.asname else None) for item in node.items
        )
        return ("with", items, self.suite(node.body))

    def try_block(self, node: cst.Try | cst.TryStar) -> Node:
        body = self.suite(node.body)
        handlers: list[Node] = []
        for handler in node.handlers:
            self.calls = SITE_MASK  # the handler's type has no statement of its own
            kind = self.maybe(handler.type)
            name = handler.name.name.value if handler.name and isinstance(handler.name.name, cst.Name) else None
            handlers.append((kind, name, self.suite(handler.body)))
        orelse = self.orelse(node.orelse)
        final = self.suite(node.finalbody.body) if node.finalbody else ()
        return ("try", body, tuple(handlers), orelse, final)

    def match(self, node: cst.Match) -> Node:
        subject = self.expr(node.subject)
        cases: list[Node] = []
        for case in node.cases:
            self.calls = SITE_MASK
            pattern = self.pattern(case.pattern)
            guard = self.maybe(case.guard)
            cases.append((pattern, guard, self.suite(case.body)))
        return ("match", subject, tuple(cases))

    def pattern(self, node: Any) -> Node:
        match node:
            case cst.MatchValue():
                return ("pv", self.expr(node.value))
            case cst.MatchSingleton():
                return ("pv", self.expr(node.value))
            case cst.MatchSequence():
                parts: list[Node] = []
                for part in node.patterns:
                    if isinstance(part, cst.MatchStar):
                        parts.append(("pstar", part.name.value if part.name else None))
                    else:
                        parts.append(self.pattern(part.value))
                return ("pseq", tuple(parts))
            case cst.MatchMapping():
                items = tuple((self.expr(e.key), self.pattern(e.pattern)) for e in node.elements)
                return ("pmap", items, node.rest.value if node.rest else None)
            case cst.MatchClass():
                cls = self.expr(node.cls)
                inner = tuple(self.pattern(e.value) for e in node.patterns)
                return ("pcls", cls, inner, tuple((e.key.value, self.pattern(e.pattern)) for e in node.kwds))
            case cst.MatchAs():
                inner_pattern = self.pattern(node.pattern) if node.pattern else None
                return ("pas", inner_pattern, node.name.value if node.name else None)
            case cst.MatchOr():
                return ("por", tuple(self.pattern(e.pattern) for e in node.patterns))
            case _:
                return ("pas", None, None)

    def imported(self, node: Any) -> Node:
        return (
            "import",
            tuple((dotted_name(a.name), a.asname.name.value if a.asname else None) for a in node.names),
        )

    def imported_from(self, node: Any) -> Node:
        module = dotted_name(node.module) if node.module else ""
        level = len(node.relative)
        if isinstance(node.names, cst.ImportStar):
            return ("from", level, module, (("*", None),))
        names = tuple((dotted_name(a.name), a.asname.name.value if a.asname else None) for a in node.names)
        return ("from", level, module, names)

    def deleted(self, node: cst.Del) -> Node:
        return ("del", (self.expr(node.target),))

    def asserted(self, node: cst.Assert) -> Node:
        test = self.expr(node.test)
        return ("assert", test, self.maybe(node.msg))

    def type_alias(self, node: cst.TypeAlias) -> Node:
        return ("type", node.name.value, self.expr(node.value))

    def function(self, node: cst.FunctionDef) -> Node:
        decorators = tuple(self.expr(d.decorator) for d in node.decorators)
        index = len(self.defs)
        self.defs.append(None)
        ordinal = self.ordinal
        flags = ASYNC if node.asynchronous else 0
        params = self.params(node.params)
        returns = self.expr(node.returns.annotation) if node.returns else None
        qualname = self.qualname(node.name.value)
        body, yields = self.inside(node.name.value, index, lambda: self.suite(node.body))
        if yields:
            flags |= GENERATOR
        self.defs[index] = Def(
            node.name.value,
            qualname,
            params,
            decorators,
            returns,
            body,
            flags,
            ordinal,
            self.owner,
            self.parent,
        )
        return ("def", index)

    def params(self, node: cst.Parameters) -> tuple[Param, ...]:
        out: list[Param] = []
        for group, kind in ((node.posonly_params, "p"), (node.params, "p")):
            out += [self.param(p, kind) for p in group]
        if isinstance(node.star_arg, cst.Param):
            out.append(self.param(node.star_arg, "*"))
        out += [self.param(p, "k") for p in node.kwonly_params]
        if node.star_kwarg:
            out.append(self.param(node.star_kwarg, "**"))
        return tuple(out)

    def param(self, node: cst.Param, kind: str) -> Param:
        annotation = self.expr(node.annotation.annotation) if node.annotation else None
        return Param(node.name.value, kind, annotation, self.maybe(node.default))

    def class_block(self, node: cst.ClassDef) -> Node:
        decorators = tuple(self.expr(d.decorator) for d in node.decorators)
        index = len(self.classes)
        self.classes.append(None)
        ordinal = self.ordinal
        given = [self.argument(a) for a in (*node.bases, *node.keywords)]
        bases = tuple(value for star, keyword, value in given if keyword is None and not star)
        keywords = tuple((keyword, value) for _, keyword, value in given if keyword is not None)
        body = self.inside_class(node.name.value, index, lambda: self.suite(node.body))
        qualname = self.qualname(node.name.value)
        self.classes[index] = ClassDef(
            node.name.value, qualname, bases, keywords, decorators, body, ordinal, self.parent
        )
        return ("class", index)

    # -- expressions

    def maybe(self, node: Any) -> Node | None:
        return None if node is None else self.expr(node)

    def expr(self, node: Any) -> Node:
        kind: Any = node.__class__
        lowered = EXPRESSIONS.get(kind)
        return LOST if lowered is None else lowered(self, node)

    def name(self, node: cst.Name) -> Node:
        return SINGLETONS.get(node.value) or ("n", node.value)

    def attribute(self, node: cst.Attribute) -> Node:
        return ("a", self.expr(node.value), node.attr.value, self.ordinal << SITE_BITS | SITE_MASK)

    def call(self, node: cst.Call) -> Node:
        func = self.expr(node.func)
        site = self.site()
        return ("x", site, func, tuple(self.argument(a) for a in node.args))

    def argument(self, node: cst.Arg) -> tuple[int, str | None, Node]:
        return (len(node.star), node.keyword.value if node.keyword else None, self.expr(node.value))

    def subscript(self, node: cst.Subscript) -> Node:
        value = self.expr(node.value)
        parts = [self.index(element.slice) for element in node.slice]
        alone = len(parts) == 1 and parts[0][0] != "*" and not isinstance(node.slice[0].comma, cst.Comma)
        return ("s", value, parts[0] if alone else ("t", tuple(parts)))

    def index(self, node: Any) -> Node:
        if isinstance(node, cst.Index):
            return ("*", self.expr(node.value)) if node.star else self.expr(node.value)
        return ("sl", tuple(self.expr(p) for p in (node.lower, node.upper, node.step) if p is not None))

    def binary(self, node: cst.BinaryOperation) -> Node:
        # `a + b + c + ...` leans to the left and may be thousands of terms long: a loop, not a recursion.
        chain = [node]
        while isinstance(chain[-1].left, cst.BinaryOperation):
            chain.append(chain[-1].left)
        value = self.expr(chain[-1].left)
        for link in reversed(chain):
            value = ("b", type(link.operator).__name__, value, self.expr(link.right))
        return value

    def boolean(self, node: cst.BooleanOperation) -> Node:
        chain = [node]
        while isinstance(chain[-1].left, cst.BooleanOperation):
            chain.append(chain[-1].left)
        value = self.expr(chain[-1].left)
        for link in reversed(chain):
            value = ("o", type(link.operator).__name__, value, self.expr(link.right))
        return value

    def comparison(self, node: cst.Comparison) -> Node:
        values = (self.expr(node.left), *(self.expr(c.comparator) for c in node.comparisons))
        return ("cmp", values, tuple(type(c.operator).__name__ for c in node.comparisons))

    def unary(self, node: cst.UnaryOperation) -> Node:
        value = self.expr(node.expression)
        if isinstance(node.operator, cst.Minus) and (number := negative(value)) is not None:
            return number
        return ("!" if isinstance(node.operator, cst.Not) else "u", value)

    def ternary(self, node: cst.IfExp) -> Node:
        body = self.expr(node.body)
        test = self.expr(node.test)
        return ("?", body, test, self.expr(node.orelse))

    def lambda_(self, node: cst.Lambda) -> Node:
        return self.anonymous(lambda: self.params(node.params), lambda: self.expr(node.body))

    def tuple_(self, node: cst.Tuple) -> Node:
        return ("t", self.items(node.elements))

    def list_(self, node: cst.List) -> Node:
        return ("l", self.items(node.elements))

    def set_(self, node: cst.Set) -> Node:
        return ("S", self.items(node.elements))

    def items(self, elements: Sequence[Any]) -> tuple[Node, ...]:
        return tuple(
            ("*", self.expr(e.value)) if type(e) is cst.StarredElement else self.expr(e.value) for e in elements
        )

    def starred(self, node: cst.StarredElement) -> Node:
        return ("*", self.expr(node.value))

    def dict_(self, node: cst.Dict) -> Node:
        return (
            "d",
            tuple(
                (self.expr(e.key), self.expr(e.value)) if isinstance(e, cst.DictElement) else (None, self.expr(e.value))
                for e in node.elements
            ),
        )

    def comprehension(self, node: Any) -> Node:
        if isinstance(node, cst.DictComp):
            key, elt = self.expr(node.key), self.expr(node.value)
        else:
            key, elt = None, self.expr(node.elt)
        loops: list[Node] = []
        part: cst.CompFor | None = node.for_in
        while part is not None:
            target = self.expr(part.target)
            iterated = self.expr(part.iter)
            loops.append((target, iterated, tuple(self.expr(i.test) for i in part.ifs)))
            part = part.inner_for_in
        return ("C", COMPREHENSIONS[type(node)], elt, key, tuple(loops))

    def walrus(self, node: cst.NamedExpr) -> Node:
        target = self.expr(node.target)
        return (":=", target[1] if target[0] == "n" else "", self.expr(node.value))

    def awaited(self, node: cst.Await) -> Node:
        return ("w", self.expr(node.expression))

    def yielded(self, node: cst.Yield) -> Node:
        self.yields = True
        if isinstance(node.value, cst.From):
            return ("Y", self.expr(node.value.item))
        return ("y", self.maybe(node.value) or ("k", None))

    def string(self, node: cst.SimpleString) -> Node:
        return ("k", string_value(node))

    def concatenated(self, node: cst.ConcatenatedString) -> Node:
        parts: list[Node] = []
        rest: Any = node
        while isinstance(rest, cst.ConcatenatedString):
            parts.append(self.expr(rest.left))
            rest = rest.right
        parts.append(self.expr(rest))
        if all(p[0] == "k" for p in parts):
            texts = [p[1] for p in parts]
            return ("k", b"".join(texts) if isinstance(texts[0], bytes) else "".join(texts))
        return formatted(inner for part in parts for inner in (part[1] if part[0] == "f" else (part,)))

    def formatted(self, node: cst.FormattedString) -> Node:
        return formatted(self.formatted_parts(node.parts, raw="r" in node.prefix.lower()))

    def formatted_parts(self, parts: Sequence[Any], *, raw: bool) -> list[Node]:
        out: list[Node] = []
        for part in parts:
            if isinstance(part, cst.FormattedStringText):
                out.append(("k", text_of(part.value, raw=raw)))
            elif isinstance(part, cst.FormattedStringExpression):
                if part.equal is not None:  # `{name = }` shows what stands there
                    out.append(("k", written(part)))
                value = self.expr(part.expression)
                spec = self.formatted_parts(part.format_spec, raw=raw) if part.format_spec else []
                out.append(placed(value, spec, converted=part.conversion is not None))
                out += [p for p in spec if p[0] != "k"]
        return out

    def integer(self, node: cst.Integer) -> Node:
        return constant(ast.literal_eval(node.value)) if len(node.value) < LONGEST else ("k", 0)

    def number(self, _node: Any) -> Node:
        return constant(0.5)

    def ellipsis(self, _node: cst.Ellipsis) -> Node:
        return constant(...)


def dotted_name(node: Any) -> str:
    """The text of a dotted name."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    parts.append(node.value)
    return ".".join(reversed(parts))


def string_value(node: cst.SimpleString) -> str | bytes:
    """What a string literal means."""
    text = unix_lines(node.value)
    if "\\" not in text and text[0] in "\"'":
        return text[3:-3] if text[:3] in ('"""', "'''") and len(text) >= 6 else text[1:-1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape is somebody else's
            value = ast.literal_eval(text)
    except (SyntaxError, ValueError, MemoryError):
        return ""
    return value if isinstance(value, str | bytes) else ""


def unix_lines(text: str) -> str:
    """A line that ends in a literal ends as Python reads it."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def text_of(raw_text: str, *, raw: bool) -> str:
    """The literal text of an f-string; an escape that does not decode stays as it is."""
    text = unix_lines(raw_text)
    if "\\" in text and not raw:
        text = ESCAPE.sub(unescaped, text)
    return text.replace("{{", "{").replace("}}", "}")


def unescaped(found: re.Match[str]) -> str:
    if found[0] == "\\\n":
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return str(ast.literal_eval(f'"""{found[0]}"""'))
    except (SyntaxError, ValueError):
        return found[0]


def written(part: cst.FormattedStringExpression) -> str:
    """What `{name = }` shows before the value: the text up to and with the sign."""
    empty = cst.Module([])
    nodes = (part.whitespace_before_expression, part.expression, part.equal)
    return "".join(empty.code_for_node(node) for node in nodes if node is not None)


COMPREHENSIONS: dict[type, str] = {
    cst.ListComp: "l",
    cst.SetComp: "s",
    cst.DictComp: "d",
    cst.GeneratorExp: "g",
}


def on_global(_work: CstLowerer, node: cst.Global) -> Node:
    return ("global", tuple(n.name.value for n in node.names))


def on_nonlocal(_work: CstLowerer, node: cst.Nonlocal) -> Node:
    return ("nonlocal", tuple(n.name.value for n in node.names))


STATEMENTS: dict[type, Callable[[CstLowerer, Any], Node]] = {
    cst.Expr: CstLowerer.expression_statement,
    cst.Assign: CstLowerer.assign,
    cst.AugAssign: CstLowerer.aug_assign,
    cst.AnnAssign: CstLowerer.ann_assign,
    cst.Return: CstLowerer.returned,
    cst.Raise: CstLowerer.raised,
    cst.If: CstLowerer.conditional,
    cst.For: CstLowerer.loop,
    cst.While: CstLowerer.while_loop,
    cst.With: CstLowerer.with_block,
    cst.Try: CstLowerer.try_block,
    cst.TryStar: CstLowerer.try_block,
    cst.Match: CstLowerer.match,
    cst.Import: CstLowerer.imported,
    cst.ImportFrom: CstLowerer.imported_from,
    cst.Global: on_global,
    cst.Nonlocal: on_nonlocal,
    cst.Del: CstLowerer.deleted,
    cst.Assert: CstLowerer.asserted,
    cst.TypeAlias: CstLowerer.type_alias,
    cst.FunctionDef: CstLowerer.function,
    cst.ClassDef: CstLowerer.class_block,
}

EXPRESSIONS: dict[type, Callable[[CstLowerer, Any], Node]] = {
    cst.Name: CstLowerer.name,
    cst.Attribute: CstLowerer.attribute,
    cst.Call: CstLowerer.call,
    cst.Subscript: CstLowerer.subscript,
    cst.BinaryOperation: CstLowerer.binary,
    cst.BooleanOperation: CstLowerer.boolean,
    cst.Comparison: CstLowerer.comparison,
    cst.UnaryOperation: CstLowerer.unary,
    cst.IfExp: CstLowerer.ternary,
    cst.Lambda: CstLowerer.lambda_,
    cst.Tuple: CstLowerer.tuple_,
    cst.List: CstLowerer.list_,
    cst.Set: CstLowerer.set_,
    cst.StarredElement: CstLowerer.starred,
    cst.Dict: CstLowerer.dict_,
    cst.ListComp: CstLowerer.comprehension,
    cst.SetComp: CstLowerer.comprehension,
    cst.DictComp: CstLowerer.comprehension,
    cst.GeneratorExp: CstLowerer.comprehension,
    cst.NamedExpr: CstLowerer.walrus,
    cst.Await: CstLowerer.awaited,
    cst.Yield: CstLowerer.yielded,
    cst.SimpleString: CstLowerer.string,
    cst.ConcatenatedString: CstLowerer.concatenated,
    cst.FormattedString: CstLowerer.formatted,
    cst.Integer: CstLowerer.integer,
    cst.Float: CstLowerer.number,
    cst.Imaginary: CstLowerer.number,
    cst.Ellipsis: CstLowerer.ellipsis,
}
