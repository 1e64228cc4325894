import { readdirSync, readFileSync } from 'node:fs'
import { Eta } from 'eta/core'
import { attributes, escaped, html, Markup } from './markup.ts'
import type { TextTables } from './texts.ts'
import { timeFormat } from './time-format.ts'

/** What every page needs: whom it speaks to and the nonce of its Content-Security-Policy. */
export type PageFrame = {
  /** A BCP 47 tag such as 'nl-BE'. Texts fall back to 'nl', then 'en'; dates follow the whole tag. */
  readonly locale: string
  readonly nonce: string
  /** The document's title; by default the page's heading. */
  readonly title?: string
}

/** What the layout needs to know of a page that belongs to a service: the administration or the control center. */
export type ServiceFrame = {
  /** What the keys of its texts begin with. */
  readonly texts: 'admin' | 'center'
  /** What the addresses of its sign-in and sign-out begin with. */
  readonly root: '/admin' | ''
  /** The address of the page's script. */
  readonly script: string
  /** What the page's script sends along with requests to the API; null where nobody is signed in. */
  readonly csrfToken: string | null
  /** The part of the navigation that the page belongs to; null: none. */
  readonly part: string | null
  /** Names and addresses of the navigation; empty: none. */
  readonly parts: readonly (readonly [name: string, href: string])[]
  /** Who is signed in, where that is shown. */
  readonly person?: string | null
  /** The organisation that the page is about. */
  readonly organisation?: { readonly name: string; readonly title: string } | null
}

/** What else the layout needs. */
type More = { readonly service?: ServiceFrame; readonly goesOnTo?: string }

/**
 * Renders one template.
 * @param heading in the reader's language
 */
export type PageRenderer = (template: string, frame: PageFrame, heading: string, model: object, more?: More) => string

/**
 * Every template below these folders by its path without ending, compiled once: nothing is read from disk while a request
 * waits. Of two of one name the later folder's counts.
 */
export function loadTemplates(folders: readonly URL[]): Eta {
  const templates = new Eta({ autoEscape: true, escapeFunction: escaped })
  for (const folder of folders) {
    for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.eta')) continue
      templates.loadTemplate(file.replace(/\.eta$/, ''), readFileSync(new URL(file, folder), 'utf8'))
    }
  }
  return templates
}

/** States of a solution and how they look. */
const STATES: Readonly<Record<string, 'good' | 'bad' | 'quiet'>> = {
  active: 'good',
  quarantined: 'bad',
  inactive: 'quiet',
}

const MOST_FORMATS = 100
/** Characters of a name from outside that a page shows. */
const MOST_SHOWN = 120
const secondsFormat = keptByLocale(
  (language) => new Intl.NumberFormat(language, { style: 'unit', unit: 'second', unitDisplay: 'long' }),
)
const minuteFormat = keptByLocale((locale) => timeFormat(known(locale)))
const secondFormat = keptByLocale((locale) => timeFormat(known(locale), 'second'))
const countFormat = keptByLocale((locale) => new Intl.NumberFormat(known(locale), { maximumFractionDigits: 1 }))
/** What browsers send as a language may be none. */
const known = (locale: string) => (Intl.DateTimeFormat.supportedLocalesOf(locale).length > 0 ? locale : 'en')

const BYTE_UNITS = ['B', 'KB', 'MB', 'GB'] as const

/** Such as '1.2 MB'; a unit is 1024 of the one before. */
function bytesText(locale: string, count: number): string {
  const step = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10))
  return `${countFormat(locale).format(count / 1024 ** step)} ${BYTE_UNITS[step]}`
}

/**
 * Makes what renders pages in the shared layout. The model stays below a key of its own, so that no value can take the
 * place of the layout's.
 *
 * @param folder whose templates count before those of the same name that are shared
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
      stateKind: (state: string) => (Object.hasOwn(STATES, state) ? STATES[state] : 'quiet'),
      stateName: (state: string) => (Object.hasOwn(STATES, state) ? text(`platform.admin.state.${state}`) : state),
      html,
      attributes,
      nothing: html`<span class="quiet" aria-hidden="true">–</span><span class="hidden">${text('platform.admin.none')}</span>`,
      partial,
      // What each takes is said in its template.
      table: (table: object) => partial('table', { table }),
      row: (row: object) => partial('row', { row }),
      field: (field: object) => partial('field', { field }),
      form: (form: object) => partial('form', { form }),
      card: (card: object) => partial('card', { card }),
      empty: (said: string) => partial('empty', { said }),
      /** A value by its beginning, all of it when it is pointed at; null: none. */
      code: (value: string | null | undefined, beginning = value) =>
        value == null ? null : html`<code title="${value}">${beginning}</code>`,
      badge: (kind: string, name: string) => html`<span class="state state-${kind}">${name}</span>`,
    }
    const own = `${folder}${template}`
    return templates.render(templates.templatesSync.get(own) === undefined ? template : own, shared)
  }
}

/** A text taken apart at its placeholders, so that a value's direction of writing leaves the rest alone. */
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

/**
 * Formats that are made anew cost more than the rest of a page. Locales come from scripts and browsers, so only some are
 * kept.
 */
function keptByLocale<T>(make: (locale: string) => T): (locale: string) => T {
  const made = new Map<string, T>()
  return (locale) => {
    const known = made.get(locale)
    if (known !== undefined) return known
    if (made.size >= MOST_FORMATS) made.clear()
    const one = make(locale)
    made.set(locale, one)
    return one
  }
}

function firstLetter(title: string): string {
  const [first] = new Intl.Segmenter().segment(title.trim())
  return first?.segment.toLocaleUpperCase() ?? '·'
}

/** Styles as they stand in a page's head. */
export function indent(styles: string): string {
  return styles.trimEnd().replace(/^(?=.)/gm, '    ')
}
