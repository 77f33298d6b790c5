import { useState } from "react";
import { Button } from "@/parts/Button";
import { Dialog } from "@/parts/Dialog";
import { joined } from "@/parts/expression";
import { Select } from "@/parts/Field";
import field from "@/parts/Field.module.css";
import css from "./Experiments.module.css";
import { condition, FIELDS, operatorsOf, type FilterField } from "./filters";

interface FilterDialogProps {
  before: string;
  onFilter: (filter: string) => void;
  onClose: () => void;
}

/** Adds a condition to the filter and shows the resulting expression. */
export function FilterDialog({ before, onFilter, onClose }: FilterDialogProps) {
  const [of, setOf] = useState<FilterField>(FIELDS[0] as FilterField);
  const operators = operatorsOf(of.kind);
  const [operator, setOperator] = useState(operators[0] ?? "=");
  const [value, setValue] = useState("");
  const choose = (name: string) => {
    const next = FIELDS.find((one) => one.name === name) ?? of;
    setOf(next);
    setOperator(operatorsOf(next.kind)[0] ?? "=");
    setValue(next.values?.[0] ?? "");
  };
  const made = condition(of, operator, value);
  const add = () => {
    if (made === null) return;
    onFilter(joined(before, made));
    onClose();
  };
  return (
    <Dialog
      title="Add a filter condition"
      onClose={onClose}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button kind="primary" disabled={made === null} onClick={add}>
            Add
          </Button>
        </>
      }
    >
      <form
        className={css.builder}
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <Select label="Field" value={of.name} onChange={(event) => choose(event.target.value)}>
          {FIELDS.map((one) => (
            <option key={one.name} value={one.name}>
              {one.label}
            </option>
          ))}
        </Select>
        <Select label="Comparison" value={operator} onChange={(event) => setOperator(event.target.value)}>
          {operators.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </Select>
        {!operator.endsWith("absent") && <Value of={of} value={value} onValue={setValue} />}
      </form>
      {made !== null && (
        <p className={css.made}>
          <code>{joined(before, made)}</code>
        </p>
      )}
    </Dialog>
  );
}

function Value({ of, value, onValue }: { of: FilterField; value: string; onValue: (value: string) => void }) {
  if (of.values) {
    return (
      <Select label="Value" value={value} onChange={(event) => onValue(event.target.value)}>
        {of.values.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </Select>
    );
  }
  const type = { number: "number", time: "date" }[of.kind as string] ?? "text";
  return <input className={field.input} aria-label="Value" type={type} step="any" value={value} autoFocus onChange={(event) => onValue(event.target.value)} />;
}
