"""What a test should notice: small changes of a module's source, one at a time. mutants.py here makes them."""

import ast
import functools
import re

BINARY = {ast.Add: ast.Sub, ast.Mult: ast.Div, ast.Pow: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult}
BINARY |= {ast.Sub: ast.Add, ast.Div: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
COMPARED = {ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE)}
COMPARED |= {ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,)}
COMPARED |= {ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,)}
TWINS = {"min": "max", "amin": "amax", "sum": "mean", "any": "all", "argmin": "argmax"}
TWINS |= {new: old for old, new in TWINS.items()}
DROPPED = ("detach", "clone", "cpu", "contiguous", "flatten", "abs", "sqrt", "expand", "square")


def changed(node, **fields):
    """A copy of the node, at the same place, with other fields."""
    old = {name: getattr(node, name) for name in node._fields}
    return ast.copy_location(type(node)(**(old | fields)), node)


def alternatives(node):
    """What may stand in place of the node."""
    match node:
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in BINARY:
            yield changed(node, op=BINARY[type(op)]())
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield from (changed(node, ops=[*ops[:i], new(), *ops[i + 1 :]]) for new in COMPARED[type(op)])
        case ast.BoolOp(op=op):
            yield changed(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield changed(node, value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield from (changed(node, value=value + step) for step in (1, -1))
        case ast.IfExp(body=body, orelse=orelse):
            yield changed(node, body=orelse, orelse=body)
        case ast.Call(func=func, args=args, keywords=keywords):
            texts = (ast.Starred, ast.JoinedStr)
            named = isinstance(getattr(next(iter(args), None), "value", None), str)  # a name for a message
            if len(args) > 1 and not named and not any(isinstance(one, texts) for one in args[:2]):
                yield changed(node, args=[args[1], args[0], *args[2:]])
            for i, keyword in enumerate(keywords):
                if keyword.arg:
                    yield changed(node, keywords=[*keywords[:i], *keywords[i + 1 :]])
            if isinstance(func, ast.Name) and func.id in TWINS:
                yield changed(node, func=changed(func, id=TWINS[func.id]))
            if isinstance(func, ast.Attribute) and func.attr in DROPPED and ast.unparse(func.value) != "torch":
                yield func.value
        case ast.Attribute(value=value, attr=attr) if ast.unparse(value) != "torch":
            if attr in TWINS:
                yield changed(node, attr=TWINS[attr])
            if attr in ("mT", "T"):
                yield value
        case ast.Break():
            yield ast.copy_location(ast.Continue(), node)
    if isinstance(node, (ast.Raise, ast.AugAssign)) or (
        isinstance(node, ast.Expr) and not isinstance(node.value, (ast.Constant, ast.Yield, ast.YieldFrom))
    ):
        yield ast.copy_location(ast.Pass(), node)
    if isinstance(node, (ast.If, ast.While)) and not isinstance(node.test, (ast.Compare, ast.UnaryOp)):
        yield changed(node, test=ast.UnaryOp(ast.Not(), node.test))


def places(node, lines=range(0), inside=False):
    """Each node that matters to a result, what replaces it, its statement's lines, whether a function holds it."""
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return  # messages
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        within = inside or (isinstance(node, (ast.FunctionDef, ast.Lambda)) and field == "body")
        for i, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or getattr(child, "name", "") == "__repr__" or is_alias(child):
                continue
            put = functools.partial(value.__setitem__, i) if isinstance(value, list) else None
            here = statement_lines(child) if isinstance(child, ast.stmt) else lines
            if hasattr(child, "lineno"):
                yield child, put or functools.partial(setattr, node, field), here, within
            yield from places(child, here, within)


def is_alias(node):
    """Whether a type gets a name there: annotations are for another tool."""
    return isinstance(node, ast.Assign) and re.match("[A-Z][a-z]", ast.unparse(node.targets[0])) is not None


def statement_lines(node):
    """The lines of a statement; of one with a body, those before it."""
    last = max(node.lineno, node.body[0].lineno - 1) if hasattr(node, "body") else node.end_lineno
    return range(node.lineno, last + 1)


def mutants(path, line=None):
    """The module compiled with one change: the code, what was changed, the lines that show it, whether a function."""
    tree = ast.parse(path.read_text())
    seen = {ast.unparse(tree)}
    for node, put, lines, inside in list(places(tree)):
        if line not in (None, node.lineno):
            continue
        for new in alternatives(node):
            put(ast.fix_missing_locations(new))
            if (text := ast.unparse(tree)) not in seen:
                seen.add(text)
                words = " -> ".join(ast.unparse(one).split("\n")[0][:60] for one in (node, new))
                yield compile(tree, path, "exec"), f"{path.stem}:{node.lineno} {words}", lines, inside
            put(node)
