"""`SummaryWriter`: writes scalars, histograms, images and text of a run to event files for TensorBoard."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from undertow.utils.tensorboard import summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn, Self


class FileWriter:
    """One event file in a folder."""

    event_writer: Any  # from tensorboard, which has no type annotations

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event with the time and the step."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write the result of one of the functions in `summary`."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Write pending events."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write pending events and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Continue after `close`, in a new file."""
        self.event_writer.reopen()


class SummaryWriter:
    """Writes the events of a run to `log_dir`; by default to a folder in runs/ named after the time and the machine."""

    log_dir: str
    purge_step: int | None

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            log_dir = os.path.join("runs", datetime.now().strftime("%b%d_%H-%M-%S") + "_" + socket.gethostname() + comment)
        self.log_dir, self.purge_step = str(log_dir), purge_step
        self._options = (max_queue, flush_secs, filename_suffix)
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] = {}
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        if self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, *self._options)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:  # drop events that an interrupted run wrote after this step
                self.file_writer.add_event(Event(step=self.purge_step, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START)))
                self.purge_step = None
        return self.file_writer

    def get_logdir(self) -> str:
        """Return the folder."""
        return self.log_dir

    def _add(self, made: Any, step: Any, walltime: float | None) -> None:
        self._get_file_writer().add_summary(made, step, walltime)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Write a number."""
        self._add(summary.scalar(tag, scalar_value, new_style, double_precision), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None) -> None:
        """Write several numbers for one chart, each in its own file."""
        base = self._get_file_writer().get_logdir()
        for tag, value in tag_scalar_dict.items():
            folder = f"{base}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, *self._options)
            self.all_writers[folder].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow", walltime: float | None = None, max_bins: int | None = None
    ) -> None:
        """Write a histogram of values."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_image(self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "CHW") -> None:
        """Write an image."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag: str, img_tensor: Any, global_step: Any = None, walltime: float | None = None, dataformats: str = "NCHW") -> None:
        """Write several images in a grid."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_figure(self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None) -> None:
        """Write a matplotlib figure, or a list of figures."""
        import numpy as np

        figures = figure if isinstance(figure, list) else [figure]
        drawn = []
        for one in figures:
            one.canvas.draw()
            drawn.append(np.asarray(one.canvas.buffer_rgba())[:, :, :3])
            if close:
                import matplotlib.pyplot

                matplotlib.pyplot.close(one)
        if isinstance(figure, list):
            self.add_images(tag, np.stack(drawn), global_step, walltime, dataformats="NHWC")
        else:
            self.add_image(tag, drawn[0], global_step, walltime, dataformats="HWC")

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a Markdown text."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Write a precision-recall curve."""
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, Any]) -> None:
        """Write the layout of charts: {category: {chart: ["Multiline" or "Margin", tags]}}."""
        self._add(summary.custom_scalars(layout), None, None)

    def add_hparams(
        self, hparam_dict: Any, metric_dict: Any, hparam_domain_discrete: Any = None, run_name: str | None = None, global_step: Any = None
    ) -> None:
        """Write the hyperparameters of a run with its results."""
        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as writer:
            for made in summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete):
                writer._add(made, None, None)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_embedding(
        self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: Any = None, tag: str = "default", metadata_header: Any = None
    ) -> None:
        """Write points with labels for the projector."""
        from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

        if label_img is not None:
            raise NotImplementedError("SummaryWriter.add_embedding: images as labels are not supported; use metadata")
        points = summary.to_array(mat)
        base, part = self._get_file_writer().get_logdir(), f"{0 if global_step is None else global_step:05}/{tag.replace('/', '%2F')}"
        os.makedirs(os.path.join(base, part), exist_ok=True)
        self._projector = getattr(self, "_projector", ProjectorConfig())
        entry = self._projector.embeddings.add(tensor_name=f"{tag}:{0 if global_step is None else global_step:05}", tensor_path=f"{part}/tensors.tsv")
        if metadata is not None:
            if len(metadata) != len(points):
                raise AssertionError(f"#labels should equal with #data points: {len(metadata)} and {len(points)}")
            rows = [metadata_header, *metadata] if metadata_header else metadata
            lines = ["\t".join(map(str, row)) if isinstance(row, (list, tuple)) else str(row) for row in rows]
            entry.metadata_path = f"{part}/metadata.tsv"
            with open(os.path.join(base, entry.metadata_path), "w", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
        with open(os.path.join(base, entry.tensor_path), "w", encoding="utf-8") as file:
            file.writelines("\t".join(map(str, row)) + "\n" for row in points.tolist())
        with open(os.path.join(base, "projector_config.pbtxt"), "w", encoding="utf-8") as file:
            file.write(str(self._projector))

    def _not_here(self) -> NoReturn:
        raise NotImplementedError("SummaryWriter: graphs, audio, video and meshes are not supported")

    def add_graph(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: not supported."""
        self._not_here()

    def add_onnx_graph(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: not supported."""
        self._not_here()

    def add_video(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: not supported."""
        self._not_here()

    def add_audio(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: not supported."""
        self._not_here()

    def add_mesh(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: not supported."""
        self._not_here()

    def add_image_with_boxes(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: not supported."""
        self._not_here()

    def add_histogram_raw(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: not supported."""
        self._not_here()

    def add_pr_curve_raw(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise: not supported."""
        self._not_here()

    def flush(self) -> None:
        """Write pending events."""
        for writer in self.all_writers.values():
            writer.flush()

    def close(self) -> None:
        """Write pending events and close the file; later events go to a new file."""
        for writer in self.all_writers.values():
            writer.close()
        self.file_writer, self.all_writers = None, {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()
