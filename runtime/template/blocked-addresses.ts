import type { DefaultTreeAdapterTypes as Tree } from 'parse5'
import { addressScheme, startsWithHost } from './address.ts'
import { attributeValue } from './attribute-places.ts'
import { quoteText } from './template-warnings.ts'

type Rule = { readonly blocks: (address: string) => boolean; readonly advice: string }

const MEDIA = 'put the file into media/ and use its relative URL'

/**
 * Blocks absolute URLs, including those of the server itself. A template's author doesn't know the server's name, so
 * the template must use relative URLs for its own files anyway.
 */
const OTHER_ORIGIN: Rule = { blocks: isElsewhere, advice: MEDIA }
const IMAGE: Rule = { blocks: (address) => isElsewhere(address) && addressScheme(address) !== 'data', advice: MEDIA }
const ALWAYS: Rule = {
  blocks: (address) => address.trim() !== '',
  advice: 'remove the element, or link to the URL with <a>',
}
const MANIFEST: Rule = { blocks: () => true, advice: 'remove the element' }
const PING: Rule = { blocks: () => true, advice: 'remove the attribute' }
const BASE: Rule = { blocks: () => true, advice: 'remove the element and write each URL in full' }
const FORM: Rule = { blocks: isElsewhere, advice: 'post to this server only, or use a link' }

const RULES: Readonly<Record<string, Rule>> = {
  'base href': BASE,
  'img src': IMAGE,
  'img srcset': IMAGE,
  'source srcset': IMAGE,
  'input src': IMAGE,
  'video poster': IMAGE,
  'image href': IMAGE,
  'image xlink:href': IMAGE,
  'feimage href': IMAGE,
  'use href': OTHER_ORIGIN,
  'use xlink:href': OTHER_ORIGIN,
  'body background': IMAGE,
  'table background': IMAGE,
  'td background': IMAGE,
  'th background': IMAGE,
  'video src': ALWAYS,
  'audio src': ALWAYS,
  'source src': ALWAYS,
  'track src': ALWAYS,
  'iframe src': ALWAYS,
  'frame src': ALWAYS,
  'object data': ALWAYS,
  'embed src': ALWAYS,
  'applet code': ALWAYS,
  'form action': FORM,
  'button formaction': FORM,
  'input formaction': FORM,
  'a ping': PING,
  'area ping': PING,
}

const LINKS: Readonly<Record<string, Rule>> = {
  stylesheet: OTHER_ORIGIN,
  icon: IMAGE,
  preload: OTHER_ORIGIN,
  prefetch: OTHER_ORIGIN,
  manifest: MANIFEST,
}

const MAY_RUN: ReadonlySet<string> = new Set(['href', 'xlink:href', 'src', 'action', 'formaction', 'data'])

/**
 * Returns why the page's Content-Security-Policy blocks an attribute's URL, and what to do instead; null if the URL is
 * allowed.
 */
export function blockedAddress(element: Tree.Element, name: string, value: string): string | null {
  const lower = name.toLowerCase()
  if (MAY_RUN.has(lower) && addressScheme(value) === 'javascript') {
    return `${quoteText(value)} does not run, because the Content-Security-Policy blocks javascript: URLs; use addEventListener in a <script>`
  }
  const rule =
    element.tagName === 'link' && lower === 'href'
      ? linkRule(element)
      : RULES[`${element.tagName.toLowerCase()} ${lower}`]
  const addresses = lower.endsWith('srcset') ? value.split(/,\s/) : [value]
  const blocked = rule && addresses.find((address) => rule.blocks(address))
  if (!rule || blocked === undefined) return null
  return `the Content-Security-Policy blocks ${quoteText(blocked)} in the ${lower} attribute of <${element.tagName}>; ${rule.advice}`
}

function linkRule(element: Tree.Element): Rule | undefined {
  const kinds = (attributeValue(element, 'rel') ?? '').toLowerCase().split(/\s+/)
  const kind = kinds.find((name) => Object.hasOwn(LINKS, name))
  return kind === undefined ? undefined : LINKS[kind]
}

/** Returns the blocked URLs in a style sheet, with their offsets. */
export function blockedInStyle(css: string): { readonly offset: number; readonly message: string }[] {
  return Array.from(
    css.matchAll(/(?:@import\s{0,9}|url\(\s{0,9})["']?((?:https?:)?\/\/[^\s"')]{0,200})/gi),
    (match) => ({
      offset: match.index,
      message: `the Content-Security-Policy blocks ${quoteText(match[1] ?? '')} in a <style>; ${MEDIA}`,
    }),
  )
}

function isElsewhere(address: string): boolean {
  return addressScheme(address) !== null || startsWithHost(address)
}
