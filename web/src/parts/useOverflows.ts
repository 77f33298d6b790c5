import { useEffect, useState, type RefObject } from "react";

/** True while what is in a block is wider or higher than the block, so that it scrolls by itself and keys must reach it. */
export function useOverflows(block: RefObject<HTMLElement | null>): boolean {
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const box = block.current;
    if (box === null) return;
    const observer = new ResizeObserver(() => setOverflows(box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight));
    for (const one of [box, ...box.children]) observer.observe(one);
    return () => observer.disconnect();
  }, [block]);
  return overflows;
}
