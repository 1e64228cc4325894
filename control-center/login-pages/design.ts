import { PLATFORM_LOCALES } from '../../base/web/texts.ts'
import { z } from '../../runtime/zod.ts'
import { contrastOf } from './contrast.ts'

/**
 * Maximum size of a logo, in bytes. Chosen here: 160,000. The template contains the logo as base64, which needs four
 * characters for three bytes, and a whole template is limited to 256 kB.
 */
export const LARGEST_LOGO = 160_000
/** The minimum contrast in WCAG 2.2, 1.4.3 (AA), for text of any size. */
const LEAST_CONTRAST = 4.5

/** The keys of the text tables: one per language, and `default` for all languages without their own text. */
export const TEXT_LOCALES = ['default', ...PLATFORM_LOCALES] as const
export type TextLocale = (typeof TEXT_LOCALES)[number]

/** The texts on the page, and their maximum lengths in characters. */
export const TEXT_LENGTHS = {
  title: 200,
  intro: 2000,
  username: 100,
  password: 100,
  remember: 200,
  submit: 100,
  failed: 1000,
  forgot: 200,
  help: 2000,
  logo: 200,
} as const
export type TextName = keyof typeof TEXT_LENGTHS
export const TEXT_NAMES = Object.keys(TEXT_LENGTHS) as readonly TextName[]

const Colour = z.string().regex(/^#[0-9a-f]{6}$/i, 'must be a colour such as #0b5a73')
const Palette = z.strictObject({ background: Colour, text: Colour, accent: Colour })
export type Palette = z.infer<typeof Palette>

const LocaleTexts = z
  .strictObject(
    Object.fromEntries(TEXT_NAMES.map((name) => [name, z.string().max(TEXT_LENGTHS[name])])) as Record<
      TextName,
      z.ZodString
    >,
  )
  .partial()

const Labels = z
  .strictObject(
    Object.fromEntries(TEXT_LOCALES.map((locale) => [locale, z.string().max(200)])) as Record<TextLocale, z.ZodString>,
  )
  .partial()
  .refine((labels) => (labels.default ?? '').trim() !== '', 'must have a text for "default"')

const Field = z.strictObject({
  name: z
    .string()
    .regex(/^custom_[a-z0-9_]{1,40}$/, 'must be custom_ followed by 1 to 40 lowercase letters, digits and underscores'),
  type: z.enum(['text', 'select']),
  required: z.boolean().default(false),
  isTenant: z.boolean().default(false).describe('whether the entered value must be one of the user’s tenant values'),
  labels: Labels,
  options: z
    .array(
      z.strictObject({
        value: z
          .string()
          .regex(/^[A-Za-z0-9_.-]{1,50}$/, 'must be 1 to 50 letters, digits, dots, hyphens or underscores'),
        labels: Labels,
      }),
    )
    .max(30)
    .default([])
    .describe('the choices, if the type is "select"'),
})

const Logo = z
  .string()
  .max(250_000)
  .superRefine((text, { addIssue }) => {
    const fault = logoFault(text)
    if (fault !== null) addIssue(fault)
  })

/** The appearance and texts of a login page. The markup and CSS are in template.ts. */
export const Design = z
  .strictObject({
    logo: Logo.nullable().default(null).describe('a PNG, JPEG or WebP image as a data: URL'),
    colours: z.strictObject({
      light: Palette,
      dark: Palette.nullable().describe('the colours in dark mode; null to always use the light colours'),
    }),
    texts: z
      .strictObject(
        Object.fromEntries(TEXT_LOCALES.map((locale) => [locale, LocaleTexts])) as Record<
          TextLocale,
          typeof LocaleTexts
        >,
      )
      .partial()
      .default({}),
    fields: z.array(Field).max(10).default([]),
  })
  .superRefine(({ colours, fields }, { addIssue }) => {
    for (const scheme of ['light', 'dark'] as const) {
      for (const colour of ['text', 'accent'] as const) {
        const palette = colours[scheme]
        if (palette === null) continue
        const ratio = contrastOf(palette[colour], palette.background)
        if (ratio >= LEAST_CONTRAST) continue
        const path = ['colours', scheme, colour]
        // Round down, because a ratio of 4.4999 must not count as 4.5.
        const shown = (Math.floor(ratio * 100) / 100).toFixed(2)
        const message = `has a contrast ratio of ${shown} against the background; at least ${LEAST_CONTRAST} is required (WCAG AA)`
        addIssue({ code: 'custom', path, message })
      }
    }
    fields.forEach(({ name, type, options }, at) => {
      const path = ['fields', at]
      const isTwice = fields.findIndex((one) => one.name === name) !== at
      if (isTwice)
        addIssue({
          code: 'custom',
          path: [...path, 'name'],
          message: `must be different for each field, but "${name}" is used twice`,
        })
      if ((type === 'select') !== options.length > 0) {
        const message =
          'must contain at least one option if the type is "select", and must be empty if the type is "text"'
        addIssue({ code: 'custom', path: [...path, 'options'], message })
      }
      if (new Set(options.map(({ value }) => value)).size < options.length) {
        addIssue({ code: 'custom', path: [...path, 'options'], message: 'must not contain the same value twice' })
      }
    })
  })
  .meta({ id: 'LoginPageDesign' })
export type Design = z.infer<typeof Design>

/** The default design, which looks like the platform's own page. */
export const FIRST_DESIGN: Design = {
  logo: null,
  colours: {
    light: { background: '#ffffff', text: '#13222b', accent: '#0b5a73' },
    dark: { background: '#162026', text: '#e8eef1', accent: '#86cfe6' },
  },
  texts: {},
  fields: [],
}

/** The first bytes of each allowed image format. SVG is excluded, since it can contain scripts. */
const STARTS: Readonly<Record<string, (bytes: Buffer) => boolean>> = {
  png: (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')),
  jpeg: (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')),
  webp: (bytes) => bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
}

function logoFault(text: string): string | null {
  const [, type = '', data = ''] = /^data:image\/(png|jpeg|webp);base64,([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? []
  const bytes = Buffer.from(data, 'base64')
  const isImage = STARTS[type]?.(bytes) === true
  if (!isImage) return 'must be a base64 data: URL of a PNG, JPEG or WebP image (SVG can contain scripts)'
  if (bytes.length <= LARGEST_LOGO) return null
  return `is ${bytes.length} bytes; the maximum is ${LARGEST_LOGO}`
}
