import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ActiveSolution } from '../../../base/bundles/active-solution.ts'
import { type Effects, noEffects } from '../../../base/bundles/host-call.ts'
import type { ShownUser } from '../../../host/clients/render/no-form.ts'
import { createScreen, type ScreenParts } from '../../../host/clients/screen.ts'
import type { HostFrame } from '../../../host/web/frames.ts'
import type { FormDefinition } from '../../../runtime/forms/form-definition.ts'
import { checkedForm, formWith } from '../../support/forms.ts'

const within = (...elements: unknown[]) => [{ columns: [{ elements }] }]
const label = (name: string, more: object = {}) => ({ type: 'label', name, label: `Label of ${name}`, ...more })

const MAIN = {
  title: 'i18n:title',
  saves: 'save',
  ...formWith(
    label('plain'),
    label('costs', { permission: 'Managers' }),
    { type: 'panel', name: 'panel', layout: within(label('inPanel'), label('alsoInPanel')) },
    { type: 'panel', name: 'managers', permission: 'Managers', layout: within(label('inManagers')) },
    {
      type: 'tabs',
      name: 'tabs',
      tabs: [
        { name: 'first', label: 'First', layout: within(label('inFirst')) },
        { name: 'second', label: 'Second', permission: 'Managers', layout: within(label('inSecond')) },
      ],
    },
    ...Array.from({ length: 41 }, (_, index) => label(`many${index}`)),
    { type: 'button', name: 'save', label: 'Save', kind: 'danger', onAction: 'save' },
  ),
}
const TEXTS = { default: { title: 'Order' }, nl: { title: 'Bestelling' } }
const ANNA = { username: 'anna', uid: 'a', permissions: ['Users'], tenant: null, loggedInAt: 0 } as ShownUser

function screenOf(parts: Partial<ScreenParts> = {}) {
  const forms = { main: MAIN, other: formWith(label('plain')), secret: { permission: 'Managers', ...MAIN } }
  const definitions = new Map(
    Object.entries(forms).map(([name, written]) => [name, checkedForm(written).form as FormDefinition] as const),
  )
  const solution = { name: 'orders', title: 'Orders', texts: TEXTS, facts: { definitions } }
  return createScreen({
    solution: solution as unknown as ActiveSolution,
    locale: 'en',
    user: ANNA,
    account: () => null,
    isTesting: false,
    missing: () => {},
    overrides: new Map(),
    ...parts,
  })
}

const shows = (form: string): Effects => ({ ...noEffects(), form })
const changes = (elements: Record<string, object>, more: object = {}): Effects => ({
  ...noEffects(),
  formUpdates: [{ form: 'main', elements, ...more }],
})
/** @returns for each patch, the ids that it changes; for each other frame, its kind */
const patched = (frames: readonly HostFrame[]) =>
  frames.map((frame) => (frame.kind === 'patch' ? frame.changes.map(({ id }) => id) : frame.kind))

test('screen: a different form is sent in full, and its changes as patches; an unchanged form is not sent again', () => {
  const screen = screenOf()
  expect(patched(screen.apply(shows('main'), 0))).toEqual(['form'])
  expect(screen.shown).toBe('main')
  expect(patched(screen.apply(shows('main'), 1))).toEqual([])
  const [patch] = screen.apply(changes({ plain: { label: 'New' } }), 2)
  expect(patch).toEqual({
    kind: 'patch',
    seq: 2,
    changes: [
      {
        id: 'e-main-plain',
        html: '<div class="element is-label" id="e-main-plain" aria-live="polite"><p class="text"><bdi>New</bdi></p></div>',
      },
    ],
  })
  expect(patched(screen.apply(shows('other'), 3))).toEqual(['form'])
  expect(patched(screen.apply(changes({ plain: { label: 'Unseen' } }), 4))).toEqual([])
})

test('screen: a panel is sent once with all changes inside it; after many changes, the whole form is sent', () => {
  const screen = screenOf()
  screen.apply(shows('main'), 0)
  const changed = { inPanel: { label: 'A' }, panel: { label: 'B' }, alsoInPanel: { label: 'C' }, plain: { label: 'D' } }
  expect(patched(screen.apply(changes(changed), 1))).toEqual([['e-main-panel', 'e-main-plain']])
  const many = Object.fromEntries(Array.from({ length: 41 }, (_, index) => [`many${index}`, { label: 'x' }]))
  expect(patched(screen.apply(changes(many), 2))).toEqual(['form'])
})

test('screen: no frame has an element that the user lacks permission for, whatever a script changes', () => {
  const screen = screenOf()
  const secret = (name: string) => ({ label: `secret ${name}`, hint: `secret hint ${name}`, visible: true })
  const elements = {
    costs: secret('costs'),
    managers: secret('managers'),
    inManagers: secret('inManagers'),
    inSecond: secret('inSecond'),
  }
  const frames = [
    ...screen.apply(shows('main'), 0),
    ...screen.apply(changes(elements), 1),
    ...screen.apply(changes({ ...elements, tabs: { value: 'second' }, plain: { label: 'Shown' } }), 2),
    screen.whole(3),
    ...screen.patch(Object.keys(elements), 4),
  ]
  expect(patched(frames)).toEqual(['form', ['e-main-tabs', 'e-main-plain'], 'form'])
  expect(JSON.stringify(frames)).toMatch(/Shown/)
  expect(JSON.stringify(frames)).not.toMatch(/secret|costs|anagers|econd/)
  const manager = screenOf({ user: { ...ANNA, permissions: ['Managers'] } })
  manager.apply(shows('main'), 0)
  expect(patched(manager.apply(changes(elements), 1))).toEqual([['e-main-costs', 'e-main-managers', 'e-main-inSecond']])
})

test('screen: a form that the user lacks permission for is replaced by a notice, and gets no patches', () => {
  const screen = screenOf()
  const frames = [
    ...screen.apply(shows('secret'), 0),
    ...screen.apply({ ...noEffects(), formUpdates: [{ form: 'secret', title: 'secret title', elements: {} }] }, 1),
    ...screen.apply({ ...noEffects(), formUpdates: [{ form: 'secret', elements: { plain: { label: 'secret' } } }] }, 2),
    ...screen.patch(['plain'], 3),
  ]
  expect(patched(frames)).toEqual(['form', 'form'])
  expect(frames[1]).toMatchObject({ title: 'Orders' })
  expect(JSON.stringify(frames)).not.toMatch(/secret|Label|plain/)
})

test('screen: content of a hidden panel is not sent until the panel is shown', () => {
  const screen = screenOf()
  screen.apply(shows('main'), 0)
  expect(screen.apply(changes({ panel: { visible: false } }), 1)).toEqual([
    {
      kind: 'patch',
      seq: 1,
      changes: [{ id: 'e-main-panel', html: '<div class="element is-panel" id="e-main-panel" hidden></div>' }],
    },
  ])
  expect(screen.apply(changes({ inPanel: { label: 'Not yet' } }), 2)).toEqual([])
  expect(JSON.stringify(screen.whole(3))).not.toContain('Not yet')
  expect(JSON.stringify(screen.apply(changes({ panel: { visible: true } }), 4))).toContain('Not yet')
})

test('screen: a change of language, title, texts or unsaved input sends the whole form', () => {
  const overrides = new Map<string, string>()
  const screen = screenOf({ overrides })
  const [english] = screen.apply(shows('main'), 0)
  expect(english).toMatchObject({ kind: 'form', title: 'Order' })
  const dutch = screen.apply({ ...noEffects(), locale: 'nl-BE' }, 1)
  expect(patched(dutch)).toEqual([['client-top', 'client-texts'], 'form'])
  expect([screen.locale, dutch[1]]).toMatchObject(['nl-BE', { title: 'Bestelling' }])
  overrides.set('title', 'Opdracht')
  expect(screen.apply({ ...noEffects(), messages: overrides, messagesChanged: true }, 2)).toMatchObject([
    { kind: 'form', title: 'Opdracht' },
  ])
  expect(screen.apply(changes({}, { title: '<b>' }), 3)).toMatchObject([{ kind: 'form', title: '<b>' }])
  expect(screen.apply(changes({}, { unsaved: true }), 4)).toMatchObject([
    { kind: 'form', html: expect.stringContaining(' data-form="main" data-saves data-unsaved ') },
  ])
})

test('screen: an invalid value that is still shown is unsaved input, if the form has a button that saves', () => {
  const screen = screenOf()
  const reject = (form: string) => () => screen.views.setFault(form, 'plain', 'invalid', 'anna@')
  screen.apply(shows('main'), 0)
  expect(screen.changeFaults(['plain'], 1, reject('main'))).toMatchObject([
    { kind: 'form', html: expect.stringContaining(' data-form="main" data-saves data-unsaved ') },
  ])
  expect(patched(screen.changeFaults(['plain'], 2, reject('main')))).toEqual([['e-main-plain']])
  const corrected = screen.changeFaults(['plain'], 3, () => screen.views.clearFault('main', 'plain'))
  expect(corrected).toMatchObject([{ kind: 'form', html: expect.not.stringContaining('data-unsaved') }])
  screen.apply(shows('other'), 4)
  expect(patched(screen.changeFaults(['plain'], 5, reject('other')))).toEqual([['e-other-plain']])
})

test('screen: it stores which forms were shown; names of inherited properties are not forms', () => {
  const screen = screenOf()
  screen.apply(shows('main'), 0)
  screen.apply(shows('other'), 1)
  const names = ['main', 'other', 'secret', 'nothing', '__proto__', 'constructor']
  expect(names.map((name) => screen.hasShown(name))).toEqual([true, true, false, false, false, false])
  expect(names.map((name) => screen.definitionOf(name) !== null)).toEqual([true, true, true, false, false, false])
})

test('screen: unknown text keys are reported, except the platform’s own', () => {
  const missing: [string, string][] = []
  const screen = screenOf({ missing: (key, locale) => void missing.push([key, locale]) })
  screen.apply(shows('main'), 0)
  screen.apply(changes({ plain: { label: 'i18n:nothing' } }), 1)
  expect(screen.text('platform.client.noaccess')).not.toBe('')
  expect(missing).toEqual([['nothing', 'en']])
})

test('screen: before effects are applied, their large tables are sorted one per turn of the event loop', async () => {
  const columns = [{ name: 'text', label: 'Text', type: 'text', sortable: true }]
  const table = (name: string, more: object = {}) => ({ type: 'table', name, label: name, columns, ...more })
  const written = formWith(...['a', 'b', 'small'].map((name) => table(name)), table('hidden', { visible: false }))
  const definitions = new Map([['main', checkedForm({ title: 'Tables', ...written }).form as FormDefinition]])
  const solution = { name: 'orders', title: 'Orders', texts: TEXTS, facts: { definitions } } as unknown
  const screen = screenOf({ solution: solution as ActiveSolution })
  const rows = (count: number) => Array.from({ length: count }, (_, id) => ({ id, text: `row ${(id * 7) % count}` }))
  const sort = { column: 'text', direction: 'ascending' }
  const large = { rows: rows(2000), sort }
  /** @returns for each table that was sorted, in which turn of the event loop */
  async function sorting(effects: Effects): Promise<number[]> {
    let turn = 0
    let isOver = false
    const counting = (async () => {
      for (; !isOver; turn++) await nextTurn()
    })()
    const turns: number[] = []
    const spend = (work: () => boolean) => {
      const isNew = work()
      if (isNew) turns.push(turn)
      return isNew
    }
    await screen.sortAhead(effects, spend)
    isOver = true
    await counting
    return turns
  }
  const effects = {
    ...shows('main'),
    formUpdates: [
      { form: 'main', elements: { a: large, b: { sort } } } as const,
      { form: 'main', elements: { b: { rows: rows(3000) }, small: { rows: rows(9), sort }, hidden: large } } as const,
    ],
  } as unknown as Effects
  expect(await sorting(effects)).toEqual([0, 1])
  screen.apply(effects, 0)
  expect(await sorting(effects)).toEqual([])
  // Another language sorts them again, also without another change.
  expect(await sorting({ ...noEffects(), locale: 'nl' })).toEqual([0, 1])
  expect(await sorting({ ...noEffects(), locale: 'nl' })).toEqual([])
  expect(await sorting({ ...noEffects(), form: 'missing', locale: 'en' })).toEqual([])
})
