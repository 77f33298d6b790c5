// Speaks gRPC with nothing of Muster's but its proto file: `npm install`, then `node client.js HOST:PORT`, with MUSTER_TOKEN set.
//
// Lists all experiments, page by page. The address is what `muster up` prints; where TLS ends before the gateway, use grpc.credentials.createSsl().
"use strict";

const path = require("node:path");
const { promisify } = require("node:util");
const grpc = require("@grpc/grpc-js");
const loader = require("@grpc/proto-loader");

if (process.argv.length !== 3 || !process.env.MUSTER_TOKEN) {
  console.error("usage: MUSTER_TOKEN=mst_… node client.js HOST:PORT");
  process.exit(1);
}
const PROTO = process.env.MUSTER_PROTO || path.resolve(__dirname, "../../proto");
const definition = loader.loadSync("muster/v1/muster.proto", {
  includeDirs: [PROTO], keepCase: true, longs: Number, enums: String, defaults: true, oneofs: true,
});
const { Muster } = grpc.loadPackageDefinition(definition).muster.v1;

const metadata = new grpc.Metadata();
metadata.set("authorization", `Bearer ${process.env.MUSTER_TOKEN}`);
const stub = new Muster(process.argv[2], grpc.credentials.createInsecure());
const deadline = () => ({ deadline: Date.now() + 10_000 });

async function* experiments() {
  const list = promisify(stub.ListExperiments.bind(stub));
  let cursor;
  do {
    const page = await list({ limit: 2, cursor }, metadata, deadline());
    yield* page.items;
    cursor = page._next_cursor === "next_cursor" ? page.next_cursor : undefined;
  } while (cursor);
}

async function main() {
  for await (const one of experiments()) {
    console.log(one.number, one.state.replace("EXPERIMENT_STATE_", "").toLowerCase(), one.name);
  }
}

main()
  .catch((error) => {
    console.error(`${grpc.status[error.code]}: ${error.details}`);
    process.exitCode = 1;
  })
  .finally(() => stub.close());
