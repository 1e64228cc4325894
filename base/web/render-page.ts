import { readdirSync, readFileSync } from 'node:fs'
import { Eta, type TemplateFunction } from 'eta/core'
import { cachedByText } from '../program/by-text.ts'
import { attributes, escaped, html, Markup } from './markup.ts'
import type { TextTables } from './texts.ts'
import { axisTimeFormat, timeFormat } from './time-format.ts'

/** The data that every page needs: the reader's locale and the nonce of its Content-Security-Policy. */
export type PageFrame = {
  /** A BCP 47 tag such as 'nl-BE'. Texts fall back to 'nl', then 'en'; dates use the whole tag. */
  readonly locale: string
  readonly nonce: string
  /** The document's title; by default the page's heading. */
  readonly title?: string
}

/** A solution's appearance, for pages that its users see. It replaces the platform's header. */
export type Brand = {
  readonly name: string
  /** An image as a data: URL. */
  readonly logo: string | null
  readonly logoText: string
  /** CSS that sets the colours of `styles/tokens.css`. */
  readonly styles: string
}

export type NavigationGroup = {
  /** The group's heading is the text `{texts}.group.{name}`. If null, the group has no heading. */
  readonly name: string | null
  readonly parts: readonly (readonly [name: string, href: string])[]
}

export type WorkbenchLinks = {
  /** Whether a page can create a draft. */
  readonly canCreate: boolean
  /**
   * The URL of a solution's workbench; null if the host has none.
   * @param at the file and line to open
   */
  to(solution: string, at?: { readonly file?: string; readonly line?: number }): string | null
}

/** The data that the layout needs for the admin pages and the pages of the control center. */
export type ServiceFrame = {
  /** The prefix of the service's text keys. */
  readonly texts: 'admin' | 'center'
  /** The prefix of the service's sign-in and sign-out URLs. */
  readonly root: '/admin' | ''
  readonly script: string
  /** The token that the page's script sends with each API request; null if no user is signed in. */
  readonly csrfToken: string | null
  /** Whether the user signed in to the admin pages with an API token. Such users have no account page. */
  readonly isOfToken?: boolean
  /** The current item of the navigation, or null. */
  readonly part: string | null
  /** The navigation; empty if the page has none. */
  readonly groups: readonly NavigationGroup[]
  /** The start page's URL. */
  readonly home: string
  /** The signed-in user, if the page shows them. */
  readonly person?: string | null
  /** The URL of the guide for the page; null if no docs are installed. */
  readonly guide: string | null
  readonly brand?: Brand | null
  /** Set only on the admin pages. */
  readonly workbench?: WorkbenchLinks
  /** The organisation that the page shows. */
  readonly organisation?: { readonly name: string; readonly title: string } | null
}

type More = { readonly service?: ServiceFrame; readonly goesOnTo?: string }

/**
 * Renders a page's template.
 * @param heading the page's heading, in the reader's language
 */
export type PageRenderer = (template: string, frame: PageFrame, heading: string, model: object, more?: More) => string

/**
 * Reads every template in these folders, so that requests never wait for the disk. A template's name is its path without
 * the extension. If two templates have the same name, the later folder's template is used.
 */
export function loadTemplates(folders: readonly URL[]): Eta {
  const templates = new Eta({ autoEscape: true, escapeFunction: escaped })
  for (const folder of folders) {
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.eta')) continue
      templates.loadTemplate(file.replace(/\.eta$/, ''), compiledOnDemand(readFileSync(new URL(file, folder), 'utf8')))
    }
  }
  return templates
}

/** Compiles the template when it is first rendered. Compiling all of them would make each start of a host slower. */
function compiledOnDemand(text: string): TemplateFunction {
  let compiled: TemplateFunction | null = null
  return function render(this: Eta, data, options) {
    compiled ??= this.compile(text)
    return compiled.call(this, data, options)
  }
}

/** The visual style for each state of a solution. */
const STATES: Readonly<Record<string, 'good' | 'bad' | 'quiet'>> = {
  active: 'good',
  quarantined: 'bad',
  inactive: 'quiet',
}

/** Maximum cached formats. Creating a format takes longer than rendering the rest of a page. */
const MOST_FORMATS = 100
/** Maximum number of characters to show of an untrusted name. */
const MOST_SHOWN = 120
const secondsFormat = cachedByText(
  MOST_FORMATS,
  (language) => new Intl.NumberFormat(language, { style: 'unit', unit: 'second', unitDisplay: 'long' }),
)
const minuteFormat = cachedByText(MOST_FORMATS, (locale) => timeFormat(known(locale)))
const secondFormat = cachedByText(MOST_FORMATS, (locale) => timeFormat(known(locale), 'second'))
const countFormat = cachedByText(
  MOST_FORMATS,
  (locale) => new Intl.NumberFormat(known(locale), { maximumFractionDigits: 1 }),
)
/** Returns the locale, or English if it is unsupported: browsers can send a language that doesn't exist. */
const known = (locale: string) => (Intl.DateTimeFormat.supportedLocalesOf(locale).length > 0 ? locale : 'en')

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB'] as const

/** Formats a size, such as '1.2 MB'; each unit is 1024 times the previous one. */
function bytesText(locale: string, count: number): string {
  const step = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10))
  return `${countFormat(locale).format(count / 1024 ** step)} ${BYTE_UNITS[step]}`
}

/** Formats a value with its unit, such as '1.2 MB', '20 ms' or '1,200'. */
function measuredText(locale: string, value: number, unit: 'count' | 'bytes' | 'ms'): string {
  if (unit === 'bytes') return bytesText(locale, value)
  const number = countFormat(locale).format(value)
  return unit === 'ms' ? `${number} ms` : number
}

/**
 * Creates a renderer for pages in the shared layout. The model is nested under `model`, so that its values cannot
 * override the layout's.
 *
 * @param folder its templates override shared ones of the same name
 */
export function createPageRenderer(templates: Eta, texts: TextTables, styles: string, folder = ''): PageRenderer {
  return (template, frame, heading, model, more = {}) => {
    const language = texts.language(frame.locale)
    const text = (key: string, ...values: readonly (string | number)[]) => texts.text(language, key, values)
    const partial = (name: string, data: object) => new Markup(templates.render(name, { ...shared, ...data }))
    const shared = {
      page: {
        language,
        nonce: frame.nonce,
        heading,
        title: frame.title ?? `${heading} · Solhost`,
        styles,
        locale: frame.locale,
        ...more,
      },
      model,
      text,
      hasText: (key: string) => texts.has(language, key),
      parts: (key: string, ...values: readonly (string | null)[]) => partsOf(text(key), values),
      shortened,
      seconds: (count: number) => secondsFormat(language).format(Math.max(1, Math.ceil(count))),
      initial: firstLetter,
      time: (at: number) => minuteFormat(frame.locale).format(at),
      exactTime: (at: number) => secondFormat(frame.locale).format(at),
      bytes: (count: number) => bytesText(frame.locale, count),
      count: (value: number) => countFormat(frame.locale).format(value),
      measured: (value: number, unit: 'count' | 'bytes' | 'ms') => measuredText(frame.locale, value, unit),
      axisTime: (times: readonly number[]) => {
        const format = axisTimeFormat(known(frame.locale), (times.at(-1) ?? 0) - (times[0] ?? 0))
        return (at: number) => format.format(at)
      },
      stateKind: (state: string) => (Object.hasOwn(STATES, state) ? STATES[state] : 'quiet'),
      stateName: (state: string) => (Object.hasOwn(STATES, state) ? text(`platform.admin.state.${state}`) : state),
      html,
      attributes,
      nothing: html`<span class="quiet" aria-hidden="true">–</span><span class="hidden">${text('platform.admin.none')}</span>`,
      partial,
      // A shared template's parameters are documented in its own file.
      table: (table: object) => partial('table', { table }),
      row: (row: object) => partial('row', { row }),
      field: (field: object) => partial('field', { field }),
      form: (form: object) => partial('form', { form }),
      card: (card: object) => partial('card', { card }),
      empty: (said: string | object) => partial('empty', { said }),
      plot: (plot: object) => partial('plot', { plot }),
      legendSample: (index: number) => partial('legend-sample', { index }),
      /** Shows the beginning of a value, with the full value as a tooltip. Returns null if there is no value. */
      code: (value: string | null | undefined, beginning = value) =>
        value == null ? null : html`<code title="${value}">${beginning}</code>`,
      badge: (kind: string, name: string) => html`<span class="state state-${kind}">${name}</span>`,
    }
    const own = `${folder}${template}`
    return templates.render(templates.templatesSync.get(own) === undefined ? template : own, shared)
  }
}

/** Splits a text at its placeholders, so that each value can be isolated from the text direction around it. */
function partsOf(text: string, values: readonly (string | null)[]): { text: string; value: string | null }[] {
  return text.split(/(\{\d+\})/).map((part) => {
    const value = /^\{\d+\}$/.test(part) ? values[Number(part.slice(1, -1))] : undefined
    return { text: part, value: value == null ? null : shortened(value) }
  })
}

function shortened(name: string): string {
  const characters = [...name.trim().slice(0, 2 * MOST_SHOWN + 2)]
  return characters.length > MOST_SHOWN ? `${characters.slice(0, MOST_SHOWN).join('')}…` : characters.join('')
}

function firstLetter(title: string): string {
  const [first] = new Intl.Segmenter().segment(title.trim())
  return first?.segment.toLocaleUpperCase() ?? '·'
}

/** Indents styles for a page's head. */
export function indent(styles: string): string {
  return styles.trimEnd().replace(/^(?=.)/gm, '    ')
}
