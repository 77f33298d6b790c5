import { useEffect, useState, type RefObject } from "react";

/** True while the content of a block is larger than the block, so that it scrolls and must be focusable. */
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
