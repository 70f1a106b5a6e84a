"""What a class of the project says of Python's own signs: operators, `with`, items that are missing, descriptors."""

from __future__ import annotations

from typing import Final

from tools_check import _call, _classes, _eval
from tools_check._run import Frame, Run
from tools_check._values import CLEAN, EMPTY, Cls, Func, Obj, Value, const, join, of

NAMES: Final = {
    "Add": "add", "Subtract": "sub", "Multiply": "mul", "Divide": "truediv", "FloorDivide": "floordiv", "Modulo": "mod",
    "Power": "pow", "MatrixMultiply": "matmul", "LeftShift": "lshift", "RightShift": "rshift", "BitAnd": "and",
    "BitOr": "or", "BitXor": "xor",
}  # fmt: skip


def binary(run: Run, frame: Frame, op: str, left: Value, right: Value) -> Value | None:
    """What `left op right` gives where the class of one of them says so; None where none does."""
    name = NAMES[op]
    found = methods(run, left, f"__{name}__", right) or methods(run, right, f"__r{name}__", left)
    return join(*(called(run, frame, method, other) for method, other in found)) if found else None


COMPARED: Final = {
    "Equal": ("__eq__", "__eq__"), "NotEqual": ("__ne__", "__ne__"), "LessThan": ("__lt__", "__gt__"),
    "LessThanEqual": ("__le__", "__ge__"), "GreaterThan": ("__gt__", "__lt__"), "GreaterThanEqual": ("__ge__", "__le__"),
}  # fmt: skip


def compared(run: Run, frame: Frame, op: str, left: Value, right: Value) -> Value | None:
    """What a comparison gives where the class of one side says so; None where none does."""
    if op in ("In", "NotIn"):
        found = methods(run, right, "__contains__", left)
    else:
        mine, theirs = COMPARED.get(op, ("", ""))
        found = (methods(run, left, mine, right) or methods(run, right, theirs, left)) if mine else []
    return join(*(called(run, frame, method, other) for method, other in found)) if found else None


def in_place(run: Run, frame: Frame, op: str, left: Value, right: Value) -> Value | None:
    """What `left op= right` binds where the class of the left says so."""
    found = methods(run, left, f"__i{NAMES[op]}__", right)
    return join(*(called(run, frame, method, right) for method, _ in found)) if found else None


def methods(run: Run, value: Value, name: str, other: Value) -> list[tuple[Func, Value]]:
    """The bound methods of that name of the things of the project that a value may be."""
    objs = [obj for obj in value.objects() if obj.kind == "inst"]
    found = [(obj, _classes.find_method(run, obj.cls, name)) for obj in objs]
    return [(_classes.bind(method, of(obj)), other) for obj, method in found if method is not None]


def called(run: Run, frame: Frame, method: Func, *args: Value) -> Value:
    return _call.call(run, frame, of(method), _call.Args(args), _eval.here(frame))


def missing(run: Run, frame: Frame, obj: Obj, key: Value) -> Value:
    """What `__missing__` gives for a key that a dict of the project does not have."""
    method = _classes.find_method(run, obj.cls, "__missing__")
    return called(run, frame, _classes.bind(method, of(obj)), key) if method is not None else EMPTY


def got(run: Run, frame: Frame, descriptor: Obj, me: Value, cls: Cls) -> Value | None:
    """What reading an attribute gives that a descriptor stands for."""
    method = _classes.find_method(run, descriptor.cls, "__get__") if descriptor.kind == "inst" else None
    return called(run, frame, _classes.bind(method, of(descriptor)), me, of(cls)) if method is not None else None


def put(run: Run, frame: Frame, obj: Obj, name: str, value: Value) -> bool:
    """Hand a value to the descriptor that an attribute stands for, where there is one."""
    found = _classes.class_attribute(run, obj.cls, name) if obj.kind == "inst" else None
    setters = methods(run, found, "__set__", value) if found is not None else []
    for method, _ in setters:
        called(run, frame, method, of(obj), value)
    mine = _classes.find_method(run, obj.cls, SETTER + name) if found is not None and not setters else None
    if mine is not None:
        called(run, frame, _classes.bind(mine, of(obj)), value)
    return bool(setters) or mine is not None


SETTER: Final = "="  # before the name of a property in its class: the function that takes what is assigned to it


def name_descriptors(run: Run, frame: Frame, cls: Cls, names: dict[str, Value]) -> None:
    """Tell each descriptor of a class what it is called there."""
    for name, value in list(names.items()):
        for method, _ in methods(run, value, "__set_name__", value):
            called(run, frame, method, of(cls), const(name))


def leave(run: Run, frame: Frame, value: Value, error: Value) -> bool:
    """Follow what the end of a `with` calls; gives whether an error inside may be swallowed there."""
    found = methods(run, value, "__exit__", error) or methods(run, value, "__aexit__", error)
    for method, _ in found:
        called(run, frame, method, CLEAN, error, CLEAN)
    for obj in value.objects():
        if obj.kind == "ctx" and error.labels and "[again]" in obj.fields:
            with run.throwing(error):
                _call.call(run, frame, obj.fields["[again]"], _call.NOTHING, _eval.here(frame))
    return bool(found) or any(
        obj.kind == "ctx" or (obj.kind == "ext" and obj.cls == "contextlib.suppress") for obj in value.objects()
    )
