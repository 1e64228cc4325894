import { expect, test } from 'vitest'
import type { ActiveSolution } from '../../../base/bundles/active-solution.ts'
import { noEffects } from '../../../base/bundles/host-call.ts'
import type { ShownUser } from '../../../host/clients/render/no-form.ts'
import { createScreen } from '../../../host/clients/screen.ts'
import { formState } from '../../../host/solution-tests/client-state.ts'
import { needPossible, readEvent } from '../../../host/solution-tests/possible-events.ts'
import type { FormDefinition } from '../../../runtime/forms/form-definition.ts'
import { checkedForm, formWith } from '../../support/forms.ts'

const BOOKINGS = {
  title: 'Bookings',
  permission: 'Book',
  ...formWith(
    { type: 'select', name: 'room', label: 'i18n:room', options: [{ value: 'blue', label: 'i18n:room.blue' }] },
    {
      type: 'table',
      name: 'list',
      label: 'List',
      columns: [{ name: 'who', label: 'Who' }],
      selection: 'single',
      value: [{ id: '1', who: 'anna' }],
      onRecordSelection: 'selected',
    },
  ),
}
const TEXTS = { default: { room: 'Room', 'room.blue': 'Blue room' }, de: { room: 'Raum', 'room.blue': 'Blauer Raum' } }

function screenFor(permissions: readonly string[], locale = 'en') {
  const definitions = new Map([['bookings', checkedForm(BOOKINGS).form as FormDefinition]])
  const solution = { name: 'booking', title: 'Booking', texts: TEXTS, facts: { definitions } }
  const screen = createScreen({
    solution: solution as unknown as ActiveSolution,
    locale,
    user: { username: 'anna', uid: 'a', permissions, tenant: null, loggedInAt: 0 } as ShownUser,
    account: () => null,
    isTesting: false,
    missing: () => {},
    overrides: new Map(),
  })
  screen.apply({ ...noEffects(), form: 'bookings' }, 0)
  return screen
}

test('a test sees no form if the user has no permission for it, because the page shows only a notice', () => {
  expect(formState(screenFor(['Bok']))).toEqual({ form: null, title: '', unsaved: false, elements: {} })
  expect(formState(screenFor(['Book']))).toMatchObject({ form: 'bookings', title: 'Bookings' })
})

test('labels of options are translated for tests, as on the page', () => {
  const { elements } = formState(screenFor(['Book'], 'de'))
  expect(elements.room).toMatchObject({ label: 'Raum', options: [{ value: 'blue', label: 'Blauer Raum' }] })
})

test('the error for a row that does not exist says that the page of the table may not show it', () => {
  const screen = screenFor(['Book'])
  const select = (id: string) =>
    needPossible(readEvent(1, screen, 'onRecordSelection', 'list', { rows: [id], selected: true }), screen)
  expect(() => select('77')).toThrow(/or the page of the table does not show the row$/)
  select('1')
})
