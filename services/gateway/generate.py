"""Generate files from the table of operations: OpenAPI document, proto file, its lock, and the stubs. `make gen` calls it."""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import orjson

from services.gateway.operation_table import OPERATIONS
from services.gateway.transports.grpc.proto import Numbers, render_proto
from services.gateway.transports.rest.openapi import render_openapi

ROOT = Path(__file__).resolve().parents[2]
PROTO = Path("proto/muster/v1/muster.proto")
LOCK = Path("proto/muster/v1/fields.lock.json")
OPENAPI = Path("docs/openapi.json")
STUBS = Path("services/gateway/transports/grpc/stubs")


def generated(lock: Numbers) -> dict[Path, bytes]:
    """Return every generated file except the stubs, by its path in the repository."""
    proto, numbers = render_proto(OPERATIONS, lock)
    return {
        PROTO: proto.encode(),
        LOCK: orjson.dumps(numbers, option=orjson.OPT_INDENT_2) + b"\n",
        OPENAPI: render_openapi(OPERATIONS),
    }


def stubs(proto: bytes) -> dict[Path, bytes]:
    """Return the Python stubs of the proto file, by path."""
    import grpc_tools
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        source = root / PROTO.relative_to("proto")
        source.parent.mkdir(parents=True)
        source.write_bytes(proto)
        google = Path(grpc_tools.__file__).parent / "_proto"
        outputs = [f"--{kind}_out={root}" for kind in ("python", "pyi", "grpc_python")]
        status = protoc.main(["protoc", f"-I{root}", f"-I{google}", *outputs, str(source)])
        if status:
            raise RuntimeError(f"protoc failed with exit status {status}")
        found = {}
        # The SDK's package is also named `muster`, so the stubs must not use that name.
        for path in sorted(source.parent.glob("muster_pb2*.py*")):
            text = re.sub(r"^from muster\.v1 import", "from . import", path.read_text(), flags=re.MULTILINE)
            found[STUBS / path.name] = text.encode()
        return found


def load_lock(root: Path = ROOT) -> Numbers:
    path = root / LOCK
    numbers: Numbers = orjson.loads(path.read_bytes()) if path.exists() else {}
    return numbers


def main() -> int:
    """Write the files, or report stale ones with `--check`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    check = parser.parse_args().check
    files = generated(load_lock())
    files |= stubs(files[PROTO])
    stale = [path for path, content in files.items() if not _has_content(ROOT / path, content)]
    for path in stale:
        if check:
            print(f"{path} is stale: run `make gen`", file=sys.stderr)
            continue
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_bytes(files[path])
        print(f"wrote {path}")
    return 1 if check and stale else 0


def _has_content(path: Path, content: bytes) -> bool:
    return path.exists() and path.read_bytes() == content


if __name__ == "__main__":
    sys.exit(main())
