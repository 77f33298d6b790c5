import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Copy } from "@/parts/Copy";
import { Complaint } from "@/parts/Notes";
import { Card, Section } from "@/parts/Page";
import { PlainTable } from "@/parts/PlainTable";
import { experimentQuery } from "@/training/queries";
import { differences, sayValue } from "@/training/values";
import { Against } from "./Against";
import css from "./Experiment.module.css";
import type { TabProps } from "./tab";

/** The config as submitted, and its differences from another experiment. */
export function ConfigTab({ experiment, search, onSearch }: TabProps) {
  const text = experiment.config_yaml ?? JSON.stringify(experiment.config, null, 2);
  const against = search.against ?? experiment.forked_from ?? undefined;
  const other = useQuery({ ...experimentQuery(against ?? ""), enabled: against !== undefined });
  const rows = useMemo(() => (other.data ? differences([other.data.config, experiment.config]) : []), [other.data, experiment.config]);
  return (
    <div className={css.overview}>
      {experiment.warnings.map((warning) => (
        <div key={warning} className={css.warning}>
          {warning}
        </div>
      ))}
      <Section title={experiment.config_yaml ? "Config as submitted" : "Config with defaults"} actions={<Copy text={text} label="Copy the config" />}>
        <Card className={css.config}>
          <pre tabIndex={0}>{text}</pre>
        </Card>
      </Section>
      <Section title="Differences from another experiment" actions={<Against search={search} onSearch={onSearch} />}>
        {other.error && <Complaint error={other.error} />}
        {other.data && (
          <PlainTable>
            <thead>
              <tr>
                <th />
                <th scope="col">
                  <Link className={css.link} to="/experiments/$experiment" params={{ experiment: String(other.data.number) }}>
                    {other.data.number} {other.data.name}
                  </Link>
                </th>
                <th scope="col">this experiment</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.name}>
                  <td>{row.name}</td>
                  {row.values.map((value, at) => (
                    <td key={at} data-wraps className="mono">
                      {sayValue(value)}
                    </td>
                  ))}
                </tr>
              ))}
              <tr>
                <td>code</td>
                <td colSpan={2}>
                  {other.data.code_sha256 === experiment.code_sha256 ? (
                    "the same"
                  ) : (
                    <Link className={css.link} to="/experiments/$experiment/$tab" params={{ experiment: String(experiment.number), tab: "code" }} search={{ against: String(other.data.number) } as never}>
                      different: show the changes
                    </Link>
                  )}
                </td>
              </tr>
            </tbody>
          </PlainTable>
        )}
      </Section>
    </div>
  );
}
