"""Constraints between hyperparameters: arithmetic and comparison expressions in Python syntax.

An expression is parsed once into a syntax tree and evaluated on that tree; no Python code is run.
"""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from muster.config.base_section import did_you_mean, refusal
from muster.config.conditions import Path, Point, has_value, value_at

MAX_LENGTH = 1000
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    # Floats overflow, where integers would grow without limit.
    ast.Pow: lambda base, power: float(base) ** float(power),
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs, "round": round}
_NOT_A_VALUE = (TypeError, ValueError, ZeroDivisionError, OverflowError)


@dataclass(frozen=True)
class Constraint:
    """A condition that every point must meet; `names` are the hyperparameters in the expression."""

    text: str
    names: frozenset[Path]
    _tree: ast.expr

    UNDERSTOOD: ClassVar[str] = (
        "numbers, strings, names of hyperparameters (outer.inner), + - * / // % **, comparisons, in, and, or, not,"
        " min, max, abs, round"
    )

    def is_met(self, point: Point) -> bool:
        """Return whether the point meets the constraint: true if it names an inactive hyperparameter, false if it cannot be evaluated."""
        if not all(has_value(point, name) for name in self.names):
            return True
        try:
            return bool(_value(self._tree, point))
        except _NOT_A_VALUE:
            return False


def read_constraint(text: str, known: frozenset[Path], *at: str | int) -> Constraint:
    """Parse a constraint; raises a refusal that names the invalid part."""
    if len(text) > MAX_LENGTH:
        raise refusal(f"a constraint may have at most {MAX_LENGTH} characters", *at)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise refusal(f"the constraint cannot be parsed: {_fault(error)}", *at, hint=_HINT) from None
    names = frozenset(_checked(tree, known, at))
    if not names:
        raise refusal("the constraint does not name a hyperparameter", *at, hint=_HINT)
    return Constraint(text, names, tree)


_HINT = f"a constraint may use {Constraint.UNDERSTOOD}; e.g. batch_size * width <= 65536"


def _checked(node: ast.expr, known: frozenset[Path], at: tuple[str | int, ...]) -> Iterator[Path]:
    """Yield the names below a node; refuse unsupported syntax."""
    match node:
        case ast.Name() | ast.Attribute():
            path = _named(node)
            if path not in known:
                name_text = ".".join(path) if path else ast.unparse(node)
                hint = did_you_mean(name_text, [".".join(each) for each in known])
                hint = hint or "write its full path: outer.inner"
                raise refusal(
                    f"the constraint names '{name_text}', which is not a hyperparameter", *at, hint=hint
                )
            yield path
        case ast.Constant(value=bool() | int() | float() | str() | None):
            return
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            yield from _each((node.left, node.right), known, at)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not()):
            yield from _checked(node.operand, known, at)
        case ast.BoolOp():
            yield from _each(node.values, known, at)
        case ast.Compare() if all(type(op) in _COMPARISONS for op in node.ops):
            yield from _each((node.left, *node.comparators), known, at)
        case ast.Tuple() | ast.List():
            yield from _each(node.elts, known, at)
        case ast.Call(func=ast.Name(id=name), keywords=[]) if name in _FUNCTIONS and node.args:
            yield from _each(node.args, known, at)
        case _:
            raise refusal(
                f"the constraint contains '{ast.unparse(node)}', which is not supported", *at, hint=_HINT
            )


def _each(nodes: Any, known: frozenset[Path], at: tuple[str | int, ...]) -> Iterator[Path]:
    for node in nodes:
        yield from _checked(node, known, at)


def _value(node: ast.expr, point: Point) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name() | ast.Attribute():
            return value_at(point, _named(node) or ())
        case ast.BinOp():
            return _ARITHMETIC[type(node.op)](_number(node.left, point), _number(node.right, point))
        case ast.UnaryOp(op=ast.Not()):
            return not _value(node.operand, point)
        case ast.UnaryOp():
            value = _number(node.operand, point)
            return -value if isinstance(node.op, ast.USub) else value
        case ast.BoolOp():
            values = (_value(one, point) for one in node.values)
            return all(values) if isinstance(node.op, ast.And) else any(values)
        case ast.Compare():
            sides = [_value(one, point) for one in (node.left, *node.comparators)]
            pairs = zip(node.ops, sides[:-1], sides[1:], strict=True)
            return all(_COMPARISONS[type(op)](left, right) for op, left, right in pairs)
        case ast.Tuple() | ast.List():
            return [_value(one, point) for one in node.elts]
        case ast.Call(func=ast.Name(id=name)):
            return _FUNCTIONS[name](*(_value(one, point) for one in node.args))
    raise TypeError(ast.unparse(node))


def _number(node: ast.expr, point: Point) -> int | float:
    """Evaluate a number. Strings are refused: a string times a number could become arbitrarily long."""
    value = _value(node, point)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return value


def _named(node: ast.expr) -> Path:
    """Return the path of a dotted name; () for anything else."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        above = _named(node.value)
        return (*above, node.attr) if above else ()
    return ()


def _fault(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return error.msg + (f" at character {error.offset}" if error.offset else " at its end")
    return (
        "the expression is nested too deeply"
        if isinstance(error, RecursionError | MemoryError)
        else str(error)
    )
