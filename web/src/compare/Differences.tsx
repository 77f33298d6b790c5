import type { ReactNode } from "react";
import type { ExperimentDetail, Trial } from "@/api/types";
import { Section } from "@/parts/Page";
import { PlainTable } from "@/parts/PlainTable";
import { differences, sayValue, type Difference } from "@/training/values";
import { CodeDifferences } from "./CodeDifferences";

/** Differences between the trials and their experiments, without what is the same in all. */
export function Differences({ trials, experiments }: { trials: readonly Trial[]; experiments: readonly ExperimentDetail[] }) {
  const values = differences(trials.map((trial) => trial.hyperparameters));
  const configs = differences(experiments.map(({ config }) => ({ ...config, name: undefined, description: undefined, labels: undefined })));
  const codes = experiments.map(({ code_sha256 }) => code_sha256);
  const isOneCode = new Set(codes).size < 2;
  return (
    <>
      <Section title="Hyperparameters that differ">
        <Table names={trials.map((trial) => `${trial.experiment_number}.${trial.number}`)} rows={values} none="The trials have the same hyperparameters." />
      </Section>
      {experiments.length > 1 && (
        <Section title="Configs and code">
          <Table
            names={experiments.map(({ number }) => `experiment ${number}`)}
            rows={isOneCode ? configs : [...configs, { name: "code (SHA-256)", values: codes.map((code) => code?.slice(0, 12)) }]}
            none="The experiments have the same config and code."
          />
        </Section>
      )}
      <CodeDifferences experiments={experiments} />
    </>
  );
}

function Table({ names, rows, none }: { names: readonly string[]; rows: readonly Difference[]; none: ReactNode }) {
  if (rows.length === 0) return <p className="muted">{none}</p>;
  return (
    <PlainTable>
      <thead>
        <tr>
          <th />
          {names.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <th scope="row">{row.name}</th>
            {row.values.map((value, at) => (
              <td key={at} className="mono">
                {sayValue(value)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </PlainTable>
  );
}
