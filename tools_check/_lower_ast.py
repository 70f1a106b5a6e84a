"""One pass from the tree of Python's own parser to the small form of `_ir.py`.

It is the front end of every file that this Python can read: an eighth of libcst's cost.  What it cannot read goes to
`_lower_cst.py`.  Children are visited in the order of the text, so that ordinals agree with those `_positions.py` counts.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

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

Function = ast.FunctionDef | ast.AsyncFunctionDef


def lower(module: ast.Module) -> ModuleIR:
    """The small form of a parsed module."""
    work = AstLowerer()
    return work.module(work.block(module.body))


class AstLowerer(Lowerer):
    """The pass over Python's own tree."""

    # -- statements

    def block(self, body: Sequence[ast.stmt]) -> tuple[Node, ...]:
        out: list[Node] = []
        for node in body:
            self.ordinal += 1
            self.calls = 0
            ordinal = self.ordinal
            lowered = STATEMENTS.get(node.__class__)
            if lowered is not None:  # pass, break, continue
                out.append((ordinal, *lowered(self, node)))
        return tuple(out)

    def expression_statement(self, node: ast.Expr) -> Node:
        return ("e", self.expr(node.value))

    def assign(self, node: ast.Assign) -> Node:
        targets = tuple([self.expr(target) for target in node.targets])
        return ("=", targets, self.expr(node.value))

    def aug_assign(self, node: ast.AugAssign) -> Node:
        target = self.expr(node.target)
        return ("aug", target, f"{OPERATORS[node.op.__class__]}Assign", self.expr(node.value))

    def ann_assign(self, node: ast.AnnAssign) -> Node:
        target = self.expr(node.target)
        annotation = self.expr(node.annotation)
        return ("ann", target, annotation, self.maybe(node.value))

    def returned(self, node: ast.Return) -> Node:
        return ("r", self.maybe(node.value))

    def raised(self, node: ast.Raise) -> Node:
        exc = self.maybe(node.exc)
        return ("raise", exc, self.maybe(node.cause))

    def conditional(self, node: ast.If) -> Node:
        test = self.expr(node.test)
        body = self.block(node.body)
        return ("if", test, body, self.block(node.orelse))

    def loop(self, node: ast.For | ast.AsyncFor) -> Node:
        target = self.expr(node.target)
        iterated = self.expr(node.iter)
        body = self.block(node.body)
        return ("for", target, iterated, body, self.block(node.orelse))

    def while_loop(self, node: ast.While) -> Node:
        test = self.expr(node.test)
        body = self.block(node.body)
        return ("while", test, body, self.block(node.orelse))

    def with_block(self, node: ast.With | ast.AsyncWith) -> Node:
        items = tuple([(self.expr(item.context_expr), self.maybe(item.optional_vars)) for item in node.items])
        return ("with", items, self.block(node.body))

    def try_block(self, node: ast.Try | ast.TryStar) -> Node:
        body = self.block(node.body)
        handlers: list[Node] = []
        for handler in node.handlers:
            self.calls = SITE_MASK  # the handler's type has no statement of its own
            kind = self.maybe(handler.type)
            handlers.append((kind, handler.name, self.block(handler.body)))
        orelse = self.block(node.orelse)
        return ("try", body, tuple(handlers), orelse, self.block(node.finalbody))

    def match(self, node: ast.Match) -> Node:
        subject = self.expr(node.subject)
        cases: list[Node] = []
        for case in node.cases:
            self.calls = SITE_MASK
            pattern = self.pattern(case.pattern)
            guard = self.maybe(case.guard)
            cases.append((pattern, guard, self.block(case.body)))
        return ("match", subject, tuple(cases))

    def pattern(self, node: ast.pattern) -> Node:
        match node:
            case ast.MatchValue():
                return ("pv", self.expr(node.value))
            case ast.MatchSingleton():
                return ("pv", ("k", node.value))
            case ast.MatchSequence():
                return ("pseq", tuple([self.pattern(part) for part in node.patterns]))
            case ast.MatchStar():
                return ("pstar", node.name)
            case ast.MatchMapping():
                pairs = zip(node.keys, node.patterns, strict=True)
                return ("pmap", tuple([(self.expr(key), self.pattern(part)) for key, part in pairs]), node.rest)
            case ast.MatchClass():
                cls = self.expr(node.cls)
                inner = tuple([self.pattern(part) for part in node.patterns])
                named = zip(node.kwd_attrs, node.kwd_patterns, strict=True)
                return ("pcls", cls, inner, tuple([(name, self.pattern(part)) for name, part in named]))
            case ast.MatchAs():
                return ("pas", self.pattern(node.pattern) if node.pattern else None, node.name)
            case ast.MatchOr():
                return ("por", tuple([self.pattern(part) for part in node.patterns]))
            case _:
                return ("pas", None, None)

    def imported(self, node: ast.Import) -> Node:
        return ("import", tuple([(alias.name, alias.asname) for alias in node.names]))

    def imported_from(self, node: ast.ImportFrom) -> Node:
        return ("from", node.level, node.module or "", tuple([(alias.name, alias.asname) for alias in node.names]))

    def deleted(self, node: ast.Delete) -> Node:
        targets = tuple([self.expr(target) for target in node.targets])
        return ("del", targets if len(targets) == 1 else (("t", targets),))

    def asserted(self, node: ast.Assert) -> Node:
        test = self.expr(node.test)
        return ("assert", test, self.maybe(node.msg))

    def type_alias(self, node: Any) -> Node:
        return ("type", node.name.id, self.expr(node.value))

    def names_global(self, node: ast.Global) -> Node:
        return ("global", tuple(node.names))

    def names_nonlocal(self, node: ast.Nonlocal) -> Node:
        return ("nonlocal", tuple(node.names))

    def function(self, node: Function) -> Node:
        decorators = tuple([self.expr(decorator) for decorator in node.decorator_list])
        index = len(self.defs)
        self.defs.append(None)
        ordinal = self.ordinal
        flags = ASYNC if node.__class__ is ast.AsyncFunctionDef else 0
        params = self.params(node.args)
        returns = self.maybe(node.returns)
        body, yields = self.inside(node.name, index, lambda: self.block(node.body))
        if yields:
            flags |= GENERATOR
        self.defs[index] = Def(
            node.name, self.qualname(node.name), params, decorators, returns, body, flags, ordinal, self.owner, self.parent
        )  # fmt: skip
        return ("def", index)

    def params(self, node: ast.arguments) -> tuple[Param, ...]:
        out: list[Param] = []
        positional = [*node.posonlyargs, *node.args]
        bare = len(positional) - len(node.defaults)
        for i, arg in enumerate(positional):
            out.append(self.param(arg, "p", node.defaults[i - bare] if i >= bare else None))
        if node.vararg is not None:
            out.append(self.param(node.vararg, "*", None))
        for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
            out.append(self.param(arg, "k", default))
        if node.kwarg is not None:
            out.append(self.param(node.kwarg, "**", None))
        return tuple(out)

    def param(self, node: ast.arg, kind: str, default: ast.expr | None) -> Param:
        annotation = self.maybe(node.annotation)
        return Param(node.arg, kind, annotation, self.maybe(default))

    def class_block(self, node: ast.ClassDef) -> Node:
        decorators = tuple([self.expr(decorator) for decorator in node.decorator_list])
        index = len(self.classes)
        self.classes.append(None)
        ordinal = self.ordinal
        bases: list[Node] = []
        keywords: list[tuple[str, Node]] = []
        for star, keyword, value in self.arguments(node.bases, node.keywords):
            if keyword is not None:
                keywords.append((keyword, value))
            elif not star:
                bases.append(value)
        body = self.inside_class(node.name, index, lambda: self.block(node.body))
        self.classes[index] = ClassDef(
            node.name, self.qualname(node.name), tuple(bases), tuple(keywords), decorators, body, ordinal, self.parent
        )  # fmt: skip
        return ("class", index)

    # -- expressions

    def maybe(self, node: ast.expr | None) -> Node | None:
        return None if node is None else self.expr(node)

    def expr(self, node: ast.expr) -> Node:
        lowered = EXPRESSIONS.get(node.__class__)
        return LOST if lowered is None else lowered(self, node)

    def name(self, node: ast.Name) -> Node:
        return ("n", node.id)

    def constant(self, node: ast.Constant) -> Node:
        value = node.value
        return ("k", value) if value.__class__ is str else constant(value)

    def attribute(self, node: ast.Attribute) -> Node:
        return ("a", self.expr(node.value), node.attr, self.ordinal << SITE_BITS | SITE_MASK)

    def call(self, node: ast.Call) -> Node:
        func = self.expr(node.func)
        site = self.site()
        return ("x", site, func, tuple(self.arguments(node.args, node.keywords)))

    def arguments(self, args: list[ast.expr], keywords: list[ast.keyword]) -> list[tuple[int, str | None, Node]]:
        """The arguments of a call or of a class, in the order of the text: `f(k=1, *rest)` is legal."""
        out = [self.argument(arg) for arg in args]
        named = [(2 if keyword.arg is None else 0, keyword.arg, keyword.value) for keyword in keywords]
        if named and args and isinstance(args[-1], ast.Starred):
            given: list[tuple[int, int, int, str | None, ast.expr]] = []
            given += [(node.lineno, node.col_offset, star, None, node) for star, _, node in out]
            given += [(k.lineno, k.col_offset, *n) for k, n in zip(keywords, named, strict=True)]
            in_order = [item[2:] for item in sorted(given, key=lambda item: item[:2])]
        else:
            in_order = [*out, *named]
        return [(star, name, self.expr(node)) for star, name, node in in_order]

    def argument(self, node: ast.expr) -> tuple[int, str | None, ast.expr]:
        return (1, None, node.value) if isinstance(node, ast.Starred) else (0, None, node)

    def subscript(self, node: ast.Subscript) -> Node:
        value = self.expr(node.value)
        return ("s", value, self.expr(node.slice))

    def slice(self, node: ast.Slice) -> Node:
        return ("sl", tuple([self.expr(p) for p in (node.lower, node.upper, node.step) if p is not None]))

    def binary(self, node: ast.BinOp) -> Node:
        # `a + b + c + ...` leans to the left and may be thousands of terms long: a loop, not a recursion.
        chain = [node]
        while isinstance(left := chain[-1].left, ast.BinOp):
            chain.append(left)
        value = self.expr(chain[-1].left)
        for link in reversed(chain):
            value = ("b", OPERATORS[link.op.__class__], value, self.expr(link.right))
        return value

    def boolean(self, node: ast.BoolOp) -> Node:
        operator = "And" if node.op.__class__ is ast.And else "Or"
        value = self.expr(node.values[0])
        for operand in node.values[1:]:
            value = ("o", operator, value, self.expr(operand))
        return value

    def comparison(self, node: ast.Compare) -> Node:
        values = (self.expr(node.left), *[self.expr(c) for c in node.comparators])
        return ("cmp", values, tuple([COMPARISONS[o.__class__] for o in node.ops]))

    def unary(self, node: ast.UnaryOp) -> Node:
        value = self.expr(node.operand)
        if node.op.__class__ is ast.USub and (number := negative(value)) is not None:
            return number
        return ("!" if node.op.__class__ is ast.Not else "u", value)

    def ternary(self, node: ast.IfExp) -> Node:
        body = self.expr(node.body)
        test = self.expr(node.test)
        return ("?", body, test, self.expr(node.orelse))

    def lambda_(self, node: ast.Lambda) -> Node:
        return self.anonymous(lambda: self.params(node.args), lambda: self.expr(node.body))

    def tuple_(self, node: ast.Tuple) -> Node:
        return ("t", tuple([self.expr(item) for item in node.elts]))

    def list_(self, node: ast.List) -> Node:
        return ("l", tuple([self.expr(item) for item in node.elts]))

    def set_(self, node: ast.Set) -> Node:
        return ("S", tuple([self.expr(item) for item in node.elts]))

    def starred(self, node: ast.Starred) -> Node:
        return ("*", self.expr(node.value))

    def dict_(self, node: ast.Dict) -> Node:
        pairs = zip(node.keys, node.values, strict=True)
        return ("d", tuple([(self.maybe(key), self.expr(value)) for key, value in pairs]))

    def comprehension(self, node: Any) -> Node:
        if node.__class__ is ast.DictComp:
            key, elt = self.expr(node.key), self.expr(node.value)
        else:
            key, elt = None, self.expr(node.elt)
        loops: list[Node] = []
        for part in node.generators:
            target = self.expr(part.target)
            iterated = self.expr(part.iter)
            loops.append((target, iterated, tuple([self.expr(test) for test in part.ifs])))
        return ("C", COMPREHENSIONS[node.__class__], elt, key, tuple(loops))

    def walrus(self, node: ast.NamedExpr) -> Node:
        return (":=", node.target.id, self.expr(node.value))

    def awaited(self, node: ast.Await) -> Node:
        return ("w", self.expr(node.value))

    def yielded(self, node: ast.Yield) -> Node:
        self.yields = True
        return ("y", self.maybe(node.value) or ("k", None))

    def yielded_from(self, node: ast.YieldFrom) -> Node:
        self.yields = True
        return ("Y", self.expr(node.value))

    def joined(self, node: ast.JoinedStr) -> Node:
        return formatted(self.parts(node))

    def parts(self, node: ast.JoinedStr) -> list[Node]:
        out: list[Node] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.expr(part.value)
                spec = self.parts(part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else []
                out.append(placed(value, spec, converted=part.conversion != -1))
                out += [p for p in spec if p[0] != "k"]
            else:
                out.append(self.expr(part))
        return out


OPERATORS: Final[dict[type, str]] = {
    ast.Add: "Add", ast.Sub: "Subtract", ast.Mult: "Multiply", ast.Div: "Divide", ast.FloorDiv: "FloorDivide",
    ast.Mod: "Modulo", ast.Pow: "Power", ast.MatMult: "MatrixMultiply", ast.LShift: "LeftShift",
    ast.RShift: "RightShift", ast.BitAnd: "BitAnd", ast.BitOr: "BitOr", ast.BitXor: "BitXor",
}  # fmt: skip

COMPARISONS: Final[dict[type, str]] = {
    ast.Eq: "Equal", ast.NotEq: "NotEqual", ast.Lt: "LessThan", ast.LtE: "LessThanEqual", ast.Gt: "GreaterThan",
    ast.GtE: "GreaterThanEqual", ast.Is: "Is", ast.IsNot: "IsNot", ast.In: "In", ast.NotIn: "NotIn",
}  # fmt: skip

COMPREHENSIONS: Final[dict[type, str]] = {ast.ListComp: "l", ast.SetComp: "s", ast.DictComp: "d", ast.GeneratorExp: "g"}

Work = Callable[[AstLowerer, Any], Node]

STATEMENTS: Final[dict[type, Work]] = {
    ast.Expr: AstLowerer.expression_statement,
    ast.Assign: AstLowerer.assign,
    ast.AugAssign: AstLowerer.aug_assign,
    ast.AnnAssign: AstLowerer.ann_assign,
    ast.Return: AstLowerer.returned,
    ast.Raise: AstLowerer.raised,
    ast.If: AstLowerer.conditional,
    ast.For: AstLowerer.loop,
    ast.AsyncFor: AstLowerer.loop,
    ast.While: AstLowerer.while_loop,
    ast.With: AstLowerer.with_block,
    ast.AsyncWith: AstLowerer.with_block,
    ast.Try: AstLowerer.try_block,
    ast.TryStar: AstLowerer.try_block,
    ast.Match: AstLowerer.match,
    ast.Import: AstLowerer.imported,
    ast.ImportFrom: AstLowerer.imported_from,
    ast.Global: AstLowerer.names_global,
    ast.Nonlocal: AstLowerer.names_nonlocal,
    ast.Delete: AstLowerer.deleted,
    ast.Assert: AstLowerer.asserted,
    ast.FunctionDef: AstLowerer.function,
    ast.AsyncFunctionDef: AstLowerer.function,
    ast.ClassDef: AstLowerer.class_block,
}

EXPRESSIONS: Final[dict[type, Work]] = {
    ast.Name: AstLowerer.name,
    ast.Constant: AstLowerer.constant,
    ast.Attribute: AstLowerer.attribute,
    ast.Call: AstLowerer.call,
    ast.Subscript: AstLowerer.subscript,
    ast.Slice: AstLowerer.slice,
    ast.BinOp: AstLowerer.binary,
    ast.BoolOp: AstLowerer.boolean,
    ast.Compare: AstLowerer.comparison,
    ast.UnaryOp: AstLowerer.unary,
    ast.IfExp: AstLowerer.ternary,
    ast.Lambda: AstLowerer.lambda_,
    ast.Tuple: AstLowerer.tuple_,
    ast.List: AstLowerer.list_,
    ast.Set: AstLowerer.set_,
    ast.Starred: AstLowerer.starred,
    ast.Dict: AstLowerer.dict_,
    ast.ListComp: AstLowerer.comprehension,
    ast.SetComp: AstLowerer.comprehension,
    ast.DictComp: AstLowerer.comprehension,
    ast.GeneratorExp: AstLowerer.comprehension,
    ast.NamedExpr: AstLowerer.walrus,
    ast.Await: AstLowerer.awaited,
    ast.Yield: AstLowerer.yielded,
    ast.YieldFrom: AstLowerer.yielded_from,
    ast.JoinedStr: AstLowerer.joined,
}

if (type_alias := getattr(ast, "TypeAlias", None)) is not None:  # Python 3.12
    STATEMENTS[type_alias] = AstLowerer.type_alias
