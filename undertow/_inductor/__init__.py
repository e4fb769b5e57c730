"""The options of torch's code generator that programs set; see `_dynamo`."""

from undertow._inductor import config as config
