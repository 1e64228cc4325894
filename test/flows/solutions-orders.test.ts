import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { packFolder } from '../../base/bundles/pack.ts'
import { exampleFolder, exampleNames } from '../../host/solutions/examples.ts'
import { createExampleLab, type ExampleLab, type Person } from '../support/example-lab.ts'
import { startTestHost } from '../support/host.ts'
import { PASSWORD } from '../support/users.ts'

// Tests the example `orders` and its variant `orders-login-form`, unchanged from the folder `solutions`.

const VIEWER = ['Orders']
const EDITOR = ['Edit', 'Orders']
const APPROVER = ['Approve', 'Edit', 'Orders']

type Row = { id: number; number: string; customer: string; ordered: string; amount: number; status: string }

let lab: ExampleLab
let orders: ActiveSolution
beforeAll(async () => {
  lab = await createExampleLab()
  orders = await lab.add('orders')
})
afterAll(() => lab.stop())
beforeEach(() => lab.eraseDatabase('orders'))

function openOrders(permissions: readonly string[], username = 'somebody'): Promise<Person> {
  return lab.open(orders, username, permissions)
}

function rowsOf(person: Person): Row[] {
  return person.see('list').rows as never
}

/** The newest order that matches. The sample data is the same each time the host starts. */
function orderWith(person: Person, fits: (row: Row) => boolean): Row {
  const found = rowsOf(person).find(fits)
  if (found === undefined) throw new Error('no order fits')
  return found
}

const totalOf = (rows: readonly Row[]) => rows.reduce((total, { amount }) => total + amount, 0)
const isLarge = (row: Row) => row.status === 'new' && row.amount > 10_000
const isSmall = (row: Row) => row.status === 'new' && row.amount <= 10_000

/** The text of the form's message line; null if the line is not shown. */
function messageOf(person: Person): string | null {
  const { visible, label } = person.see('message')
  return visible ? (label ?? '') : null
}

describe('the bundles', () => {
  let host: Awaited<ReturnType<typeof startTestHost>>
  beforeAll(async () => {
    host = await startTestHost()
  })
  afterAll(() => host.stop())

  test.each(['orders', 'orders-login-form'])('%s is uploaded without errors and warnings', async (name) => {
    expect(exampleNames()).toContain(name)
    const answer = await host.upload(name, await packFolder(exampleFolder(name)))
    expect([answer.status, await answer.json()]).toEqual([201, expect.objectContaining({ name, warnings: [] })])
  })

  test.each(['orders', 'orders/modules/approval', 'orders-login-form'])(
    '%s has every string in both languages, with the same placeholders',
    (folder) => {
      const [english, dutch] = ['default', 'nl'].map((locale) => {
        const file = join(exampleFolder(folder), 'i18n', `${locale}.json`)
        return JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>
      })
      const places = (table: Record<string, string> = {}) =>
        Object.entries(table).map(([key, text]) => [key, (text.match(/\{\d\}/g) ?? []).sort()])
      expect(places(dutch)).toEqual(places(english))
      expect(readdirSync(join(exampleFolder(folder), 'i18n'))).toEqual(['default.json', 'nl.json'])
    },
  )
})

describe('the list', () => {
  test('the first client fills the embedded database; later and simultaneous clients use its data', async () => {
    const [one, other] = await Promise.all([openOrders(VIEWER), openOrders(VIEWER)])
    expect(one.form()).toBe('orders')
    const rows = rowsOf(one)
    expect(rows).toHaveLength(60)
    expect(rowsOf(other)).toEqual(rows)
    expect(rowsOf(await openOrders(VIEWER))).toEqual(rows)
    expect(rows.map(({ ordered }) => ordered)).toEqual(
      rows
        .map(({ ordered }) => ordered)
        .sort()
        .reverse(),
    )
    expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['new', 'approved', 'shipped']))
    expect(lab.lines).toEqual([])
  })

  test('orders can be filtered by text and status, and the totals show the count and the amount', async () => {
    const person = await openOrders(VIEWER)
    const all = rowsOf(person)
    const found = all.filter(({ customer }) => customer === 'Bakkerij De Halm')
    await person.enter('search', ' de halm ')
    expect(rowsOf(person)).toEqual(found)
    const money = totalOf(found).toLocaleString('en', { style: 'currency', currency: 'EUR' })
    expect(person.see('list').label).toBe(`Orders found: ${found.length}, total ${money}`)
    await person.enter('status', 'shipped')
    expect(rowsOf(person)).toEqual(found.filter(({ status }) => status === 'shipped'))
    await person.enter('search', "'; drop table orders --")
    expect(rowsOf(person)).toEqual([])
    await person.enter('search', '')
    await person.enter('status', null)
    expect(rowsOf(person)).toEqual(all)
  })

  test('the language link changes all text, including rows and totals, and changes it back', async () => {
    const person = await openOrders(VIEWER)
    const before = person.page()
    expect(before).toContain('Nederlands')
    const { locale } = await person.press('language')
    expect(locale).toBe('nl')
    expect(person.page()).toContain('Klant')
    expect(person.page()).toContain('Nieuw')
    const money = totalOf(rowsOf(person)).toLocaleString('nl', { style: 'currency', currency: 'EUR' })
    expect(person.see('list').label).toBe(`Gevonden orders: 60, samen ${money}`)
    await person.press('language')
    expect(person.page()).toBe(before)
  })

  test('Open requires one selected row, Approve at least one', async () => {
    const person = await openOrders(EDITOR)
    const can = () => [person.see('open').enabled, person.see('approve').enabled]
    expect(can()).toEqual([false, false])
    const [one, other] = rowsOf(person)
    await person.selectRows('list', [one?.id as number])
    expect(can()).toEqual([true, true])
    await person.selectRows('list', [other?.id as number])
    expect(can()).toEqual([false, true])
  })
})

describe('the approval', () => {
  test('an editor can approve small orders; for large ones the module’s listener requires the permission Approve', async () => {
    const person = await openOrders(EDITOR)
    const small = orderWith(person, isSmall)
    const large = orderWith(person, isLarge)
    await person.selectRows('list', [small.id, large.id])
    await person.press('approve')
    expect(messageOf(person)).toBe(
      `1 of 2 approved. ${large.number} is above €10,000.00: only a user with the permission Approve can approve it.`,
    )
    const statusOf = (id: number) => orderWith(person, (row) => row.id === id).status
    expect([statusOf(small.id), statusOf(large.id)]).toEqual(['approved', 'new'])
    expect(person.see('list').selected).toEqual([])
  })

  test('with the permission Approve, a note is required; once it is saved the order is approved, and its history shows who approved it', async () => {
    const person = await openOrders(APPROVER, 'marco')
    const large = orderWith(person, isLarge)
    await person.openRow('list', large.id)
    await person.enter('notes', '')
    await person.press('save')
    await person.press('back')
    await person.selectRows('list', [large.id])
    await person.press('approve')
    expect(messageOf(person)).toMatch(/^0 of 1 approved\. O-\d+ is above €10,000\.00: add a note/)
    await person.openRow('list', large.id)
    await person.enter('notes', 'Agreed with the customer.')
    await person.press('save')
    await person.press('back')
    await person.selectRows('list', [large.id])
    await person.press('approve')
    expect(messageOf(person)).toBe('1 of 1 approved.')
    await person.openRow('list', large.id)
    const history = person.see('history').rows as unknown as { changed_by: string; status: string; amount: number }[]
    expect(history.map(({ changed_by, status, amount }) => [changed_by, status, amount])).toEqual([
      ['marco', 'approved', large.amount],
      ['marco', 'new', large.amount],
      ['marco', 'new', large.amount],
      ['sample', 'new', large.amount],
    ])
  })

  test('an order that is not new cannot be approved again', async () => {
    const person = await openOrders(APPROVER)
    const shipped = orderWith(person, ({ status }) => status === 'shipped')
    await person.enter('status', 'shipped')
    await person.selectRows('list', [shipped.id])
    await person.press('approve')
    expect(messageOf(person)).toBe(`0 of 1 approved. ${shipped.number} is no longer new.`)
  })

  test('the form’s change listener protects the status of a new order and the amount of an approved order', async () => {
    const person = await openOrders(APPROVER)
    await person.openRow('list', orderWith(person, isSmall).id)
    await person.enter('status', 'approved')
    expect(person.see('status')).toMatchObject({ value: 'new', error: 'i18n:approval.only_by_button' })
    await person.enter('amount', 12.5)
    expect(person.see('amount').value).toBe(12.5)
    await person.press('save')
    await person.press('back')

    await person.enter('status', 'approved')
    const approved = orderWith(person, ({ status }) => status === 'approved')
    await person.openRow('list', approved.id)
    await person.enter('amount', 1)
    expect(person.see('amount')).toMatchObject({ value: approved.amount, error: 'i18n:approval.amount_stays' })
    expect(person.page()).toContain('You can’t change the amount of an approved order.')
    await person.enter('status', 'new')
    await person.enter('amount', 1)
    expect(person.see('amount')).toMatchObject({ value: 1, error: '' })
  })
})

describe('an order', () => {
  test('a new order is saved and appears in the list', async () => {
    const person = await openOrders(EDITOR)
    await person.press('create')
    expect(person.form()).toBe('order')
    expect(person.see('status').value).toBe('new')
    await person.enter('customer', 'Example & Sons')
    await person.enter('mail', 'anna@example.org')
    await person.enter('amount', 250)
    await person.press('save')
    expect(messageOf(person)).toBe('i18n:order.saved')
    await person.press('back')
    await person.enter('search', 'example & sons')
    expect(rowsOf(person)).toMatchObject([{ number: 'O-1061', customer: 'Example & Sons', amount: 250, status: 'new' }])
  })

  test('the form’s function rejects a date in the future', async () => {
    const person = await openOrders(EDITOR)
    await person.press('create')
    const before = person.see('ordered').value
    await person.enter('ordered', '2999-12-31')
    expect(person.see('ordered')).toMatchObject({ value: before, error: 'i18n:order.in_future' })
  })

  test('with unsaved changes, the form is left only if the user agrees, and nothing is saved', async () => {
    const person = await openOrders(EDITOR)
    const { id, customer } = orderWith(person, isSmall)
    await person.openRow('list', id)
    await person.press('back')
    expect(person.form()).toBe('orders')
    await person.openRow('list', id)
    await person.enter('customer', 'Another')
    expect(await person.press('back')).toMatchObject({ leaving: 'orders' })
    expect(person.form()).toBe('order')
    await person.leave('orders')
    expect(person.form()).toBe('orders')
    await person.openRow('list', id)
    expect(person.page()).not.toContain('data-unsaved')
    await person.press('back')
    expect(orderWith(person, (row) => row.id === id).customer).toBe(customer)
  })

  test('if two users change the same order, the second one gets an error message, and no change is overwritten', async () => {
    const [anna, bram] = await Promise.all([openOrders(EDITOR, 'anna'), openOrders(EDITOR, 'bram')])
    const { id } = orderWith(anna, isSmall)
    await anna.openRow('list', id)
    await bram.openRow('list', id)
    await anna.enter('customer', 'As anna has it')
    await anna.press('save')
    await bram.enter('customer', 'As bram has it')
    await bram.press('save')
    expect(messageOf(bram)).toBe('i18n:order.changed_meanwhile')
    expect(await bram.press('back')).toMatchObject({ leaving: 'orders' })
    await bram.leave('orders')
    expect(orderWith(bram, (row) => row.id === id).customer).toBe('As anna has it')
  })
})

describe('permissions', () => {
  /** Elements that only users with certain permissions get. */
  const PARTS = ['orders-create', 'orders-approve', 'order-save', 'order-history', 'tab.past']

  test.each<[string, string[], string[]]>([
    ['a viewer', VIEWER, []],
    ['an editor', EDITOR, ['orders-create', 'orders-approve', 'order-save']],
    ['an approver', APPROVER, PARTS],
  ])('%s gets only the elements that the permissions allow', async (_who, permissions, expected) => {
    const person = await openOrders(permissions)
    let page = person.page()
    await person.openRow('list', rowsOf(person)[0]?.id as number)
    page += person.page()
    expect(PARTS.filter((part) => page.includes(part))).toEqual(expected)
    expect(page.includes('sample')).toBe(permissions === APPROVER)
  })

  test('a viewer can read an order, but cannot change it or press missing buttons', async () => {
    const person = await openOrders(VIEWER)
    const { id, customer } = rowsOf(person)[0] as Row
    await expect(person.press('create')).rejects.toThrow('onAction of orders.create is forged')
    await expect(person.press('approve')).rejects.toThrow('onAction of orders.approve is forged')
    await person.openRow('list', id)
    expect(person.page()).toContain(`value="${customer}"`)
    await expect(person.enter('customer', 'Mine')).rejects.toThrow('onElementDataChange of order.customer is stale')
    await expect(person.press('save')).rejects.toThrow('onAction of order.save is forged')
  })

  test('a user without any of the solution’s permissions gets neither form', async () => {
    const person = await openOrders(['Strangers'])
    expect(person.page()).toBe('')
  })
})

describe('orders-login-form', () => {
  let solution: ActiveSolution
  beforeAll(async () => {
    solution = await lab.add('orders-login-form')
    await lab.addUser('anna', ['Orders', 'Approve'])
    await lab.addUser('nobody', ['Elsewhere'])
  })

  async function signIn(person: Person, username: string, password: string) {
    await person.enter('username', username)
    await person.enter('password', password)
    return person.press('submit')
  }

  test('without the grant nobody can sign in, and the log contains the reason', async () => {
    const person = await lab.open(solution, 'anna', null)
    await expect(signIn(person, 'anna', PASSWORD)).rejects.toThrow('the operator has not granted the users table')
    expect(lab.lines.at(-1)?.message).toContain('the operator has not granted the users table')
  })

  test('a user of the users table signs in with the permissions that they have and that the solution lists', async () => {
    await lab.grantUsers(solution.name)
    const person = await lab.open(solution, 'anna', null)
    expect(person.form()).toBe('sign_in')
    const { login } = await signIn(person, 'anna', PASSWORD)
    expect(login).toEqual({ username: 'anna', uid: expect.any(String), permissions: ['Approve', 'Orders'] })
  })

  test('a wrong password, an unknown name and a user without permissions show an error at the password, which is cleared', async () => {
    await lab.grantUsers(solution.name)
    const person = await lab.open(solution, 'anna', null)
    for (const [username, password, error] of [
      ['anna', 'not this one', 'i18n:sign_in.wrong'],
      ['stranger', PASSWORD, 'i18n:sign_in.wrong'],
      ['nobody', PASSWORD, 'i18n:sign_in.no_permission'],
    ] as const) {
      const { login } = await signIn(person, username, password)
      expect([login, person.see('password')]).toEqual([null, expect.objectContaining({ value: '', error })])
    }
  })

  test('the first form greets the user who signed in', async () => {
    const person = await lab.open(solution, 'anna', ['Approve', 'Orders'])
    expect(person.form()).toBe('welcome')
    expect(person.see('greeting').label).toBe('You are signed in as anna. Your permissions: Approve, Orders.')
    expect(person.page()).toContain('You can approve orders.')
  })
})
