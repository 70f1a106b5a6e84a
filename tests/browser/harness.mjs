// What a browser does with a text: node harness.mjs CHROMIUM TEXTS.jsonl > seen.jsonl
//   in:  {"id": ..., "text": ...}
//   out: {"id", "renderer", "requests": [...], "links": [...]} for each text in each renderer
// A request is whatever the page asks for on its own; all are refused and no name is looked up. A link is an attribute
// (or a style or script) that points away from the page, in the document as the browser built it.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { renderers } from './renderers.mjs';

const HOME = 'https://page.test/';
const FRAMES = 32;
const SETTLE_MS = 300;
// Showdown needs minutes for a long run of brackets; that is its own weakness and not what is looked for here.
const SHOWDOWN_LIMIT = 7000;

// Without an attribute and without one of these elements a page can neither ask for anything nor point anywhere; the
// first `=` of a tag stands before any quote that could hide its end.
const CAN_ACT = /<[a-z!?/][^>]*=|<(?:style|script|svg|math)/i;

const texts = fs.readFileSync(process.argv[3], 'utf8').split('\n').filter(Boolean).map(line => JSON.parse(line));
const pages = new Map();
const uses = [];
for (const { id, text } of texts) {
  for (const [renderer, render] of Object.entries(renderers)) {
    if (renderer === 'showdown' && text.length > SHOWDOWN_LIMIT) continue;
    let html = '';
    try { html = render(text); } catch (error) { html = ''; }
    if (!pages.has(html)) pages.set(html, CAN_ACT.test(html) ? null : { requests: [], links: [] });
    uses.push({ id, renderer, html });
  }
}

function outside() {
  const found = [];
  const attributes = new Set(['action', 'archive', 'background', 'cite', 'content', 'data', 'dynsrc', 'formaction',
    'href', 'imagesrcset', 'longdesc', 'lowsrc', 'manifest', 'ping', 'poster', 'src', 'srcdoc', 'srcset', 'style', 'xlink:href']);
  const away = value => {
    try {
      const url = new URL(value.replace(/[\t\n\r]/g, '').trim(), document.baseURI);
      return url.host !== 'page.test' || !/^https?:$/.test(url.protocol) ? url.href : '';
    } catch { return ''; }
  };
  const look = root => {
    for (const element of root.querySelectorAll('*')) {
      for (const { name, value } of element.attributes) {
        const attribute = name.toLowerCase();
        const told = `${element.localName}@${attribute}=`;
        if (attribute.startsWith('on') || ['style', 'srcdoc'].includes(attribute)) {
          if (/evil|SEKRIT|\/\/|url\(/i.test(value)) found.push(told + value);
        } else if (attribute === 'content') {
          if (/refresh/i.test(element.getAttribute('http-equiv') ?? '') && /url/i.test(value)) found.push(told + value);
        } else if (attribute.endsWith('srcset')) {
          for (const part of value.split(',')) { const url = away(part.trim().split(/\s/)[0]); if (url) found.push(told + url); }
        } else if (attributes.has(attribute) && value.trim()) {
          const url = away(value);
          if (url) found.push(told + url);
        }
      }
      if (/^(style|script)$/i.test(element.localName) && /evil|SEKRIT|\/\//i.test(element.textContent)) found.push(element.localName);
      if (element.shadowRoot) look(element.shadowRoot);
    }
  };
  look(document);
  return found;
}

const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'hedgerow-browser-'));
const context = await chromium.launchPersistentContext(profile, {
  executablePath: process.argv[2], headless: true, serviceWorkers: 'block', ignoreHTTPSErrors: true,
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--host-resolver-rules=MAP * ~NOTFOUND'],
});
const page = await context.newPage();
page.on('dialog', dialog => dialog.dismiss().catch(() => {}));
const asked = new Map();
const numberOf = frame => {
  for (let at = frame; at; at = at.parentFrame()) if (/^text\d+$/.test(at.name())) return Number(at.name().slice(4));
  return -1;
};
await context.route('**/*', route => {
  const request = route.request();
  if (request.url() === HOME) return route.fulfill({ contentType: 'text/html', body: '<!doctype html><meta charset=utf-8><body>' });
  if (!request.url().startsWith(HOME)) {
    let number = -1;
    try { number = numberOf(request.frame()); } catch { /* a request of no frame is told under -1 */ }
    asked.set(number, [...asked.get(number) ?? [], `${request.resourceType()} ${request.url()}`]);
  }
  return route.abort().catch(() => {});
});
const todo = [...pages.keys()].filter(html => pages.get(html) === null);
for (let start = 0; start < todo.length; start += FRAMES) {
  const part = todo.slice(start, start + FRAMES);
  asked.clear();
  await page.goto(HOME);
  await page.evaluate(all => all.forEach((html, number) => {
    const frame = document.createElement('iframe');
    Object.assign(frame, { name: `text${number}`, width: 600, height: 400, srcdoc: html });
    document.body.append(frame);
  }), part);
  await page.waitForTimeout(SETTLE_MS);
  const links = new Map();
  for (const frame of page.frames()) {
    if (!/^text\d+$/.test(frame.name())) continue;
    const late = new Promise((_, refuse) => setTimeout(refuse, 30_000).unref());
    // A frame that cannot be asked any more has gone somewhere else.
    links.set(numberOf(frame), await Promise.race([frame.evaluate(outside), late]).catch(() => ['navigated']));
  }
  part.forEach((html, number) => pages.set(html, { requests: asked.get(number) ?? [], links: links.get(number) ?? ['navigated'] }));
  if (asked.has(-1)) console.error('requests of no frame:', asked.get(-1).slice(0, 3));
}
await context.close();
fs.rmSync(profile, { recursive: true, force: true });
for (const { id, renderer, html } of uses) process.stdout.write(JSON.stringify({ id, renderer, ...pages.get(html) }) + '\n');
