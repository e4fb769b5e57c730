"""`rearrange`: reshape and permute dimensions by name, as in einops."""

from __future__ import annotations

import re

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from undertow import Tensor

_ELLIPSIS = "…"  # inside parentheses: all other dimensions merged into one
_ALONE = "……"  # outside: kept separate


def _groups(side: str, pattern: str) -> list[list[str]]:
    """Parse the dimensions of one side, each a list of names: 'b (h w) ...' is [[b], [h, w], [_ALONE]]; '1' and '()' are empty lists."""
    side = side.replace("...", _ELLIPSIS)
    if "." in side:
        raise ValueError(f"Invalid pattern {pattern!r}: an ellipsis must have three dots")
    tokens = re.findall(rf"[()]|{_ELLIPSIS}|[^\s()]+", side)
    groups: list[list[str]] = []
    inside = False
    for token in tokens:
        if token in "()":
            if inside == (token == "("):
                raise ValueError(f"Invalid pattern {pattern!r}: parentheses are not balanced, or nested")
            inside = token == "("
            if inside:
                groups.append([])
        elif token == "1":
            if not inside:
                groups.append([])
        elif token != _ELLIPSIS and not token.isidentifier():
            raise ValueError(f"Invalid pattern {pattern!r}: {token!r} is not a name")
        elif inside:
            groups[-1].append(token)
        else:
            groups.append([_ALONE if token == _ELLIPSIS else token])
    if inside:
        raise ValueError(f"Invalid pattern {pattern!r}: parentheses are not balanced, or nested")
    names = [n.replace(_ALONE, _ELLIPSIS) for g in groups for n in g]
    if len(set(names)) != len(names):
        raise ValueError(f"Invalid pattern {pattern!r}: a name occurs twice on one side")
    return groups


def _lengths(groups: list[list[str]], shape: Sequence[int], known: dict[str, int], pattern: str) -> dict[str, int]:
    """Return the length of every name, from the given lengths and the shape; one name per group can be inferred."""
    found = dict(known)
    for group, size in zip(groups, shape, strict=True):
        open_names = [n for n in group if n not in found]
        product = 1
        for n in group:
            product *= found.get(n, 1)
        if len(open_names) > 1:
            raise ValueError(f"rearrange: {pattern!r}: cannot infer the lengths of {open_names} from one dimension of {size}; specify all but one")
        if size % max(product, 1) if open_names else size != product:
            raise ValueError(f"rearrange: {pattern!r}: a dimension of {size} cannot be split into {group or '1'} of total size {product}")
        if open_names:
            found[open_names[0]] = size // product
    return found


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """Split, permute and merge the dimensions of `tensor` as described by `pattern`; several tensors are stacked first.

    >>> import undertow as ut
    >>> images = ut.zeros(8, 28, 30, 3)
    >>> ut.func.rearrange(images, "b h w c -> b c h w").shape
    undertow.Size([8, 3, 28, 30])
    >>> ut.func.rearrange(images, "b (h p) (w q) c -> (b h w) (p q c)", p=14, q=15).shape
    undertow.Size([32, 630])
    >>> ut.func.rearrange(images, "b ... -> b (...)").shape
    undertow.Size([8, 2520])
    """
    if not isinstance(tensor, undertow.Tensor):
        tensor = undertow.stack(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"Invalid pattern {pattern!r}: expected exactly one arrow between the two sides")
    left, right = (_groups(side, pattern) for side in sides)
    if any(_ELLIPSIS in g for g in left):
        raise ValueError(f"Invalid pattern {pattern!r}: an ellipsis on the left must not be in parentheses")
    names = {n.replace(_ALONE, _ELLIPSIS) for g in left for n in g}
    if names != {n.replace(_ALONE, _ELLIPSIS) for g in right for n in g}:
        raise ValueError(f"Invalid pattern {pattern!r}: both sides must have the same names")
    if set(axes_lengths) - names:
        raise ValueError(f"Invalid pattern {pattern!r}: it has no {sorted(set(axes_lengths) - names)}")
    rest = tensor.dim() - (len(left) - 1 if _ELLIPSIS in names else len(left))
    if rest < 0 or (rest and _ELLIPSIS not in names):
        raise ValueError(f"rearrange: {pattern!r} describes {len(left)} dimensions; got a tensor of shape {list(tensor.shape)}")
    more = [f"{_ELLIPSIS}{i}" for i in range(rest)]
    left = [g for group in left for g in ([[n] for n in more] if group == [_ALONE] else [group])]
    right = [g for group in right for g in ([[n] for n in more] if group == [_ALONE] else [group])]
    right = [[m for n in group for m in (more if n == _ELLIPSIS else [n])] for group in right]
    lengths = _lengths(left, tensor.shape, axes_lengths, pattern)
    order = [n for g in left for n in g]
    split = tensor.reshape([lengths[n] for n in order])
    joined = split.permute([order.index(n) for g in right for n in g])
    shape = []
    for group in right:
        size = 1
        for n in group:
            size *= lengths[n]
        shape.append(size)
    return joined.reshape(shape)
