"""Uses the gRPC API with only Muster's proto file: `python client.py HOST:PORT`, with MUSTER_TOKEN set.

Lists all experiments, page by page. `pip install grpcio grpcio-tools`.
`muster up` prints the address; if TLS ends before the gateway, use `grpc.secure_channel(address, grpc.ssl_channel_credentials())`.
"""

import os
import sys
from pathlib import Path

import grpc

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "proto/muster/v1"))
muster, services = grpc.protos_and_services("muster.proto")

SAFE = '{"methodConfig": [{"name": [{"service": "muster.v1.Muster", "method": "ListExperiments"}], "retryPolicy": {"maxAttempts": 4,'
SAFE += ' "initialBackoff": "0.2s", "maxBackoff": "2s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}'
"""The channel retries idempotent calls itself."""


def experiments(stub, metadata):
    request = muster.ListExperimentsRequest(limit=2)
    while True:
        page = stub.ListExperiments(request, metadata=metadata, timeout=10)
        yield from page.items
        if not page.HasField("next_cursor"):
            return
        request.cursor = page.next_cursor


def main():
    if len(sys.argv) != 2 or not os.environ.get("MUSTER_TOKEN"):
        sys.exit(__doc__)
    metadata = (("authorization", f"Bearer {os.environ['MUSTER_TOKEN']}"),)
    with grpc.insecure_channel(sys.argv[1], options=(("grpc.service_config", SAFE),)) as channel:
        stub = services.MusterStub(channel)
        try:
            for one in experiments(stub, metadata):
                state = muster.ExperimentState.Name(one.state).removeprefix("EXPERIMENT_STATE_").lower()
                print(int(one.number), state, one.name)
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")


if __name__ == "__main__":
    main()
