import { flexRender, type Row } from "@tanstack/react-table";
import { Icon } from "../Icon";
import css from "./DataTable.module.css";
import type { Group, Line } from "./lines";
import type { DataTableProps } from "./props";

interface LineViewProps<Item> {
  line: Line<Item>;
  index: number;
  start: number;
  isAt: boolean;
  isCards: boolean;
  props: DataTableProps<Item>;
  tick: (index: number, isRange: boolean) => void;
  onAt: () => void;
}

/** One line of a table. */
export function LineView<Item>({ line, ...place }: LineViewProps<Item>) {
  if (line.kind === "row") return <RowLine {...place} row={line.row} id={line.id} />;
  return <GroupLine {...place} group={line.group} isFoot={line.kind === "foot"} />;
}

type Place<Item> = Omit<LineViewProps<Item>, "line">;

function RowLine<Item>({ row, id, index, start, isAt, isCards, props, tick, onAt }: Place<Item> & { row: Row<Item>; id: string }) {
  const isTicked = props.ticked?.has(id) ?? false;
  const open = (inNewTab: boolean) => props.onOpen?.(row.original, inNewTab);
  return (
    <div
      role="row"
      id={`${props.label}-${index}`}
      aria-rowindex={index + 1}
      aria-level={props.groups && 2}
      aria-selected={props.onTicked ? isTicked : undefined}
      data-at={isAt || undefined}
      data-opens={props.onOpen ? true : undefined}
      className={isCards ? css.card : css.row}
      style={{ transform: `translateY(${start}px)` }}
      onClick={(event) => {
        onAt();
        open(event.metaKey || event.ctrlKey);
      }}
      onAuxClick={(event) => event.button === 1 && open(true)}
    >
      {props.onTicked && (
        <span role="gridcell" className={css.tick} onClick={(event) => event.stopPropagation()}>
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select row ${index + 1}`}
            checked={isTicked}
            onClick={(event) => tick(index, event.shiftKey)}
            onChange={() => undefined}
          />
        </span>
      )}
      {isCards ? (
        <span role="gridcell" className={css.whole}>
          {props.card?.(row.original)}
        </span>
      ) : (
        row.getVisibleCells().map((cell) => (
          <span
            key={cell.id}
            role="gridcell"
            className={`${css.cell} ${props.columns.find((one) => one.id === cell.column.id)?.end ? css.end : ""}`}
            style={{ width: cell.column.getSize(), flexGrow: cell.column.getSize() }}
          >
            {flexRender(cell.column.columnDef.cell, cell.getContext())}
          </span>
        ))
      )}
    </div>
  );
}

/** The heading of a group, which opens and closes it, or the line below its rows. */
function GroupLine<Item>({ group, isFoot, index, start, isAt, props, onAt }: Place<Item> & { group: Group<Item>; isFoot: boolean }) {
  const act = isFoot ? group.foot?.onOpen : () => props.onToggle?.(group.id);
  return (
    <div
      role="row"
      id={`${props.label}-${index}`}
      aria-rowindex={index + 1}
      aria-level={isFoot ? 2 : 1}
      aria-expanded={isFoot ? undefined : group.isOpen}
      data-at={isAt || undefined}
      data-opens={act ? true : undefined}
      className={isFoot ? css.foot : css.group}
      style={{ transform: `translateY(${start}px)` }}
      onClick={() => {
        onAt();
        act?.();
      }}
    >
      <span role="gridcell" aria-colspan={props.columns.length + (props.onTicked ? 1 : 0)} className={css.held}>
        {!isFoot && <Icon name={group.isOpen ? "chevronDown" : "chevronRight"} size={14} />}
        {isFoot ? <span className={act && css.leads}>{group.foot?.text}</span> : group.head}
      </span>
    </div>
  );
}
