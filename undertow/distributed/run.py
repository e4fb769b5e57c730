"""python -m undertow.distributed.run [options] program [arguments]: starts a program in several processes, with torchrun's options.

The processes are started by MPI's launcher (mpiexec), on this host or on those of a host file. With --nnodes and no host file it is
started once on each host, as torchrun is, and the processes meet at --master-addr. Exit codes are torchrun's: 0, or 1 if a process failed.
"""

from __future__ import annotations

import argparse
import os
import sys

from undertow.distributed._launcher.launch import Failure, Job, launch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = ["get_args_parser", "main", "parse_args", "run"]


def get_args_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m undertow.distributed.run", description="Starts a program in several processes, as torchrun does."
    )

    def option(*names: str, **settings: Any) -> None:
        spelled = [name for name in names for name in ({name, "--" + name[2:].replace("-", "_")} if name.startswith("--") else {name})]
        variable = "PET_" + names[-1].lstrip("-").replace("-", "_").upper()
        if variable in os.environ and "action" not in settings:
            settings["default"] = os.environ[variable]
        parser.add_argument(*sorted(spelled, key=lambda name: (name.startswith("--"), "_" in name)), **settings)

    option("--nnodes", default="1:1", help="number of hosts, or MIN:MAX, of which MAX is used")
    option("--nproc-per-node", default="1", help="processes on each host: a number, or auto or cpu for the number of cores")
    option("--hostfile", default=None, help="file of host names for MPI's launcher, which then starts the processes on all of them")
    option("--rdzv-backend", default="static", help="accepted; the processes meet by MPI or at the master address")
    option("--rdzv-endpoint", default="", help="HOST:PORT, the same as --master-addr and --master-port")
    option("--rdzv-id", default="none", help="name of the job, TORCHELASTIC_RUN_ID")
    option("--rdzv-conf", default="", help="accepted and not used")
    option("--standalone", action="store_true", help="one host")
    option("--max-restarts", type=int, default=0, help="how often to start again after a failure")
    option("--monitor-interval", type=float, default=0.1, help="seconds between looks at the processes")
    option("--start-method", default="spawn", choices=["spawn", "fork", "forkserver"], help="accepted; processes are started by mpiexec")
    option("--event-log-handler", default="null", help="accepted and not used")
    option("--role", default="default", help="ROLE_NAME of the processes")
    option("-m", "--module", action="store_true", help="the program is a module, as with python -m")
    option("--no-python", action="store_true", help="the program is not started by python")
    option("--run-path", action="store_true", help="accepted; the same as without")
    option("--log-dir", default=None, help="folder of the files of --redirects")
    option("-r", "--redirects", default="0", help="1: standard output to files, 2: standard error, 3: both; or RANK:NUMBER,...")
    option("-t", "--tee", default="0", help="not supported: use --redirects")
    option("--local-ranks-filter", default="", help="ranks whose output is shown, such as 0 or 0,1")
    option("--duplicate-stdout-filters", nargs="*", default=[], help="accepted and not used")
    option("--duplicate-stderr-filters", nargs="*", default=[], help="accepted and not used")
    option("--node-rank", type=int, default=0, help="number of this host, where each has its own launcher")
    option("--master-addr", default="127.0.0.1", help="address of the host of rank 0")
    option("--master-port", type=int, default=None, help="a free port there")
    option("--local-addr", default=None, help="accepted and not used")
    option("--logs-specs", default=None, help="accepted and not used")
    option("--numa-binding", default=None, help="accepted and not used")
    option("--signals-to-handle", default="SIGTERM,SIGINT,SIGHUP,SIGQUIT", help="signals that are passed on to the processes")
    option("--shutdown-timeout", default=None, help="accepted and not used")
    option("--virtual-local-rank", action="store_true", help="accepted and not used")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None) -> argparse.Namespace:
    """Return the options of a command line."""
    return get_args_parser().parse_args(args)


def _processes(text: str) -> int:
    if text in ("auto", "cpu"):
        return len(os.sched_getaffinity(0))
    if text == "gpu":
        raise ValueError("--nproc-per-node gpu: there are no CUDA tensors; give a number, or cpu")
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"Unsupported nproc_per_node value: {text}")
    return int(text)


def _command(args: argparse.Namespace) -> list[str]:
    """Return the command of one rank. Under as_torch the ranks run under it too."""
    program = [args.training_script, *args.training_script_args]
    if args.no_python:
        if args.module:
            raise ValueError("Don't use both the '--no_python' flag and the '--module' flag at the same time.")
        return program
    hook = sys.modules.get("undertow.as_torch._hook")
    wrapper = ["-m", "undertow.as_torch"] if hook is not None and hook.installed() else []
    return [sys.executable, "-u", *wrapper, *(["-m"] if args.module else []), *program]


def _job(args: argparse.Namespace) -> Job:
    if str(args.tee) != "0":
        raise ValueError("--tee is not supported: use --redirects with --log-dir, or mpiexec's own options")
    address, port = args.master_addr, args.master_port
    if args.rdzv_endpoint and not args.standalone:
        host, _, number = args.rdzv_endpoint.partition(":")
        address, port = host, int(number) if number else port
    nodes = 1 if args.standalone else int(str(args.nnodes).rpartition(":")[2])
    if nodes > 1 and args.hostfile is None and port is None:
        port = 29500
    return Job(
        command=_command(args),
        nproc=_processes(str(args.nproc_per_node)),
        nodes=nodes,
        node_rank=int(args.node_rank),
        hostfile=getattr(args, "hostfile", None),
        address="127.0.0.1" if address == "localhost" else address,
        port=None if port is None or int(port) == 0 else int(port),
        max_restarts=int(args.max_restarts),
        interval=float(args.monitor_interval),
        role=args.role,
        run_id=str(args.rdzv_id),
        redirects=str(args.redirects),
        shown=str(args.local_ranks_filter or ""),
        logs=args.log_dir,
        signals=[name for name in str(args.signals_to_handle).split(",") if name],
    )


def run(args: argparse.Namespace) -> None:
    """Start the job that the options describe, and wait for it; raise RuntimeError if a process fails."""
    for name, value in vars(get_args_parser().parse_args(["program"])).items():
        if not hasattr(args, name):
            setattr(args, name, value)  # programs that build the options themselves know only torchrun's
    launch(_job(args))


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parsed = parse_args(args)
    try:
        run(parsed)
    except Failure:
        raise SystemExit(1) from None
    except ValueError as error:
        print(f"undertow.distributed.run: {error}", file=sys.stderr)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
