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

/** What differs between two versions: metrics, hyperparameters, data, code, files. */
export function Comparison({ model, versions, aliases }: ComparisonProps) {
  const newest = versions[0]?.number ?? 1;
  const [chosen, setBase] = useInAddress("base");
  const [against, setOther] = useInAddress("other");
  const there = (number: string | null) => versions.find((version) => String(version.number) === number)?.number;
  const base = there(chosen) ?? aliases.champion ?? versions[1]?.number ?? newest;
  const other = there(against) ?? (newest === base ? (versions[1]?.number ?? newest) : newest);
  const told = useQuery(compareQuery(model, base, other));
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
        {pick("The one", base, setBase)}
        <span className="muted">and</span>
        {pick("The other", other, setOther)}
      </div>
      {base === other ? (
        <p className="muted">Choose two versions that are not the same.</p>
      ) : told.error ? (
        <Complaint error={told.error} />
      ) : told.data === undefined ? (
        <Loading rows={3} />
      ) : told.data.differences.length === 0 ? (
        <p className="muted">They are alike in metrics, hyperparameters, data, code and files.</p>
      ) : (
        <PlainTable>
          <thead>
            <tr><th>What</th><th>Name</th><th data-end>Version {base}</th><th data-end>Version {other}</th></tr>
          </thead>
          <tbody>
            {told.data.differences.map((one) => (
              <tr key={`${one.what} ${one.name}`}>
                <td className="muted">{one.what}</td>
                <td>{one.name}</td>
                <td data-end>{saidOf(one.base)}</td>
                <td data-end>{saidOf(one.other)}</td>
              </tr>
            ))}
          </tbody>
        </PlainTable>
      )}
    </>
  );
}

function saidOf(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return formatNumber(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 44 ? `${text.slice(0, 20)}…${text.slice(-12)}` : text;
}
