"""An interpreter of pickle opcodes that can build containers, numbers and strings, and calls only given functions.

The standard library's unpickler is not used: it allocates memory based on values in the file (a memo index, a frame's length),
and restricts calls only through a method that is easy to get wrong. Here a global must be a `Builder` from a closed table. No
opcode imports anything, sets attributes of anything but an OrderedDict and an argparse.Namespace, or creates instances of any
class but the latter, which only has attributes. The exception are functions and classes that the user has allowed
(_allowed.py): they are called, created and given their state as in pickle.

Note [Cost Of Hostile Pickles]: Building takes time linear in the length of the pickle. A reference to an existing object
costs two bytes, so copies are limited to a budget of as many elements as the pickle has bytes. Hashed values must be small,
because hashing a tuple of tuples of the same tuple takes exponential time. Nothing is recursive. The garbage collector
waits, because it would visit all objects again and again while their number grows.
"""

from __future__ import annotations

import gc
import struct
from argparse import Namespace
from collections import OrderedDict
from functools import cache
from pickle import UnpicklingError

from undertow import _C
from undertow.serialization._allowed import is_allowed_class, set_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

MOST_KEY_PARTS = 64
MOST_OPEN_MARKS = 1 << 18  # a pickler that recurses reaches some thousands
_compiled = cache(struct.Struct)  # of the few layouts of numbers in opcodes
_LARGEST_INT_KEY = 1 << 60  # beyond Python's hash modulus a file could choose ints that all collide
_PLAIN_KEYS = (str, bytes, float, complex, bool, type(None), _C.dtype, _C.device)


class Builder:
    """A global that a pickle may use: what it does when it is called."""

    __slots__ = ("call", "name", "new", "users")

    def __init__(self, name: str, call: Callable[..., Any] | None = None, new: Callable[..., Any] | None = None, users: Any = None) -> None:
        self.name = name
        self.call = call
        self.new = new  # creates an instance without running its __init__
        self.users = users  # the object itself, if the user allowed it


def builder_of(name: str, users: Any) -> Builder:
    """Create a builder for a function or class that the user has allowed."""
    make = (lambda *arguments: users.__new__(users, *arguments)) if isinstance(users, type) else None
    return Builder(name, lambda m, *arguments: users(*arguments), make, users)


class _Arguments(tuple):
    """A tuple that contains a builder: it can be used as arguments, but cannot be loaded."""


def check_key(value: Any) -> Any:
    """Return `value` if it may be hashed: a small value made of plain ones. See Note [Cost Of Hostile Pickles]."""
    parts, open_ = 0, [value]
    while open_:
        part = open_.pop()
        parts += 1
        if parts > MOST_KEY_PARTS or (isinstance(part, (tuple, frozenset)) and len(part) > MOST_KEY_PARTS):
            raise UnpicklingError(f"a key or set element of more than {MOST_KEY_PARTS} parts")
        if isinstance(part, (tuple, frozenset)):
            open_ += part
        elif type(part) is int:
            if abs(part) > _LARGEST_INT_KEY:
                raise UnpicklingError(f"an int of {part.bit_length()} bits as a key")
        elif not isinstance(part, _PLAIN_KEYS):
            raise UnpicklingError(f"a {type(part).__name__} as a key or set element")
    return value


class Machine:
    """Runs one pickle. `find(module, name)` resolves globals; `load_persistent(pid)` returns storages."""

    def __init__(
        self,
        data: memoryview,
        find: Callable[[str, str], Any],
        load_persistent: Callable[[Machine, Any], Any] | None = None,
        at: int = 0,
        encoding: str = "utf-8",
    ) -> None:
        self._data = data
        self.at = at
        self._find = find
        self._load_persistent = load_persistent
        self._encoding = encoding
        self._budget = len(data) - at
        self._memo: dict[int, Any] = {}
        self._stack: list[Any] = []
        self._marks: list[list[Any]] = []

    def run(self) -> Any:
        """Return the object of the pickle that starts at `at`, and advance `at` past it."""
        collecting = gc.isenabled()
        gc.disable()  # nothing is freed while building, and each collection would visit everything built so far
        try:
            data, end, operations = self._data, len(self._data), _OPERATIONS
            while self.at < end:
                code = data[self.at]
                self.at += 1
                operation = operations.get(code)
                if operation is not None:
                    operation(self)
                elif code == _STOP:
                    break
                else:
                    self._reject_opcode(code)
            else:
                raise EOFError("Ran out of input: the pickle has no end")
            if len(self._stack) != 1 or self._marks:
                raise UnpicklingError(f"corrupt pickle: {len(self._stack)} objects are left at its end; there should be one")
            return self.loadable(self._stack.pop())
        except UnpicklingError:
            raise
        except (IndexError, KeyError, TypeError, ValueError, OverflowError, AttributeError, struct.error) as error:
            if code == _PERSISTENT:
                raise  # the function that places storages may be the user's own
            raise UnpicklingError(f"corrupt pickle, at byte {self.at}: {type(error).__name__}: {error}") from error
        finally:
            if collecting:
                gc.enable()

    def _reject_opcode(self, code: int) -> NoReturn:
        import pickletools

        known = {ord(op.code): op.name for op in pickletools.opcodes}
        raise UnpicklingError(f"Weights only load failed: Unsupported operand {code} ({known.get(code, 'no opcode of pickle')}) at {self.at - 1}")

    # -- what builders use ---------------------------------------------------------------------------------------------

    def spend(self, count: int) -> None:
        """Charge the copy of `count` elements to the budget. See Note [Cost Of Hostile Pickles]."""
        self._budget -= count
        if self._budget < 0:
            raise UnpicklingError("the pickle copies more elements than its size allows: it would exhaust memory")

    def loadable(self, value: Any) -> Any:
        """Return `value`; raise if it is or contains a builder. For an allowed function or class, return the object itself."""
        if isinstance(value, Builder) and value.users is not None:
            return value.users
        if isinstance(value, (Builder, _Arguments)):
            name = value.name if isinstance(value, Builder) else "inside a tuple"
            raise UnpicklingError(f"Weights only load failed: a function or class ({name}) cannot be loaded as a value")
        return value

    def filled(self, target: dict, pairs: list[Any]) -> dict:
        """Add keys and values from a flat list to `target`."""
        if len(pairs) % 2:
            raise UnpicklingError("corrupt pickle: a key without a value")
        for i in range(0, len(pairs), 2):
            target[check_key(pairs[i])] = self.loadable(pairs[i + 1])
        return target

    # -- reading -------------------------------------------------------------------------------------------------------

    def _byte(self) -> int:
        at = self.at
        if at >= len(self._data):
            raise EOFError("Ran out of input: the pickle has no end")
        self.at = at + 1
        return self._data[at]

    def _take(self, count: int) -> bytes:
        at = self.at
        if count < 0 or at + count > len(self._data):
            raise EOFError(f"Ran out of input: {count} bytes expected at byte {at}, {len(self._data) - at} are left")
        self.at = at + count
        return bytes(self._data[at : at + count])

    def _number(self, layout: str) -> Any:
        form, at = _compiled(layout), self.at
        if at + form.size > len(self._data):
            self._take(form.size)  # raises
        self.at = at + form.size
        return form.unpack_from(self._data, at)[0]

    def _line(self) -> str:
        # Names are short; searching further for the end would read a whole file of zeros once per opcode.
        limit = min(self.at + 1024, len(self._data))
        line = bytes(self._data[self.at : limit])
        end = line.find(b"\n")
        if end < 0:
            raise UnpicklingError(f"corrupt pickle: a name without an end at byte {self.at}")
        self.at += end + 1
        return line[:end].decode("utf-8")

    def _pop_mark(self) -> list[Any]:
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def _remember(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    # -- opcodes -------------------------------------------------------------------------------------------------------

    def _protocol(self) -> None:
        if (protocol := self._byte()) > 5:
            raise UnpicklingError(f"unsupported pickle protocol: {protocol}")

    def _frame(self) -> None:
        self._take(8)  # a hint for readers of streams

    def _mark(self) -> None:
        if len(self._marks) >= MOST_OPEN_MARKS:
            raise UnpicklingError(f"corrupt pickle: more than {MOST_OPEN_MARKS} marks without an end")
        self._marks.append(self._stack)
        self._stack = []

    def _push_text(self, layout: str) -> None:
        self._stack.append(self._take(self._number(layout)).decode("utf-8", "surrogatepass"))

    def _push_old_text(self, layout: str) -> None:
        data = self._take(self._number(layout))
        self._stack.append(data if self._encoding == "bytes" else data.decode(self._encoding))

    def _push_bytes(self, layout: str) -> None:
        self._stack.append(self._take(self._number(layout)))

    def _push_long(self, layout: str) -> None:
        self._stack.append(int.from_bytes(self._take(self._number(layout)), "little", signed=True))

    def _tuple_of(self, items: list[Any]) -> None:
        for item in items:
            if isinstance(item, (Builder, _Arguments)):
                self._stack.append(_Arguments(items))
                return
        self._stack.append(tuple(items))

    def _tuple(self, count: int) -> None:
        if len(self._stack) < count:
            raise UnpicklingError("corrupt pickle: a tuple with more elements than the stack has")
        items = self._stack[-count:]
        del self._stack[-count:]
        self._tuple_of(items)

    def _append(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) is not list:
            raise UnpicklingError(f"corrupt pickle: an element for a {type(target).__name__}")
        target.extend([self.loadable(item) for item in items])

    def _set_items(self, pairs: list[Any]) -> None:
        target = self._stack[-1]
        if type(target) not in (dict, OrderedDict):
            raise UnpicklingError(f"corrupt pickle: an item for a {type(target).__name__}")
        self.filled(target, pairs)

    def _add_items(self) -> None:
        items, target = self._pop_mark(), self._stack[-1]
        if type(target) is not set:
            raise UnpicklingError(f"corrupt pickle: an element for a {type(target).__name__}")
        target.update([check_key(item) for item in items])

    def _global(self, module: Any, name: Any) -> None:
        if type(module) is not str or type(name) is not str:
            raise UnpicklingError("corrupt pickle: a global whose name is not a string")
        self._stack.append(self._find(module, name))

    def _reduce(self) -> None:
        arguments, called = self._stack.pop(), self._stack.pop()
        if not isinstance(called, Builder) or called.call is None or not isinstance(arguments, tuple):
            name = called.name if isinstance(called, Builder) else type(called).__name__
            raise UnpicklingError(f"Weights only load failed: a call of {name}, which load does not call")
        if called.users is not None:
            arguments = tuple([self.loadable(a) for a in arguments])
        try:
            self._stack.append(called.call(self, *arguments))
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            if isinstance(error, NotImplementedError):
                raise
            raise UnpicklingError(f"{called.name}: {error}") from error

    def _new(self) -> None:
        arguments, cls = self._stack.pop(), self._stack.pop()
        if not isinstance(cls, Builder) or cls.new is None or (arguments != () and cls.users is None):
            name = cls.name if isinstance(cls, Builder) else type(cls).__name__
            raise UnpicklingError(f"Weights only load failed: Unsupported class: an instance of {name}, which load does not create")
        self._stack.append(cls.new(*[self.loadable(a) for a in arguments]))

    def _build(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        kind = type(target)
        if kind not in (OrderedDict, Namespace) and is_allowed_class(kind):
            set_state(target, self.loadable(state))
            return
        if (kind is not OrderedDict and kind is not Namespace) or type(state) is not dict:
            raise UnpicklingError(f"Weights only load failed: a state for a {kind.__name__}; only an OrderedDict and a Namespace can have one")
        self.spend(len(state))
        for name, value in state.items():
            # An attribute must not hide a method.
            if type(name) is not str or name.startswith("__") or hasattr(kind, name):
                raise UnpicklingError(f"Weights only load failed: the attribute {name!r} of a {kind.__name__}")
            setattr(target, name, self.loadable(value))

    def _persistent(self) -> None:
        if self._load_persistent is None or not self._stack:
            raise UnpicklingError("corrupt pickle: an invalid persistent reference")
        self._stack.append(self._load_persistent(self, self._stack.pop()))


_STOP, _PERSISTENT = ord("."), ord("Q")


def _pusher(value: Any) -> Callable[[Machine], None]:
    return lambda m: m._stack.append(value)


def _maker(cls: type) -> Callable[[Machine], None]:
    return lambda m: m._stack.append(cls())


def _frozen(m: Machine) -> None:
    items = m._pop_mark()
    m._stack.append(frozenset([check_key(item) for item in items]))


def _list(m: Machine) -> None:
    items = m._pop_mark()
    m._stack.append([m.loadable(item) for item in items])


def _dict(m: Machine) -> None:
    pairs = m._pop_mark()
    m._stack.append(m.filled({}, pairs))


def _two(m: Machine) -> list[Any]:
    value, key = m._stack.pop(), m._stack.pop()
    return [key, value]


def _stack_global(m: Machine) -> None:
    module, name = _two(m)
    m._global(module, name)


_OPERATIONS: dict[int, Callable[[Machine], Any]] = {
    0x80: Machine._protocol,
    0x95: Machine._frame,
    ord("("): Machine._mark,
    ord("0"): lambda m: m._stack.pop() if m._stack else m._pop_mark(),
    ord("1"): lambda m: m._pop_mark() and None,
    ord("2"): lambda m: m._stack.append(m._stack[-1]),
    ord("N"): _pusher(None),
    0x88: _pusher(True),
    0x89: _pusher(False),
    ord("J"): lambda m: m._stack.append(m._number("<i")),
    ord("K"): lambda m: m._stack.append(m._byte()),
    ord("M"): lambda m: m._stack.append(m._number("<H")),
    0x8A: lambda m: m._push_long("<B"),
    0x8B: lambda m: m._push_long("<i"),
    ord("G"): lambda m: m._stack.append(m._number(">d")),
    ord("X"): lambda m: m._push_text("<I"),
    0x8C: lambda m: m._push_text("<B"),
    0x8D: lambda m: m._push_text("<Q"),
    ord("T"): lambda m: m._push_old_text("<i"),
    ord("U"): lambda m: m._push_old_text("<B"),
    ord("B"): lambda m: m._push_bytes("<I"),
    ord("C"): lambda m: m._push_bytes("<B"),
    0x8E: lambda m: m._push_bytes("<Q"),
    0x96: lambda m: m._stack.append(bytearray(m._take(m._number("<Q")))),
    ord("]"): _maker(list),
    ord("a"): lambda m: m._append([m._stack.pop()]),
    ord("e"): lambda m: m._append(m._pop_mark()),
    ord("l"): _list,
    ord(")"): _pusher(()),
    ord("t"): lambda m: m._tuple_of(m._pop_mark()),
    0x85: lambda m: m._tuple(1),
    0x86: lambda m: m._tuple(2),
    0x87: lambda m: m._tuple(3),
    ord("}"): _maker(dict),
    ord("s"): lambda m: m._set_items(_two(m)),
    ord("u"): lambda m: m._set_items(m._pop_mark()),
    ord("d"): _dict,
    0x8F: _maker(set),
    0x90: Machine._add_items,
    0x91: _frozen,
    ord("h"): lambda m: m._stack.append(m._memo[m._byte()]),
    ord("j"): lambda m: m._stack.append(m._memo[m._number("<I")]),
    ord("q"): lambda m: m._remember(m._byte()),
    ord("r"): lambda m: m._remember(m._number("<I")),
    0x94: lambda m: m._remember(len(m._memo)),
    ord("c"): lambda m: m._global(m._line(), m._line()),
    0x93: _stack_global,
    ord("R"): Machine._reduce,
    0x81: Machine._new,
    ord("b"): Machine._build,
    _PERSISTENT: Machine._persistent,
}
