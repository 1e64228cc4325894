import { beforeAll, expect, test } from 'vitest'
import { openClient } from '../support/client-page.ts'
import { addClientSolution, button, label, linesOf, outputOf } from '../support/client-solution.ts'
import type { TestHost } from '../support/host.ts'
import { sharedHost } from '../support/shared-host.ts'
import { addAuthenticatorSolution, visit } from '../support/users.ts'

// Tests `globals` and `scopes` in open clients and in sign-ins.

let host: Omit<TestHost, 'stop'>
beforeAll(async () => {
  host = await sharedHost()
})

const SCOPES = {
  'scopes/orders.js': `var count = 1
    const fixed = 'fixed'
    function validate() { return 'orders ' + count }
    function save() { return validate() }
    function fail() { missing() }`,
  'scopes/customers.ts': `let name: string = 'Anna'
    function validate(): string { return 'customers ' + name }
    function rename(to: string) { name = to }`,
  'scopes/plain.js': 'let state = 1; function plain() { return state }',
}

/** A function that changes variables in all scopes and returns the resulting state as one string. */
const SAYS = `function says() {
    globals.plainVar += 1
    globals.lexical = globals.lexical + '!'
    scopes.plain.state++
    scopes.orders.count = 5
    scopes.customers.rename('Bert')
    return JSON.stringify([
      plainVar, lexical, globals.says === says, globals === globalThis, scopes.globals === globals,
      state, scopes.plain.plain(), plain(), scopes.orders.validate(), scopes.customers.validate(), save(), scopes.orders.fixed, fixed,
      count, scopes.customers.name, Object.keys(scopes.orders), typeof scopes.nothing
    ])
  }
  var plainVar = 1
  let lexical = 'lexical'`

const SAID = [
  ...[2, 'lexical!', true, true, true, 2, 2, 2, 'orders 5', 'customers Bert', 'orders 5', 'fixed', 'fixed', 5, 'Bert'],
  ...[['count', 'fixed', 'validate', 'save', 'fail'], 'undefined'],
]

test('in an open client, globals.x and scopes.<file>.x can be read and written, and scopes can use the same function names', async () => {
  await addClientSolution(host, 'scoped', {
    elements: [label('text'), button('tell'), button('fail')],
    script: `function tell() { forms.main.elements.text.label = says() }
      function fail() { scopes.orders.fail() }`,
    globals: SAYS,
    files: SCOPES,
  })
  const page = await openClient(host.url, 'scoped', await visit(host, 'scoped'))
  await page.press('main', 'tell')
  expect(JSON.parse(page.text('main', 'text').replaceAll('&quot;', '"'))).toEqual(SAID)
  await page.press('main', 'fail')
  expect(await linesOf(host, 'scoped')).toContainEqual(
    expect.objectContaining({
      message: 'ReferenceError: missing is not defined',
      file: 'scopes/orders.js',
      line: 5,
      column: 23,
    }),
  )
})

test('in a sign-in, the authenticator also has globals and scopes', async () => {
  const files = Object.fromEntries(Object.entries(SCOPES).map(([file, source]) => [`modules/auth/${file}`, source]))
  await addAuthenticatorSolution(
    host,
    'scoped-login',
    `${SAYS}
    function onSolutionOpen(arg, queryParams) {
      application.output(says())
      if (scopes.orders.validate() === 'orders 5') security.login(queryParams.username, 'u-1', ['Users'])
    }`,
    {},
    files,
  )
  const browser = await visit(host, 'scoped-login')
  expect((await browser.signIn('anna')).status).toBe(303)
  expect(JSON.parse((await outputOf(host, 'scoped-login')).at(-1) ?? '')).toEqual(SAID)
})
