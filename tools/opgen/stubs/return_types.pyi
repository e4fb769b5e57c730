# Named result types.
from undertow._C import Tensor
from undertow._functions.histogram import Histogram, Histogramdd

histogram = Histogram
histogramdd = Histogramdd

# opgen: results
