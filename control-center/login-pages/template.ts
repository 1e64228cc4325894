import { createHash } from 'node:crypto'
import type { LoginPageAnswer } from '../../base/protocol/protocol.ts'
import { defaultLoginTemplate, SHARED_PAGES } from '../../base/web/pages.ts'
import { loadTemplates } from '../../base/web/render-page.ts'
import { PLATFORM_LOCALES } from '../../base/web/texts.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { compileTemplate } from '../../runtime/template/compile-template.ts'
import type { CompiledTemplate } from '../../runtime/template/compiled-template.ts'
import { CENTER_TEXTS } from '../web/render.ts'
import { isDark, mixed, quietest, readableOn } from './contrast.ts'
import { type Design, type Palette, TEXT_LOCALES, type TextLocale, type TextName } from './design.ts'

/*
 * Converts a design into a login template. The design's texts become i18n keys. The host that shows the page escapes
 * them as plain text, exactly once. The markup itself contains only the design's colours, names and image. The schema
 * `Design` allows no characters in them that have a special meaning in HTML or CSS.
 */

const templates = loadTemplates([SHARED_PAGES, new URL('template/', import.meta.url)])

/** The style and script that designed pages share with the platform's own page. */
const PLATFORM_STYLES = partOf('style')
const PLATFORM_SCRIPT = partOf('script')

/** The i18n key of each text. If the design lacks a text, the platform's own text with the same key is used. */
const KEYS: Readonly<Record<TextName, string>> = {
  title: 'platform.logindialog.title',
  username: 'platform.logindialog.label.name',
  password: 'platform.logindialog.password',
  remember: 'platform.logindialog.remember',
  submit: 'platform.logindialog.submit',
  failed: 'platform.logindialog.failed',
  intro: 'cloud.login.intro',
  help: 'cloud.login.help',
  forgot: 'cloud.login.forgot',
  logo: 'cloud.login.logo',
}

/** Texts without a default. They are left out if the design doesn't contain them. */
const OWN: readonly TextName[] = ['intro', 'help', 'logo']

/** Maximum characters in a template. The protocol with Satellites has the same limit. */
const LONGEST_TEMPLATE = 256 * 1024

type Texts = Readonly<Record<string, Readonly<Record<string, string>>>>

/** @param forgot URL of the page for requesting a new password; null if no emails are sent */
export function renderDesign(design: Design, forgot: string | null): LoginPageAnswer {
  const has = (name: TextName) => TEXT_LOCALES.some((locale) => textOf(design, locale, name) !== undefined)
  const template = templates.render('login-page', {
    styles: `${PLATFORM_STYLES}\n${stylesOf(design)}`,
    script: PLATFORM_SCRIPT,
    logo: design.logo,
    hasLogoText: has('logo'),
    hasIntro: has('intro'),
    hasHelp: has('help'),
    fields: design.fields,
    forgot,
  })
  return { template, texts: textsOf(design) }
}

/** The serialised response to a Satellite, and its ETag. */
export function renderForSatellite(design: Design, forgot: string | null): { body: string; etag: string } {
  const body = JSON.stringify(renderDesign(design, forgot))
  return { body, etag: createHash('sha256').update(body).digest('base64url') }
}

/**
 * Compiles a design for the preview, or to check it before it is stored.
 * @throws ERR_REQUEST_INVALID if the template would be too long
 */
export function compileDesign(design: Design, forgot: string | null): { template: CompiledTemplate; texts: Texts } {
  const { template: source, texts } = renderDesign(design, forgot)
  if (source.length > LONGEST_TEMPLATE) {
    throw new PlatformError(
      'ERR_REQUEST_INVALID',
      `The page has ${source.length} characters; at most ${LONGEST_TEMPLATE} are allowed. Use a smaller logo or fewer fields.`,
    )
  }
  const { template, warnings } = compileTemplate(source, 'login.html')
  if (template !== null && warnings.length === 0) return { template, texts }
  throw new TypeError(`a designed login page violates the template rules: ${JSON.stringify(warnings)}`)
}

/** CSS that applies a design's colours to the platform's pages. */
export function paletteStyles({ colours: { light, dark } }: Pick<Design, 'colours'>): string {
  return `:root { ${variablesOf(light)} }
@media (prefers-color-scheme: dark) { :root { ${variablesOf(dark ?? light)} } }`
}

function stylesOf(design: Design): string {
  return `${paletteStyles(design)}
.logo { display: block; max-width: 100%; max-height: 6rem; margin: 0 0 1.25rem; }
.intro, .help { white-space: pre-line; }
.after { margin: 1rem 0 0; }
.help { color: var(--quiet); font-size: 0.9375rem; }
.field select { display: block; width: 100%; min-height: 2.75rem; padding: 0.5rem 0.75rem; border: 1px solid var(--edge); border-radius: 10px; background: var(--surface); color: var(--ink); font: inherit; }`
}

/**
 * Returns the CSS variables for a palette. All other colours are derived from its three colours, with the contrast that
 * WCAG AA requires.
 */
function variablesOf({ background, text, accent }: Palette): string {
  const onAccent = readableOn(accent)
  const values = {
    'color-scheme': isDark(background) ? 'dark' : 'light',
    '--paper': background,
    '--surface': background,
    '--ink': text,
    '--quiet': quietest(background, text, 4.5),
    '--tint': mixed(background, text, 0.08),
    '--line': mixed(background, text, 0.2),
    '--edge': quietest(background, text, 3),
    '--accent': accent,
    '--accent-deep': mixed(accent, onAccent === '#ffffff' ? '#000000' : '#ffffff', 0.2),
    '--on-accent': onAccent,
  }
  return Object.entries(values)
    .map(([name, value]) => `${name}: ${value};`)
    .join(' ')
}

function textOf({ texts }: Design, locale: TextLocale, name: TextName): string | undefined {
  const text = texts[locale]?.[name]
  return text === undefined || text.trim() === '' ? undefined : text
}

/**
 * Builds the text tables. The table `default` contains every key that the template uses and that the platform's own
 * texts lack.
 */
function textsOf(design: Design): Texts {
  const tables = TEXT_LOCALES.map((locale) => [locale, new Map<string, string>()] as const)
  for (const [locale, table] of tables) {
    for (const [name, key] of Object.entries(KEYS) as [TextName, string][]) {
      const text = textOf(design, locale, name) ?? fallback(design, locale, name)
      if (text !== undefined) table.set(key, text)
    }
    for (const { name, labels, options } of design.fields) {
      put(table, `cloud.login.field.${name}`, labels[locale])
      for (const option of options) put(table, `cloud.login.field.${name}.${option.value}`, option.labels[locale])
    }
  }
  return Object.fromEntries(
    tables.filter(([, table]) => table.size > 0).map(([locale, table]) => [locale, Object.fromEntries(table)]),
  )
}

function fallback(design: Design, locale: TextLocale, name: TextName): string | undefined {
  if (name === 'forgot') {
    // In each language, the designer's default text takes precedence over the platform's text.
    const forAll = textOf(design, 'default', name)
    if (locale !== 'default')
      return forAll === undefined ? CENTER_TEXTS.text(locale, 'loginpage.forgot.link') : undefined
    return CENTER_TEXTS.text(PLATFORM_LOCALES[0], 'loginpage.forgot.link')
  }
  if (!OWN.includes(name) || locale !== 'default') return undefined
  return TEXT_LOCALES.map((one) => textOf(design, one, name)).find((text) => text !== undefined)
}

function put(table: Map<string, string>, key: string, text: string | undefined): void {
  if (text !== undefined && text.trim() !== '') table.set(key, text)
}

function partOf(element: 'style' | 'script'): string {
  const [, part] = new RegExp(`<${element}>(.*?)</${element}>`, 's').exec(defaultLoginTemplate()) ?? []
  if (part === undefined) throw new TypeError(`the default login page has no <${element}>`)
  return part
}
