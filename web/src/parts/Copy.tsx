import { useState } from "react";
import { IconButton } from "./Button";

/** Copies a text, and says that it did. */
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
