import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FORM_EVENTS } from '../../../runtime/bundle/manifest.ts'
import { parseStrictJson } from '../../../runtime/bundle/strict-json.ts'
import { FORM_HANDLERS } from '../../../runtime/forms/form-definition.ts'
import { ELEMENT_TYPES, formJsonSchema, handlersOf, keysOf } from '../../../runtime/forms/form-schema.ts'
import { topLevelFunctions } from '../../../runtime/sandbox/top-level-names.ts'
import { checkedForm, formWith } from '../../support/forms.ts'

type Schema = { [key: string]: unknown; properties?: Record<string, Schema>; $defs?: Record<string, Schema> }

test('form: the JSON Schema has an $id, and a title and description for everything that an author writes', () => {
  const schema = formJsonSchema() as Schema
  expect([schema.$id, schema.$schema]).toEqual([
    'urn:solhost:schema:form.json',
    'https://json-schema.org/draft/2020-12/schema',
  ])
  expect([schema.additionalProperties, schema.required]).toEqual([false, undefined])
  const lacking: string[] = []
  let seen = 0
  const visit = (one: Schema, path: string) => {
    for (const [name, property] of Object.entries(one.properties ?? {})) {
      seen++
      const said = property.$ref === undefined ? property : (schema.$defs?.[String(property.$ref).slice(8)] as Schema)
      if (typeof said.title !== 'string' || typeof said.description !== 'string') lacking.push(`${path}.${name}`)
    }
    for (const [key, value] of Object.entries(one)) {
      if (typeof value === 'object' && value !== null) visit(value as Schema, `${path}.${key}`)
    }
  }
  visit(schema, '')
  expect(lacking).toEqual([])
  expect(seen).toBeGreaterThan(200)
})

test('form: the JSON Schema has every type of element, and rejects keys that the type does not have', () => {
  const { $defs } = formJsonSchema() as Schema
  const variants = $defs?.element?.oneOf as Schema[]
  expect(variants.map((one) => one.properties?.type?.const)).toEqual(ELEMENT_TYPES)
  for (const one of variants) {
    expect(Object.keys(one.properties ?? {})).toEqual(keysOf(one.properties?.type?.const as string))
    expect(one.additionalProperties).toBe(false)
    // Properties with a default may be omitted.
    for (const key of one.required as string[]) expect(one.properties?.[key]).not.toHaveProperty('default')
  }
})

test('form: the handlers in forms and elements match the events that the platform fires', () => {
  const all = new Set([...FORM_HANDLERS, ...ELEMENT_TYPES.flatMap(handlersOf)])
  expect([...all].sort()).toEqual([...FORM_EVENTS].sort())
})

// --- docs/forms.md -------------------------------------------------------------------------------------------------------

const GUIDE = readFileSync(new URL('../../../docs/forms.md', import.meta.url), 'utf8')
const blocks = [...GUIDE.matchAll(/```(json|js)\n([\s\S]*?)```/g)].map(([, language, text]) => ({
  language,
  text: text ?? '',
}))
const sectionOf = (type: string) => GUIDE.split(`\n### ${type}\n`)[1]?.split(/\n##/)[0] ?? ''

function read(text: string): Record<string, unknown> {
  const parsed = parseStrictJson(text)
  if ('error' in parsed) throw new Error(`${parsed.error.message} in ${text}`)
  return parsed.value as Record<string, unknown>
}

test('docs/forms.md: its first form and script are valid together', () => {
  const [form, script] = blocks
  const functions = new Set(topLevelFunctions(script?.text ?? '')?.names)
  expect([...functions]).toEqual(['onShow', 'checkMail', 'save'])
  const defaultTexts = new Set(['customer.title'])
  const checked = checkedForm(read(form?.text ?? ''), { functions, defaultTexts })
  expect(checked).toMatchObject({ faults: [], warnings: [], form: { onShow: 'onShow' } })
})

test.each(ELEMENT_TYPES)(
  'docs/forms.md: %s has a section with an example and all keys that only this type has',
  (type) => {
    const example = /```json\n([\s\S]*?)```/.exec(sectionOf(type))?.[1] ?? ''
    const element = read(example)
    expect(element.type).toBe(type)
    expect(checkedForm(formWith(element)).faults).toEqual([])
    const common = [...keysOf('label'), 'required', ...handlersOf('text')]
    // A section of the guide that begins with "This element works like `text`" doesn't repeat that type's keys.
    const like = /^\n?This element works like `(\w+)`/.exec(sectionOf(type))?.[1] ?? type
    const said = `${sectionOf(type)}${sectionOf(like)}`
    const own = keysOf(type).filter((key) => !common.includes(key) && !said.includes(key))
    // The guide describes the key `value` only once, for all types of inputs.
    expect(own.filter((key) => key !== 'value')).toEqual([])
  },
)

test('docs/forms.md: there is no section for an unknown type, and "every element" lists every common key', () => {
  const elements = GUIDE.split('\n## Elements\n')[1]?.split('\n## ')[0] ?? ''
  const titles = [...elements.matchAll(/\n### (\w+)\n/g)].map(([, title]) => title as string)
  expect(titles.sort()).toEqual([...ELEMENT_TYPES].sort())
  const common = GUIDE.split('\n## Keys of every element\n')[1]?.split('\n## ')[0] ?? ''
  const rows = [...common.matchAll(/^\| `(\w+)`/gm)].map(([, key]) => key)
  expect(rows).toEqual(keysOf('label'))
})

test('docs/forms.md: the table of handlers says which types have which handlers', () => {
  const table = GUIDE.split('\n## Handlers\n')[1]?.split('\n## ')[0] ?? ''
  const rows = [...table.matchAll(/^\| `(\w+)` \| ([^|]+) \|/gm)].map(([, handler, of]) => [handler, of?.trim()])
  const owners = (event: string) => {
    if ((FORM_HANDLERS as readonly string[]).includes(event)) return 'form'
    return ELEMENT_TYPES.filter((type) => handlersOf(type).includes(event))
  }
  expect(rows.length).toBe(FORM_EVENTS.length)
  for (const [handler, of] of rows) {
    const expected = owners(handler as string)
    expect([handler, [...(of as string).split(', ')].sort()]).toEqual([handler, [expected].flat().sort()])
  }
})
