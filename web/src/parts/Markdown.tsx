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
  // An image would be requested from another host.
  img: ({ alt }) => alt,
};

/** Markdown of untrusted users: raw HTML shows as text, images as their description, and only http, https and relative links work. */
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
