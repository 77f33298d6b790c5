import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { piecesOf } from "@/logs/ansi";
import { Markdown } from "@/parts/Markdown";

const shown = (text: string) => renderToStaticMarkup(<Markdown text={text} />);

describe("notes", () => {
  it("render Markdown with tables and bare URLs", () => {
    const html = shown("# Title\n## Part\n\nOne *two* **three** `four`\n\n- a\n\n> said\n\n```\nx\n```\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nsee https://example.net/a");
    for (const part of ["<h3>Title</h3>", "<h4>Part</h4>", "<em>two</em>", "<strong>three</strong>", "<code>four</code>", "<li>a</li>", "<blockquote>", "<pre><code>x", "<hr", "<td>1</td>", 'href="https://example.net/a"']) {
      expect(html).toContain(part);
    }
  });

  it.each(["<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "<div onclick=alert(1)>\nx\n</div>", "a <b onmouseover=alert(1)>b</b>", "<a href=javascript:alert(1)>x</a>"])("show HTML as text: %s", (text) => {
    const html = shown(text);
    expect(html.replace(/<\/?(?:div|p)(?: class="[^"]*")?>/g, "")).not.toContain("<");
    expect(html).toContain("&lt;");
  });

  it("load no images", () => {
    expect(shown("![a chart](https://example.net/chart.png)")).toContain("<p>a chart</p>");
  });

  it.each(["javascript:alert(1)", "JaVaScRiPt:alert(1)", "&#106;avascript:alert(1)", "data:text/html,x", "//evil.example", "vbscript:x", "irc://x", "file:///etc/passwd"])("lead nowhere by %s", (address) => {
    expect(shown(`[x](${address}) [y][1] <${address}>\n\n[1]: ${address}`)).not.toContain("<a");
  });

  it.each(["https://example.net/a", "http://example.net/", "mailto:ann@example.net", "/experiments/31"])("open %s beside the page and tell it nothing", (address) => {
    expect(shown(`[it](${address})`)).toContain(`<a href="${address}" target="_blank" rel="noopener noreferrer nofollow">it</a>`);
  });
});

describe("a line of a log", () => {
  const looks = (line: string) => piecesOf(line).map(({ text, colour, isBold, isDim }) => [text, colour, isBold && "bold", isDim && "dim"].filter(Boolean).join(" "));

  it("keeps colours and removes other escape sequences", () => {
    expect(looks("\u001b[1;31mred\u001b[22m\u001b[2m dim\u001b[0m plain \u001b[96mbright\u001b[39m not")).toEqual(["red ansi-red bold", " dim ansi-red dim", " plain ", "bright ansi-bright-cyan", " not"]);
    expect(looks("\u001b]0;title\u0007a\u001b[2Kb\u0000c\u001b]8;;javascript:alert(3)\u0007here\u001b]8;;\u0007").join("")).toEqual("abchere");
  });
  it("is always text", () => {
    expect(looks("<script>alert(1)</script>")).toEqual(["<script>alert(1)</script>"]);
  });
  it("shows the last state of a progress bar", () => {
    expect(looks("10 %\r20 %\r30 %\r")).toEqual(["30 %"]);
  });
  it("shows sixteen named colours, and other colours as plain text", () => {
    expect(looks("\u001b[38;5;2mgreen\u001b[38:5:9mred\u001b[48;5;1mon red")).toEqual(["green ansi-green", "red ansi-bright-red", "on red ansi-bright-red"]);
    expect(looks("\u001b[31m\u001b[7mFAILED\u001b[0m\u001b[7mplain"), "reversed text keeps its colour").toEqual(["FAILED ansi-red", "plain"]);
    expect(piecesOf("\u001b[38;2;1;31;4mmixed").map(({ text }) => text)).toEqual(["mixed"]);
  });
});
