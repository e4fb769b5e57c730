"""One function per kind of data that TensorBoard shows: each returns the message of an event.

Does not write files. Values may be tensors, arrays or numbers.
"""

from __future__ import annotations

import io

import numpy as np
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

import undertow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# TensorFlow's histogram edges, which TensorBoard uses: from 1e-12, each 10% larger than the previous one, on both sides of zero.
_POSITIVE = 1e-12 * 1.1 ** np.arange(int(np.log(1e32) / np.log(1.1)) + 1)
_EDGES = np.concatenate([-_POSITIVE[_POSITIVE < 1e20][::-1], [0.0], _POSITIVE[_POSITIVE < 1e20]])


def to_array(x: Any) -> Any:
    """Convert the values to a NumPy array."""
    if isinstance(x, undertow.Tensor):
        x = x.detach()
        return (x.float() if x.dtype is undertow.bfloat16 else x).numpy()
    return np.asarray(x)


def _value(tag: str, **kind: Any) -> Summary:
    return Summary(value=[Summary.Value(tag=tag, **kind)])


def _plugin(name: str, content: bytes = b"") -> SummaryMetadata:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=name, content=content))


def _tensor(array: Any) -> TensorProto:
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in array.shape])
    return TensorProto(dtype="DT_FLOAT", float_val=array.ravel().tolist(), tensor_shape=shape)


def scalar(tag: str, value: Any, new_style: bool = False, double_precision: bool = False) -> Summary:
    """Create the summary of a number."""
    array = to_array(value)
    if array.size != 1:
        raise AssertionError(f"scalar should be 0D: {tag} has shape {array.shape}")
    number = float(array.reshape(()))
    if not new_style:
        return _value(tag, simple_value=number)
    from tensorboard.plugins.scalar import metadata

    made = TensorProto(dtype="DT_DOUBLE", double_val=[number]) if double_precision else TensorProto(dtype="DT_FLOAT", float_val=[number])
    return _value(tag, tensor=made, metadata=metadata.create_summary_metadata("", ""))


def histogram(tag: str, values: Any, bins: Any = "tensorflow", max_bins: int | None = None) -> Summary:
    """Create a histogram of the values."""
    flat = to_array(values).astype(np.float64).ravel()
    if flat.size == 0:
        raise ValueError("The input has no element.")
    counts, edges = np.histogram(flat, bins=_EDGES if isinstance(bins, str) and bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        edges = np.append(edges[:-1:step], edges[-1])
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    first, last = filled[0], filled[-1]
    message = HistogramProto(
        min=flat.min(), max=flat.max(), num=flat.size, sum=flat.sum(), sum_squares=flat.dot(flat),
        bucket_limit=edges[first : last + 2].tolist(), bucket=[0, *counts[first : last + 1].tolist()],
    )  # fmt: skip
    return _value(tag, histo=message)


def _as_picture(array: Any, dataformats: str) -> Any:
    """Convert to (height, width, channels); several images are arranged in a grid that is as square as possible."""
    letters = dataformats.upper()
    if len(letters) != array.ndim or len(set(letters)) != len(letters):
        raise AssertionError(f"size of input tensor and input format are different: {array.shape} and {dataformats}")
    if "N" not in letters:
        array = array[..., None] if "C" not in letters else array.transpose([letters.index(c) for c in "HWC"])
    else:
        array = array.transpose([letters.index(c) for c in "NHWC"])
        count, height, width, channels = array.shape
        columns = min(count, 8)
        rows = -(-count // columns)
        grid = np.zeros((rows * height, columns * width, channels), dtype=array.dtype)
        for i, one in enumerate(array):
            top, left = i // columns * height, i % columns * width
            grid[top : top + height, left : left + width] = one
        array = grid
    return np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array


def image(tag: str, tensor: Any, rescale: float = 1, dataformats: str = "NCHW") -> Summary:
    """Create the summary of an image: bytes, or numbers from 0 to 1."""
    from PIL import Image

    array = to_array(tensor)
    scale = 1 if array.dtype == np.uint8 else 255
    picture = (_as_picture(array, dataformats).astype(np.float32) * scale).clip(0, 255).astype(np.uint8)
    height, width, channels = picture.shape
    made = Image.fromarray(picture)
    if rescale != 1:
        made = made.resize((int(width * rescale), int(height * rescale)), Image.LANCZOS)
    file = io.BytesIO()
    made.save(file, format="PNG")
    return _value(tag, image=Summary.Image(height=made.height, width=made.width, colorspace=channels, encoded_image_string=file.getvalue()))


def text(tag: str, text: str) -> Summary:
    """Create the summary of a Markdown text."""
    from tensorboard.plugins.text.plugin_data_pb2 import TextPluginData

    content = TextPluginData(version=0).SerializeToString()
    words = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)]))
    return _value(f"{tag}/text_summary", metadata=_plugin("text", content), tensor=words)


def pr_curve(tag: str, labels: Any, predictions: Any, num_thresholds: int = 127, weights: Any = None) -> Summary:
    """Create a precision-recall curve with evenly spaced thresholds."""
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    count = min(num_thresholds, 127)
    truth, guess = to_array(labels).ravel() > 0, to_array(predictions).ravel()
    weight = np.ones(guess.shape) if weights is None else to_array(weights).ravel()
    bucket = np.floor(guess * (count - 1)).astype(np.int64).clip(0, count - 1)
    tp, fp = (np.bincount(bucket, weight * mask, count)[::-1].cumsum()[::-1] for mask in (truth, ~truth))
    tn, fn = fp[0] - fp, tp[0] - tp
    least = 1e-7
    data = np.stack([tp, fp, tn, fn, tp / np.maximum(least, tp + fp), tp / np.maximum(least, tp + fn)])
    return _value(tag, metadata=_plugin("pr_curves", PrCurvePluginData(version=0, num_thresholds=count).SerializeToString()), tensor=_tensor(data))


def custom_scalars(layout: dict[str, Any]) -> Summary:
    """Create the layout of charts: which scalars share a chart."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    categories = []
    for category, charts in layout.items():
        made = []
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                made.append(layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                made.append(layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=list(tags))))
        categories.append(layout_pb2.Category(title=category, chart=made))
    words = TensorProto(dtype="DT_STRING", string_val=[layout_pb2.Layout(category=categories).SerializeToString()], tensor_shape=TensorShapeProto())
    return _value("custom_scalars__config__", metadata=_plugin("custom_scalars"), tensor=words)


def hparams(
    hparam_dict: dict[str, Any], metric_dict: dict[str, Any], hparam_domain_discrete: dict[str, Any] | None = None
) -> tuple[Summary, Summary, Summary]:
    """Create the summaries of hyperparameters and metrics: the experiment, the start and the end of a session."""
    from google.protobuf import struct_pb2
    from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

    start, infos = plugin_data_pb2.SessionStartInfo(), []
    kinds = {bool: "DATA_TYPE_BOOL", str: "DATA_TYPE_STRING"}
    for name, value in hparam_dict.items():
        if value is None:
            continue
        if isinstance(value, undertow.Tensor):
            value = value.item()
        if not isinstance(value, (bool, str, int, float)):
            raise ValueError(f"value should be one of int, float, str, bool, or torch.Tensor: {name} is a {type(value).__name__}")
        key = "bool_value" if isinstance(value, bool) else "string_value" if isinstance(value, str) else "number_value"
        setattr(start.hparams[name], key, value)
        kind = getattr(api_pb2.DataType, kinds.get(type(value), "DATA_TYPE_FLOAT64"))
        domain = (hparam_domain_discrete or {}).get(name)
        values = None if domain is None else struct_pb2.ListValue(values=[struct_pb2.Value(**{key: v}) for v in domain])
        infos.append(api_pb2.HParamInfo(name=name, type=kind, domain_discrete=values))
    metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag)) for tag in metric_dict]
    experiment = api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.STATUS_SUCCESS)
    parts = (
        (metadata.EXPERIMENT_TAG, plugin_data_pb2.HParamsPluginData(experiment=experiment, version=metadata.PLUGIN_DATA_VERSION)),
        (metadata.SESSION_START_INFO_TAG, plugin_data_pb2.HParamsPluginData(session_start_info=start, version=metadata.PLUGIN_DATA_VERSION)),
        (metadata.SESSION_END_INFO_TAG, plugin_data_pb2.HParamsPluginData(session_end_info=end, version=metadata.PLUGIN_DATA_VERSION)),
    )
    made = [_value(tag, metadata=_plugin(metadata.PLUGIN_NAME, data.SerializeToString())) for tag, data in parts]
    return made[0], made[1], made[2]

