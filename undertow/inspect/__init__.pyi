from ._record import record as record
from ._recording import Recording as Recording
