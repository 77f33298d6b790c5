import { useQuery } from "@tanstack/react-query";
import { Select } from "@/parts/Field";
import { Complaint, Loading } from "@/parts/Notes";
import { PlainTable } from "@/parts/PlainTable";
import { formatNumber } from "@/parts/format";
import { useInAddress } from "@/parts/useInAddress";
import css from "./Models.module.css";
import { compareQuery, type ModelVersion } from "./data";

interface ComparisonProps {
  model: string;
  versions: readonly ModelVersion[];
  aliases: Record<string, number>;
}

/** Differences between two versions in metrics, hyperparameters, data, code and files. */
export function Comparison({ model, versions, aliases }: ComparisonProps) {
  const newest = versions[0]?.number ?? 1;
  const [chosen, setBase] = useInAddress("base");
  const [against, setOther] = useInAddress("other");
  const there = (number: string | null) => versions.find((version) => String(version.number) === number)?.number;
  const base = there(chosen) ?? aliases.champion ?? versions[1]?.number ?? newest;
  const other = there(against) ?? (newest === base ? (versions[1]?.number ?? newest) : newest);
  const comparison = useQuery(compareQuery(model, base, other));
  const pick = (label: string, value: number, set: (value: string) => void) => (
    <Select label={label} value={value} onChange={(event) => set(event.target.value)}>
      {versions.map((version) => (
        <option key={version.number} value={version.number}>Version {version.number}</option>
      ))}
    </Select>
  );
  return (
    <>
      <div className={css.pick}>
        {pick("First version", base, setBase)}
        <span className="muted">and</span>
        {pick("Second version", other, setOther)}
      </div>
      {base === other ? (
        <p className="muted">Choose two different versions.</p>
      ) : comparison.error ? (
        <Complaint error={comparison.error} />
      ) : comparison.data === undefined ? (
        <Loading rows={3} />
      ) : comparison.data.differences.length === 0 ? (
        <p className="muted">The versions have the same metrics, hyperparameters, data, code and files.</p>
      ) : (
        <PlainTable>
          <thead>
            <tr><th>Kind</th><th>Name</th><th data-end>Version {base}</th><th data-end>Version {other}</th></tr>
          </thead>
          <tbody>
            {comparison.data.differences.map((one) => (
              <tr key={`${one.what} ${one.name}`}>
                <td className="muted">{one.what}</td>
                <td>{one.name}</td>
                <td data-end>{formatValue(one.base)}</td>
                <td data-end>{formatValue(one.other)}</td>
              </tr>
            ))}
          </tbody>
        </PlainTable>
      )}
    </>
  );
}

function formatValue(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return formatNumber(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 44 ? `${text.slice(0, 20)}…${text.slice(-12)}` : text;
}
