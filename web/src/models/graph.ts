/** Lays out a lineage graph from left (origins) to right. Pure. */
import type { LineageGraph } from "./data";

export const BOX = { width: 150, height: 54, across: 46, down: 18 };

export interface Placed {
  id: string;
  kind: string;
  name: string;
  x: number;
  y: number;
}

export interface Laid {
  nodes: Placed[];
  /** End points of the lines, from the right of one node to the left of another. */
  edges: { from: Placed; to: Placed; kind: string }[];
  width: number;
  height: number;
}

/** Places each node one column right of the last of its origins. Unexpected cycles are cut. */
export function layOut(graph: Pick<LineageGraph, "nodes" | "edges">): Laid {
  const columns = columnsOf(graph);
  const filled: string[][] = [];
  for (const { id } of graph.nodes) (filled[columns.get(id) ?? 0] ??= []).push(id);
  const most = Math.max(1, ...filled.map((column) => column?.length ?? 0));
  const height = most * (BOX.height + BOX.down) - BOX.down;
  const nodes = graph.nodes.map(({ id, kind, name }): Placed => {
    const at = columns.get(id) ?? 0;
    const column = filled[at] ?? [];
    const above = (height - (column.length * (BOX.height + BOX.down) - BOX.down)) / 2;
    return { id, kind, name, x: at * (BOX.width + BOX.across), y: above + column.indexOf(id) * (BOX.height + BOX.down) };
  });
  const placed = new Map(nodes.map((node) => [node.id, node]));
  const edges = graph.edges.flatMap(({ source, target, kind }) => {
    const [from, to] = [placed.get(source), placed.get(target)];
    return from && to ? [{ from, to, kind }] : [];
  });
  return { nodes, edges, width: Math.max(1, filled.length) * (BOX.width + BOX.across) - BOX.across, height };
}

function columnsOf(graph: Pick<LineageGraph, "nodes" | "edges">): Map<string, number> {
  const columns = new Map(graph.nodes.map((node) => [node.id, 0]));
  for (let round = 0; round < graph.nodes.length; round += 1) {
    let isSettled = true;
    for (const { source, target } of graph.edges) {
      const [before, at] = [columns.get(source), columns.get(target)];
      if (before === undefined || at === undefined || at > before || before + 1 >= graph.nodes.length) continue;
      columns.set(target, before + 1);
      isSettled = false;
    }
    if (isSettled) break;
  }
  return columns;
}
