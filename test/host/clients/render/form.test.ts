import { parseFragment } from 'parse5'
import { describe, expect, test } from 'vitest'
import { createMessages } from '../../../../base/bundles/messages.ts'
import type { RenderContext } from '../../../../host/clients/render/context.ts'
import { renderElement, renderForm } from '../../../../host/clients/render/form.ts'
import { isEnabled, isShown, outlineOf, type Place } from '../../../../host/clients/render/outline.ts'
import type { ElementState, FormView } from '../../../../host/clients/view.ts'
import { type ElementDefinition, elementsOf, type FormDefinition } from '../../../../runtime/forms/form-definition.ts'
import { FormSchema } from '../../../../runtime/forms/form-schema.ts'
import { EVERY_ELEMENT, ORDERS, SAMPLE_FORM } from '../../../support/sample-form.ts'

const EMPTY_VIEW: FormView = { elements: new Map() }

const texts = { default: { 'orders.title': 'Orders', 'orders.name': 'Name' }, nl: { 'orders.title': 'Bestellingen' } }
const context: RenderContext = {
  form: 'order',
  locale: 'en',
  messages: createMessages(texts, 'en'),
  permissions: new Set(['Users']),
  isTesting: false,
  mediaBase: '/solution/orders/media/',
}
const shown = { visible: true, enabled: true }

const formOf = (...elements: ElementDefinition[]): FormDefinition => ({ layout: [{ columns: [{ elements }] }] })
const viewOf = (states: Readonly<Record<string, ElementState>>): FormView => ({
  elements: new Map(Object.entries(states)),
})
const sample = (name: string) => EVERY_ELEMENT.find((one) => one.name === name) as ElementDefinition

/** The HTML of one element, in a form that has only this element. */
function rendered(element: ElementDefinition, state: ElementState = {}, other: Partial<RenderContext> = {}): string {
  const one = renderElement(formOf(element), viewOf({ [element.name]: state }), { ...context, ...other }, element.name)
  return one?.html ?? ''
}

describe('elements', () => {
  test.each<[string, string]>([
    [
      'intro',
      'id="e-order-intro" aria-live="polite"><p class="text"><bdi>Fields with a star must be filled in.</bdi></p>',
    ],
    ['customerHeading', '<h2 id="e-order-customerHeading.label"><bdi>Customer</bdi></h2>'],
    [
      'customer',
      '<label for="e-order-customer.input"><bdi>Name</bdi><span class="required" aria-hidden="true"> *</span></label><input type="text" id="e-order-customer.input" required data-element="customer" data-events="onElementFocusGained onElementFocusLost" aria-describedby="e-order-customer.hint" maxlength="1000" autocomplete="off" value="Acme" dir="auto"><p class="hint" id="e-order-customer.hint"><bdi>As on the invoice.</bdi></p>',
    ],
    [
      'mail',
      '<input type="email" id="e-order-mail.input" data-element="mail" maxlength="1000" autocomplete="off" placeholder="name@example.org" value="" dir="auto">',
    ],
    ['pin', '<input type="password" id="e-order-pin.input" data-element="pin" maxlength="100" autocomplete="off">'],
    ['notes', 'rows="3" dir="auto">\nDeliver at the back door.</textarea>'],
    [
      'amount',
      '<span class="unit" id="e-order-amount.unit">€</span><div class="grouped" data-locale="en" data-decimals="2"><input type="number" inputmode="decimal" id="e-order-amount.input" data-element="amount" aria-describedby="e-order-amount.unit" min="0" max="99999" step="0.01" value="12.50"><span class="cover" aria-hidden="true">12.50</span></div>',
    ],
    ['due', '<input type="date" id="e-order-due.input" data-element="due" value="2026-05-17">'],
    [
      'express',
      '<input type="checkbox" id="e-order-express.input" data-element="express"><label for="e-order-express.input"><bdi>Express delivery</bdi></label>',
    ],
    ['country', '<option value="">Choose…</option><option value="be" selected>Belgium</option>'.replace('Choose…', '')],
    [
      'priority',
      '<input type="radio" id="e-order-priority.option.1" name="e-order-priority" value="2" data-element="priority" checked>',
    ],
    [
      'save',
      '<button class="button primary" type="submit" id="e-order-save.input" data-element="save" data-events="onAction" data-press><bdi>Save</bdi></button>',
    ],
    ['remove', '<button class="button danger" type="button"'],
    [
      'manual',
      '<a href="https://example.org/manual" target="_blank" rel="noopener noreferrer" id="e-order-manual.input"><bdi>Manual</bdi> <span class="hidden">(opens in a new window)</span>',
    ],
    ['more', '<button class="link" type="button" id="e-order-more.input"'],
    [
      'logo',
      '<figure><img src="/solution/orders/media/logo.png" alt="A blue square"><figcaption><bdi>Our logo</bdi></figcaption></figure>',
    ],
    [
      'orders',
      '<td role="cell" data-label="Total" class="number"><bdi>€1,234.50</bdi></td><td role="cell" data-label="Paid"><bdi>Yes</bdi></td>',
    ],
  ])('%s', (name, part) => {
    expect(rendered(sample(name))).toContain(part)
  })

  test('the sample form is valid and has every type of element', () => {
    expect(FormSchema.safeParse(SAMPLE_FORM).error).toBe(undefined)
    const types = new Set([...elementsOf(SAMPLE_FORM.layout)].map(({ type }) => type))
    expect(types.size).toBe(17)
  })

  test('an error is announced with its input and labelled as an error', () => {
    const html = rendered(sample('customer'), { error: 'i18n:orders.name' })
    expect(html).toContain('aria-describedby="e-order-customer.hint e-order-customer.error" aria-invalid="true"')
    expect(html).toContain(
      '<p class="fault" id="e-order-customer.error" aria-live="polite"><span class="hidden">Error: </span><bdi>Name</bdi></p>',
    )
  })

  test('a password that the host has is not in the page; the page only shows that there is one', () => {
    const html = rendered(sample('pin'), { value: 'correct horse' })
    expect(html).not.toContain('horse')
    expect(html).toContain(' data-kept')
  })

  test('a text area keeps a leading line break', () => {
    expect(rendered(sample('notes'), { value: '\nx' })).toContain('dir="auto">\n\nx</textarea>')
  })

  test('an element is disabled if it or the panel around it is not enabled', () => {
    expect(rendered(sample('customer'), { enabled: false })).toContain(' disabled')
    const panel: ElementDefinition = {
      ...shown,
      enabled: false,
      type: 'panel',
      name: 'around',
      layout: formOf(sample('save')).layout,
    }
    expect(renderElement(formOf(panel), EMPTY_VIEW, context, 'save')?.html).toContain(' disabled')
    expect(isEnabled(outlineOf(formOf(panel)).get('save') as Place, EMPTY_VIEW)).toBe(false)
  })

  test('numbers, dates and texts use the user’s language; inputs use machine-readable values', () => {
    const german = { locale: 'de', messages: createMessages(texts, 'de') }
    expect(rendered(sample('orders'), {}, german)).toContain('<bdi>1.234,50\u00a0€</bdi>')
    expect(rendered(sample('orders'), {}, german)).toContain('<bdi>10.01.2026</bdi>')
    expect(rendered(sample('orders'), {}, german)).toContain('<bdi>Nein</bdi>')
    expect(rendered(sample('amount'), { value: 1234.5 }, german)).toContain('value="1234.50"')
    expect(rendered(sample('amount'), { value: 1234.567 }, german)).toContain('value="1234.567"')
    expect(rendered(sample('amount'), {}, { locale: 'no such locale' })).toContain('€')
  })

  test('testing mode adds data-cy to every element; without it, the attribute is absent', () => {
    const html =
      renderForm(SAMPLE_FORM, EMPTY_VIEW, { ...context, isTesting: true, permissions: new Set(['Managers']) })?.html ??
      ''
    for (const { name } of elementsOf(SAMPLE_FORM.layout)) expect(html).toContain(`data-cy="order.${name}"`)
    expect(renderForm(SAMPLE_FORM, EMPTY_VIEW, context)?.html).not.toContain('data-cy')
  })

  test('every id that an attribute refers to is in the form, and ids are unique', () => {
    const html = renderForm(SAMPLE_FORM, viewOf({ customer: { error: 'Wrong' } }), context)?.html ?? ''
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const named = [...html.matchAll(/ (?:for|aria-describedby|aria-labelledby|aria-controls)="([^"]+)"/g)].flatMap(
      ([, list]) => list?.split(' '),
    )
    expect(named.filter((id) => !ids.includes(id))).toEqual([])
    expect(named.length).toBeGreaterThan(15)
  })
})

describe('tables', () => {
  const orders = sample('orders')
  const firstCells = (html: string) => [...html.matchAll(/data-open[^>]*><bdi>([^<]*)/g)].map(([, text]) => text)
  const ids = (html: string) => [...html.matchAll(/data-row="([^"]*)"/g)].map(([, id]) => id)

  test('a page has as many rows as defined, and shows the range', () => {
    const html = rendered(orders, { page: 3 })
    expect(ids(html)).toEqual(['41', '42', '43', '44', '45'])
    expect(html).toContain('<p class="range">41 to 45 of 45</p>')
    expect(html).toContain('<p class="current" aria-live="polite">Page 3 of 3</p>')
  })

  test.each([[0], [-4], [99], [Number.NaN], [Number.POSITIVE_INFINITY]])(
    'page number %d shows a page that exists',
    (page) => {
      expect([1, 21, 41]).toContain(Number(ids(rendered(orders, { page }))[0]))
    },
  )

  test('rows are sorted by the rules of the user’s language, with empty cells last in both directions', () => {
    const rows = [
      { id: 'a', customer: 'Zoe' },
      { id: 'b', customer: null },
      { id: 'c', customer: 'Álamo' },
      { id: 'd', customer: 'item 10' },
      { id: 'e', customer: 'item 9' },
    ]
    const sorted = (direction: 'ascending' | 'descending') =>
      ids(rendered(orders, { rows, sort: { column: 'customer', direction } }))
    expect(sorted('ascending')).toEqual(['c', 'e', 'd', 'a', 'b'].map((id) => `&quot;${id}&quot;`))
    expect(sorted('descending')).toEqual(['a', 'd', 'e', 'c', 'b'].map((id) => `&quot;${id}&quot;`))
  })

  test('the header shows the sort order, except in a column that is not sortable', () => {
    expect(rendered(orders, { sort: { column: 'total', direction: 'descending' } })).toContain('aria-sort="descending"')
    expect(rendered(orders, { sort: { column: 'paid', direction: 'descending' } })).not.toContain(
      'aria-sort="descending"',
    )
    expect(rendered(orders, { sort: { column: '__proto__', direction: 'ascending' } })).not.toContain(
      'aria-sort="ascending"',
    )
  })

  test('a cell named like an inherited property is empty', () => {
    const column = { name: 'constructor', type: 'text', sortable: true } as const
    const html = rendered({ ...orders, columns: [column] } as ElementDefinition, { rows: [{ id: 1 }] })
    expect(html).not.toContain('native code')
  })

  test('a table without rows shows a message', () => {
    expect(rendered(orders, { rows: [] })).toContain('<td role="cell" colspan="5">Nothing to show</td>')
  })

  test('rows have a button only if the form or a script handles onAction', () => {
    const { onAction: _, ...silent } = orders as Extract<ElementDefinition, { type: 'table' }>
    expect(firstCells(rendered(orders))).toHaveLength(20)
    expect(firstCells(rendered(silent as ElementDefinition))).toEqual([])
    expect(
      firstCells(rendered(silent as ElementDefinition, {}, { listenedEvents: new Set(['onAction']) })),
    ).toHaveLength(20)
  })

  test('a table has a caption, headers with scope, and controls labelled with their row', () => {
    const html = rendered(orders, { selected: [2] })
    expect(html).toContain('<caption id="e-order-orders.caption"><bdi>Orders</bdi></caption>')
    expect(html.match(/<th role="columnheader" scope="col"/g)).toHaveLength(5)
    expect(html).toContain(
      'id="e-order-orders.row.2.select" data-select data-element="orders" checked aria-label="Select Börsig &amp; Söhne"',
    )
  })
})

describe('a number', () => {
  const { currency: _, ...plain } = sample('amount') as Extract<ElementDefinition, { type: 'number' }>
  const covers = (element: ElementDefinition, value: number, locale = 'en') =>
    /class="cover"[^>]*>([^<]*)/.exec(rendered(element, { value }, { locale }))?.[1]

  test('a number with a currency is shown with grouped digits in the user’s language; the input contains the plain value', () => {
    expect(covers(sample('amount'), 1234.5)).toBe('1,234.50')
    expect(covers(sample('amount'), 1234.5, 'nl')).toBe('1.234,50')
    expect(rendered(sample('amount'), { value: 1234.5 })).toContain('value="1234.50"')
  })

  test('a number without a currency, such as a year, is shown without groups unless the form turns on grouping', () => {
    expect(covers(plain, 2026)).toBeUndefined()
    expect(covers({ ...plain, grouping: true }, 2026)).toBe('2,026.00')
    expect(covers({ ...(sample('amount') as typeof plain), grouping: false }, 2026)).toBeUndefined()
  })
})

describe('badges and lines in a table', () => {
  const table = sample('orders') as Extract<ElementDefinition, { type: 'table' }>
  const badges = [
    { value: 'late', label: 'i18n:orders.name', tone: 'warning' },
    { value: '<b>', label: '<i>', tone: 'neutral' },
  ] as const
  const column = { name: 'status', type: 'text', sortable: true, badges, line: 2 } as const
  const rows = [
    { id: 1, status: 'other' },
    { id: 2, status: '<b>' },
    { id: 3, status: 'late' },
    { id: 4, status: null },
  ]
  const of = (sort: ElementState['sort'] = null) => rendered({ ...table, columns: [column] }, { rows, sort })

  test('a value with a badge is shown as its label in the user’s language, as text; other values are shown unchanged', () => {
    const cells = [...of().matchAll(/<td role="cell" data-label="status"[^>]*>(.*?)<\/td>/g)].map(([, cell]) => cell)
    expect(cells[0]).toContain('<bdi>other</bdi>')
    expect(cells[0]).not.toContain('badge')
    expect(cells[1]).toContain('<span class="badge neutral"><bdi>&lt;i&gt;</bdi></span>')
    expect(cells[2]).toContain('<span class="badge warning"><bdi>Name</bdi></span>')
    expect(of()).toContain('aria-label="Select Name"')
  })

  test('rows are sorted in the order of the badges, then other values, with empty cells last', () => {
    const ids = (direction: 'ascending' | 'descending') =>
      [...of({ column: 'status', direction }).matchAll(/data-row="(\d)"/g)].map(([, id]) => Number(id))
    expect(ids('ascending')).toEqual([3, 2, 1, 4])
    expect(ids('descending')).toEqual([1, 2, 3, 4])
  })

  test('a table without lines has no class for them, so that it looks as before', () => {
    expect(of()).toContain('class="lines"')
    expect(of()).toContain('class="badges line-2"')
    expect(rendered(table)).not.toMatch(/class="[^"]*(lines|line-)/)
  })
})

test('a button’s style changes only its appearance: Enter does not press it', () => {
  const html = rendered({ ...shown, type: 'button', name: 'new', kind: 'secondary', style: 'primary' })
  expect(html).toContain('<button class="button primary" type="button"')
})

describe('parts for which the user has no permission', () => {
  const secret: ElementDefinition = {
    ...shown,
    type: 'label',
    name: 'secret',
    label: 'Top secret',
    permission: 'Managers',
  }
  const panel: ElementDefinition = {
    ...shown,
    type: 'panel',
    name: 'around',
    layout: formOf(secret, sample('customer')).layout,
  }
  const inSecretPanel: ElementDefinition = { ...panel, permission: 'Managers' }

  test('an element without permission is absent, including its placeholder', () => {
    expect(renderForm(formOf(secret), EMPTY_VIEW, context)?.html).not.toContain('secret')
    expect(renderElement(formOf(secret), EMPTY_VIEW, context, 'secret')).toBe(null)
    const managers = { ...context, permissions: new Set(['Managers']) }
    expect(renderForm(formOf(secret), EMPTY_VIEW, managers)?.html).toContain('Top secret')
  })

  test('an element in a panel or tab without permission is not sent', () => {
    expect(renderElement(formOf(inSecretPanel), EMPTY_VIEW, context, 'customer')).toBe(null)
    expect(renderElement(SAMPLE_FORM, EMPTY_VIEW, context, 'cost')).toBe(null)
    expect(isShown(outlineOf(SAMPLE_FORM).get('cost') as Place, EMPTY_VIEW, context)).toBe(false)
    const html = renderForm(SAMPLE_FORM, EMPTY_VIEW, context)?.html
    expect(html).not.toContain('Costs')
    expect(html).not.toContain('Purchase')
  })

  test('an invisible element is an empty placeholder; its content is not sent', () => {
    const view = viewOf({ around: { visible: false } })
    expect(renderElement(formOf(panel), view, context, 'around')?.html).toBe(
      '<div class="element is-panel" id="e-order-around" hidden></div>',
    )
    expect(renderElement(formOf(panel), view, context, 'customer')).toBe(null)
    expect(isShown(outlineOf(formOf(panel)).get('customer') as Place, view, context)).toBe(false)
  })

  test('an invisible label’s placeholder is not hidden, so that text added later is announced', () => {
    const view = viewOf({ intro: { visible: false } })
    expect(renderElement(SAMPLE_FORM, view, context, 'intro')?.html).toBe(
      '<div class="element is-label" id="e-order-intro" aria-live="polite"></div>',
    )
  })

  test('a form without permission renders nothing', () => {
    const form = { ...formOf(sample('customer')), permission: 'Managers' }
    expect(renderForm(form, EMPTY_VIEW, context)).toBe(null)
    expect(renderElement(form, EMPTY_VIEW, context, 'customer')).toBe(null)
  })

  test('the open tab is one for which the user has permission', () => {
    const html = renderElement(SAMPLE_FORM, viewOf({ details: { value: 'secret' } }), context, 'details')?.html
    expect(html).toContain('id="e-order-details.tab.list" data-tab="list" data-element="details" aria-selected="true"')
  })

  test.each(['toString', '__proto__', 'constructor', 'nothing'])(
    'no element is found by the name "%s", which the form does not have',
    (name) => {
      expect(renderElement(SAMPLE_FORM, EMPTY_VIEW, context, name)).toBe(null)
    },
  )
})

describe('titles and texts', () => {
  test('title and labels are in the user’s language; an unknown key is marked as such', () => {
    const form: FormDefinition = { ...formOf(sample('customer')), title: 'i18n:orders.title' }
    const dutch = { ...context, locale: 'nl', messages: createMessages(texts, 'nl') }
    expect(renderForm(form, EMPTY_VIEW, dutch)?.title).toBe('Bestellingen')
    expect(renderForm(form, { ...EMPTY_VIEW, title: 'i18n:no' }, dutch)?.title).toBe('!no!')
    expect(rendered(sample('customer'), { label: 'i18n:orders.name' })).toContain('<bdi>Name</bdi>')
  })

  test('a value that looks like a key is not translated', () => {
    expect(rendered(sample('customer'), { value: 'i18n:orders.name' })).toContain('value="i18n:orders.name"')
  })

  test('a form in a right-to-left language sets dir', () => {
    expect(renderForm(SAMPLE_FORM, EMPTY_VIEW, { ...context, locale: 'ar-EG' })?.html).toContain(
      'lang="ar-EG" dir="rtl"',
    )
  })

  test('heading levels have no gaps, whatever the author wrote', () => {
    const heading = (name: string, level: 2 | 3 | 4): ElementDefinition => ({
      ...shown,
      type: 'heading',
      name,
      label: name,
      level,
    })
    const framed: ElementDefinition = {
      ...shown,
      type: 'panel',
      name: 'p',
      label: 'P',
      layout: formOf(heading('c', 2), heading('d', 4)).layout,
    }
    const html =
      renderForm(formOf(heading('a', 4), heading('b', 3), framed, heading('e', 3)), EMPTY_VIEW, context)?.html ?? ''
    expect([...html.matchAll(/<h(\d)/g)].map(([, level]) => level)).toEqual(['1', '2', '3', '2', '3', '4', '3'])
  })

  test('columns without a width share the remaining width', () => {
    const column = { elements: [] }
    const html = renderForm(
      { layout: [{ columns: [{ ...column, width: 6 }, column, column] }, { columns: [column, column, column] }] },
      EMPTY_VIEW,
      context,
    )?.html
    expect(html).toContain(
      '<div class="row"><div class="column w-6"></div><div class="column w-3"></div><div class="column w-3"></div></div>',
    )
    expect(html).toContain('<div class="row parts-3">')
  })
})

describe('hostile values', () => {
  const HOSTILE =
    '"><script>alert(1)</script><img src=x onerror=alert(1)>\' onfocus=alert(1) </textarea></select></title>&lt;\u202e\u0000\ud800'

  /** Every text that a script can set, with a malicious value. */
  const state: ElementState = {
    value: HOSTILE,
    label: HOSTILE,
    hint: HOSTILE,
    placeholder: HOSTILE,
    error: HOSTILE,
    options: [{ value: HOSTILE, label: HOSTILE }],
    href: HOSTILE,
    src: HOSTILE,
    alt: HOSTILE,
    rows: [{ id: HOSTILE, customer: HOSTILE, ordered: HOSTILE, total: HOSTILE, paid: HOSTILE }],
    selected: [HOSTILE],
    sort: { column: HOSTILE, direction: 'ascending' },
  }

  /** Names of tags and attributes, as a browser would parse them. */
  function namesIn(html: string): { tags: Set<string>; attributes: Set<string> } {
    const tags = new Set<string>()
    const attributes = new Set<string>()
    const walk = (node: { childNodes?: unknown[]; tagName?: string; attrs?: { name: string }[] }) => {
      if (node.tagName !== undefined) tags.add(node.tagName)
      for (const { name } of node.attrs ?? []) attributes.add(name)
      for (const child of node.childNodes ?? []) walk(child as typeof node)
    }
    walk(parseFragment(html) as unknown as Parameters<typeof walk>[0])
    return { tags, attributes }
  }

  test.each(EVERY_ELEMENT.map((element) => [element.name, element] as const))(
    '%s shows markup as text',
    (_name, element) => {
      const html = rendered(element, state)
      const { tags, attributes } = namesIn(html)
      expect([...tags].filter((tag) => /script|title|style|iframe/.test(tag))).toEqual([])
      if (element.type !== 'image') expect(tags).not.toContain('img')
      expect([...attributes].filter((name) => /^on|^style$|^srcdoc$/.test(name))).toEqual([])
      expect(html).not.toContain('\u0000')
      expect(html.isWellFormed()).toBe(true)
    },
  )

  test('a form full of malicious texts has the same tags and attributes as a harmless one', () => {
    const all = viewOf(
      Object.fromEntries(
        [...elementsOf(SAMPLE_FORM.layout)].map(({ name }) => [
          name,
          { ...state, href: 'https://example.org/', src: 'a.png' },
        ]),
      ),
    )
    const hostile = namesIn(renderForm(SAMPLE_FORM, { ...all, title: HOSTILE }, context)?.html ?? '')
    const kindView = viewOf(
      Object.fromEntries(
        [...elementsOf(SAMPLE_FORM.layout)].map(({ name }) => [
          name,
          { error: 'x', hint: 'x', placeholder: 'x', label: 'x' },
        ]),
      ),
    )
    const kind = namesIn(renderForm(SAMPLE_FORM, kindView, context)?.html ?? '')
    expect([...hostile.tags].filter((tag) => !kind.tags.has(tag))).toEqual([])
    expect([...hostile.attributes].filter((name) => !kind.attributes.has(name) && name !== 'data-kept')).toEqual([])
  })

  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    '//evil.example',
    '/\\evil.example',
    'https://user:secret@example.org',
    'file:///etc/passwd',
    '',
  ])('a link to "%s" is rendered as text', (href) => {
    expect(rendered(sample('manual'), { href })).not.toContain('<a')
  })

  test.each(['mailto:anna@example.org', '/solution/orders/media/manual.pdf', 'http://example.org/?a=b&c'])(
    'a link to "%s" is rendered as a link',
    (href) => {
      expect(rendered(sample('manual'), { href })).toContain(`<a href="${href.replace('&', '&amp;')}"`)
    },
  )

  test.each([
    '../secret.png',
    'a/../../b.png',
    '//evil.example/x.png',
    'https://evil.example/x.png',
    'a\\b.png',
    'data:image/png;base64,x',
    '',
    './x.png',
    'a//b.png',
    '%2e%2e/x.png',
  ])('an image with source "%s" is rendered as its alternative text', (src) => {
    const html = rendered(sample('logo'), { src })
    expect(html).not.toContain('<img')
    expect(html).toContain('A blue square')
  })

  test('right-to-left text does not affect the text around it', () => {
    expect(rendered(sample('orders'), { rows: [{ id: 1, customer: '\u202egnp.exe' }] })).toContain(
      '<bdi>\u202egnp.exe</bdi>',
    )
  })

  test('values of the wrong type are ignored', () => {
    expect(rendered(sample('amount'), { value: 'seven' })).not.toContain('value=')
    expect(rendered(sample('express'), { value: 'true' })).not.toContain('checked')
    expect(rendered(sample('country'), { value: 'xx' })).toContain('<option value="" selected>Choose…</option>')
    expect(rendered(sample('customer'), { value: true })).toContain('value=""')
  })

  test('10,000 rows are sorted once, not for each page', () => {
    const rows = Array.from({ length: 10_000 }, (_, id) => ({ id, customer: `c${(id * 7919) % 10_000}` }))
    let reads = 0
    const counted = rows.map(
      (row) =>
        new Proxy(row, {
          getOwnPropertyDescriptor(target, key) {
            reads += 1
            return Reflect.getOwnPropertyDescriptor(target, key)
          },
        }),
    )
    const sort = { column: 'customer', direction: 'ascending' } as const
    rendered(sample('orders'), { rows: counted, sort, page: 1 })
    const first = reads
    rendered(sample('orders'), { rows: counted, sort, page: 2 })
    expect(first).toBeGreaterThan(10_000)
    expect(reads - first).toBeLessThan(1000)
  })

  test('sorting does not change the sample’s rows', () => {
    rendered(sample('orders'), { sort: { column: 'customer', direction: 'descending' } })
    expect(ORDERS.map(({ id }) => id)).toEqual(ORDERS.map((_, index) => index + 1))
  })
})
