import { expect, test } from 'vitest'
import { compileTemplate } from '../../../runtime/template/compile-template.ts'
import { MAX_PARTS, MAX_TEXT } from '../../../runtime/template/compiled-template.ts'
import { CompiledTemplateSchema } from '../../../runtime/template/template-schema.ts'

function accepts(template: unknown): boolean {
  return CompiledTemplateSchema.safeParse(template).success
}

test('CompiledTemplateSchema: the compiler’s output is valid, even after it was stored as JSON', () => {
  const { template } = compileTemplate(
    `<style></style><form name=login_form><input name=username value="%%a%%"><input name=password><a href="%%a%%"></a>
<select name=custom_a><option value="%%a%%"></select><textarea name=custom_b></textarea><input type=radio name=custom_c>
<script>'%%i18n:a%%'</script></form>`,
    'media/login.html',
  )
  expect(CompiledTemplateSchema.parse(JSON.parse(JSON.stringify(template)))).toEqual(template)
})

test('CompiledTemplateSchema: unknown parts, extra properties and other names are rejected', () => {
  const lookup = { from: 'json', name: 'a' }
  expect(accepts({ parts: [{ at: 'text', lookup }], selects: [] })).toBe(true)
  expect(accepts({ parts: [{ at: 'html', lookup }], selects: [] })).toBe(false)
  expect(accepts({ parts: [{ at: 'text', lookup, more: 1 }], selects: [] })).toBe(false)
  expect(accepts({ parts: [{ at: 'text', lookup: { from: 'json', name: 'a b' } }], selects: [] })).toBe(false)
  expect(accepts({ parts: [{ at: 'keptText', field: 'password', otherwise: [] }], selects: [] })).toBe(false)
  expect(accepts({ parts: [] })).toBe(false)
  expect(accepts(null)).toBe(false)
})

test('CompiledTemplateSchema: too many values and too much text are rejected, even if spread over many lists', () => {
  const lookup = { from: 'json', name: 'a' }
  expect(accepts({ parts: Array(MAX_PARTS + 1).fill({ at: 'nonce' }), selects: [] })).toBe(false)
  const address = { at: 'address', pieces: Array(MAX_PARTS / 2).fill(lookup), ownOrigin: false }
  expect(accepts({ parts: [address, address, address], selects: [] })).toBe(false)
  const text = 'x'.repeat(MAX_TEXT / 2)
  expect(accepts({ parts: [text, text], selects: [] })).toBe(true)
  expect(accepts({ parts: [text, text, 'x'], selects: [] })).toBe(false)
})
