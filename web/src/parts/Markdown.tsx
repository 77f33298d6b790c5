import type { ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import css from "./Markdown.module.css";

const ELEMENTS = ["a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p", "pre", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul"];
const LINKS = /^(?:https?:|mailto:|\/(?!\/))/i;

const COMPONENTS: Components = {
  h1: ({ children }) => <h3>{children}</h3>,
  h2: Heading,
  h3: Heading,
  h4: Heading,
  h5: Heading,
  h6: Heading,
  a: ({ href, children }) => (href ? <a href={href} target="_blank" rel="noopener noreferrer nofollow">{children}</a> : children),
  // A picture would be asked of another host.
  img: ({ alt }) => alt,
};

/** Notes in markdown, which strangers write: raw HTML shows as text, pictures as their description, and links lead to the web or this site only. */
export function Markdown({ text }: { text: string }) {
  return (
    <div className={css.markdown}>
      <ReactMarkdown remarkPlugins={[remarkGfm]} allowedElements={ELEMENTS} unwrapDisallowed urlTransform={(url) => (LINKS.test(url) ? url : "")} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
}

function Heading({ children }: { children?: ReactNode }) {
  return <h4>{children}</h4>;
}
