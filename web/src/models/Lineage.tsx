import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Loading, Trouble } from "@/parts/Notes";
import { BOX, layOut, type Laid } from "./graph";
import css from "./Models.module.css";
import { lineageQuery, type ModelVersion } from "./data";

/** The lineage graph of a version: its origins and uses. */
export function Lineage({ version }: { version: ModelVersion }) {
  const graph = useQuery(lineageQuery(version));
  const laid = useMemo(() => graph.data && layOut(graph.data), [graph.data]);
  if (graph.error) return <Trouble error={graph.error} retry={() => void graph.refetch()} />;
  if (!laid || !graph.data) return <Loading rows={4} />;
  return (
    <>
      <div className={css.graph} tabIndex={0} role="region" aria-label="Lineage">
        <Drawn laid={laid} start={graph.data.start} />
      </div>
      {graph.data.truncated && <p className="muted">The graph is truncated. Open one of its nodes to see more.</p>}
    </>
  );
}

function Drawn({ laid, start }: { laid: Laid; start: string }) {
  return (
    <div className={css.drawing} style={{ width: laid.width, height: laid.height }}>
      <svg width={laid.width} height={laid.height} aria-hidden="true">
        {laid.edges.map(({ from, to, kind }) => (
          <path key={`${from.id} ${to.id} ${kind}`} d={lineOf(from.x + BOX.width, from.y + BOX.height / 2, to.x, to.y + BOX.height / 2)} />
        ))}
      </svg>
      <ul>
        {laid.nodes.map((node) => (
          <li key={node.id} data-kind={node.kind} data-start={node.id === start || undefined} style={{ left: node.x, top: node.y, width: BOX.width, height: BOX.height }}>
            <small>{node.kind}</small>
            <span title={node.name}>{node.name}</span>
            <span className="unseen">{describe(laid, node.id)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function lineOf(x: number, y: number, toX: number, toY: number): string {
  const bend = Math.max(24, (toX - x) / 2);
  return `M${x} ${y}C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}`;
}

function describe(laid: Laid, id: string): string {
  const before = laid.edges.filter((edge) => edge.to.id === id).map((edge) => `${edge.kind} from ${edge.from.kind} ${edge.from.name}`);
  return before.join(", ");
}
