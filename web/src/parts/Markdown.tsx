import css from "./Markdown.module.css";
import { parseMarkdown, type Block, type Inline } from "./markdown";

/** Notes that somebody wrote, as what they mean; never as markup. */
export function Markdown({ text }: { text: string }) {
  return (
    <div className={css.markdown}>
      {parseMarkdown(text).map((block, at) => (
        <Shown key={at} block={block} />
      ))}
    </div>
  );
}

function Shown({ block }: { block: Block }) {
  switch (block.kind) {
    case "heading":
      return block.level === 1 ? <h3><Inlines of={block.inlines} /></h3> : <h4><Inlines of={block.inlines} /></h4>;
    case "code":
      return <pre>{block.text}</pre>;
    case "rule":
      return <hr />;
    case "quote":
      return <blockquote><Inlines of={block.inlines} /></blockquote>;
    case "list": {
      const items = block.items.map((item, at) => <li key={at}><Inlines of={item} /></li>);
      return block.isOrdered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case "paragraph":
      return <p><Inlines of={block.inlines} /></p>;
  }
}

function Inlines({ of }: { of: readonly Inline[] }) {
  return of.map((one, at) => {
    if (one.kind === "link") return <a key={at} href={one.href} target="_blank" rel="noopener noreferrer nofollow">{one.text}</a>;
    if (one.kind === "text") return one.text;
    const Tag = one.kind;
    return <Tag key={at}>{one.text}</Tag>;
  });
}
