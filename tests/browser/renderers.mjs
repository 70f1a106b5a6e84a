// Text to HTML by the renderers of chat surfaces, each set as permissively as surfaces set it.
// The reserved names that stand in for real hosts (.example, .test) count as top-level domains here.
import footnote from 'markdown-it-footnote';
import MarkdownIt from 'markdown-it';
import React from 'react';
import ReactMarkdown from 'react-markdown';
import rehypeKatex from 'rehype-katex';
import rehypeRaw from 'rehype-raw';
import remarkGfm from 'remark-gfm';
import remarkMath from 'remark-math';
import showdown from 'showdown';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import { marked } from 'marked';
import { micromark } from 'micromark';
import { renderToStaticMarkup } from 'react-dom/server';

// Links from schemes, `//` and `www.`, but not from bare host names: no text filter can tell those from file names.
const linkifying = new MarkdownIt({ html: true, linkify: true }).use(footnote);
linkifying.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false }).tlds(['example', 'test'], true);
const converter = new showdown.Converter({
  simplifiedAutoLink: true, parseImgDimensions: true, tables: true, strikethrough: true, literalMidWordUnderscores: true,
});
const trusting = [rehypeKatex, { trust: true, strict: false, throwOnError: false }];
const react = (text, props) => renderToStaticMarkup(React.createElement(ReactMarkdown, props, text));

export const renderers = {
  marked: text => marked.parse(text, { gfm: true, async: false }),
  'markdown-it': text => linkifying.render(text),
  'react-markdown': text => react(text, { remarkPlugins: [remarkGfm] }),
  'react-markdown, raw HTML': text => react(text, { remarkPlugins: [remarkGfm], rehypePlugins: [rehypeRaw] }),
  'react-markdown, raw HTML and trusted math': text => react(text, {
    remarkPlugins: [remarkGfm, remarkMath], rehypePlugins: [rehypeRaw, trusting], urlTransform: url => url,
  }),
  showdown: text => converter.makeHtml(text),
  micromark: text => micromark(text, {
    extensions: [gfm()], htmlExtensions: [gfmHtml()], allowDangerousHtml: true, allowDangerousProtocol: true,
  }),
  'raw HTML': text => text,
};
