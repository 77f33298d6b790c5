import { useNavigate } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { Icon } from "@/parts/Icon";
import { useMay, useSignOut } from "@/session/session";
import css from "./CommandPalette.module.css";
import { useCommands, type Command } from "./commands";
import { useFound } from "./finding";

/** Searches pages, experiments (by number or name) and commands. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const navigate = useNavigate();
  const commands = useCommands(navigate, useMay(), useSignOut());
  const found = useFound(text, navigate);
  const results = useMemo(() => [...found, ...matching(commands, text)], [commands, found, text]);
  useEffect(() => {
    const shownDialog = dialog.current;
    shownDialog?.showModal();
    return () => shownDialog?.close();
  }, []);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && results.length > 0) {
      event.preventDefault();
      setAt((at + step + results.length) % results.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(results[at]);
    }
  };
  return (
    <dialog ref={dialog} className={css.palette} aria-label="Search and commands" onCancel={onClose} onMouseDown={(event) => event.target === dialog.current && onClose()}>
      <div className={css.ask}>
        <Icon name="search" />
        <input
          autoFocus
          value={text}
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={results[at] ? `palette-${at}` : undefined}
          aria-label="Search experiments, pages and commands"
          placeholder="Search experiments, pages, commands"
          onChange={(event) => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
      </div>
      <ul id="palette-list" role="listbox" aria-label="Results" className={css.list}>
        {results.map((command, index) => (
          <Option key={command.id} command={command} index={index} isAt={index === at} onPick={() => run(command)} onOver={() => setAt(index)} />
        ))}
        {results.length === 0 && <li className={css.none}>No results</li>}
      </ul>
    </dialog>
  );
}

interface OptionProps {
  command: Command;
  index: number;
  isAt: boolean;
  onPick: () => void;
  onOver: () => void;
}

function Option({ command, index, isAt, onPick, onOver }: OptionProps) {
  const ref = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isAt) ref.current?.scrollIntoView({ block: "nearest" });
  }, [isAt]);
  return (
    <li ref={ref} id={`palette-${index}`} role="option" aria-selected={isAt} className={css.option} onClick={onPick} onMouseMove={onOver}>
      <Icon name={command.icon} />
      <span className={css.label}>{command.label}</span>
      {command.note && <span className={css.note}>{command.note}</span>}
    </li>
  );
}

function matching(commands: readonly Command[], text: string): Command[] {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter((command) => terms.every((term) => command.label.toLowerCase().includes(term)));
}
