import { useState } from "react";
import { IconButton } from "./Button";

/** Copies a text to the clipboard and confirms it. */
export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [isDone, setDone] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    });
  };
  return <IconButton icon={isDone ? "check" : "copy"} label={isDone ? "Copied" : label} onClick={copy} />;
}
