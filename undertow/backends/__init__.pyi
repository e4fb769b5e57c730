# The names of undertow.backends; see undertow/_lazy.py.
from . import cpu as cpu
from . import cuda as cuda
from . import cudnn as cudnn
