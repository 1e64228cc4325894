import { beforeAll, expect, test } from 'vitest'
import type { TestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { sharedHost } from '../support/shared-host.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

let host: Omit<TestHost, 'stop'>
beforeAll(async () => {
  host = await sharedHost()
})

const NAME = 'realm-of-flows'

async function upload(script: string, realm = 'hardened') {
  const manifest = { name: NAME, authenticator: 'AUTHENTICATOR', modules: ['auth'], realm }
  const files = { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': script }
  const answer = await host.upload(NAME, await bundleOf(manifest, files))
  return { status: answer.status, body: await answer.json() }
}

test('an upload with the hardened realm is rejected with positions, and its sign-ins work once it is fixed', async () => {
  const refused = await upload('var tries = 0\nfunction onSolutionOpen(a, q) {\n  total = 1\n}')
  expect(refused.body).toMatchObject({
    faults: [{ code: 'realm_difference', file: 'modules/auth/globals.js', line: 3, column: 3 }],
  })
  const fixed = `var tries = 0
    function onSolutionOpen(a, q) { tries++; security.login(q.username + tries, '1', ['Users']); return '{}' }`
  expect((await upload(fixed)).status).toBe(201)
  for (let turn = 0; turn < 2; turn++) {
    const visitor = createVisitor(host.url)
    await visitor.get(`/solution/${NAME}/index.html`)
    await visitor.post(`/solution/${NAME}/index.html`, { username: 'anna', password: 'x' })
    const session = await visitor.get(`/solution/${NAME}/session`)
    expect(session.text).toContain('anna1')
  }
})
