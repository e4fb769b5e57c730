from ._control import Stopped as Stopped
from ._debug import debug as debug
from ._draw import draw as draw
from ._record import record as record
from ._recording import Recording as Recording
