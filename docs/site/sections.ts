import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5'
import { type Page, pathOf } from './pages.ts'

/** A search result: a heading and the text up to the next one. */
export type Section = {
  readonly id: number
  /** The page's path and the heading's anchor. */
  readonly path: string
  readonly page: string
  readonly heading: string
  readonly text: string
}

/** Options of MiniSearch. The browser's script has the same `fields` and `storeFields`. */
export const SEARCHED = { fields: ['page', 'heading', 'text'], storeFields: ['path', 'page', 'heading'] }

type Node = DefaultTreeAdapterTypes.ChildNode

/** @param content the page's rendered Markdown, whose headings have ids */
export function sectionsOf(page: Page, content: string): Omit<Section, 'id'>[] {
  const sections: { anchor: string; heading: string; texts: string[] }[] = []
  for (const node of parseFragment(content).childNodes) {
    const text = textOf(node)
    if ('tagName' in node && /^h[1-4]$/.test(node.tagName)) {
      const anchor = node.attrs.find(({ name }) => name === 'id')?.value ?? ''
      sections.push({ anchor: node.tagName === 'h1' ? '' : `#${anchor}`, heading: text, texts: [] })
    } else {
      sections.at(-1)?.texts.push(text)
    }
  }
  return sections.map(({ anchor, heading, texts }) => ({
    path: `${pathOf(page.file)}${anchor}`,
    page: page.title,
    heading,
    text: texts.join(' ').replace(/\s+/g, ' ').trim(),
  }))
}

function textOf(node: Node): string {
  if (node.nodeName === '#text') return (node as DefaultTreeAdapterTypes.TextNode).value
  return 'childNodes' in node ? node.childNodes.map(textOf).join(' ') : ''
}
