import { expect, test } from 'vitest'
import { attributes, escaped, html } from '../../../base/web/markup.ts'

const HOSTILE = `<b title="x" id='y'>&amp;`
const SHOWN = '&lt;b title=&quot;x&quot; id=&#39;y&#39;&gt;&amp;amp;'

test('markup: a value in a template is rendered as escaped text', () => {
  expect(escaped(HOSTILE)).toBe(SHOWN)
  expect(html`<p>${HOSTILE}</p>`.text).toBe(`<p>${SHOWN}</p>`)
  expect(attributes({ title: HOSTILE }).text).toBe(` title="${SHOWN}"`)
})

test('markup: nested markup is rendered unescaped, even in an array', () => {
  expect(html`<ul>${['<', 'b'].map((name) => html`<li>${name}</li>`)}</ul>`.text).toBe(
    '<ul><li>&lt;</li><li>b</li></ul>',
  )
})

test('markup: an object that only looks like markup is rendered as text', () => {
  expect(escaped({ text: '<b>', toString: () => '<i>' })).toBe('&lt;i&gt;')
})

test('markup: null and undefined render nothing; false and 0 are shown', () => {
  expect(html`${null}${undefined}${false}${0}`.text).toBe('false0')
})

test('markup: attributes set to true have no value; those set to false, null or undefined are omitted', () => {
  expect(
    attributes({ id: 'a', hidden: true, list: undefined, title: null, required: false, value: '', min: 0 }).text,
  ).toBe(' id="a" hidden value="" min="0"')
})

test('markup: backslashes are kept', () => {
  expect(html`<p>\\ ${'\\'}</p>`.text).toBe('<p>\\ \\</p>')
})
