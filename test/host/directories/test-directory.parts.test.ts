import { afterAll, beforeAll, expect, test } from 'vitest'
import { createConnections } from '../../../host/directories/connection.ts'
import type { Directory } from '../../../host/directories/directories.ts'
import { createDirectoryTest, type FindNamed } from '../../../host/directories/test-directory.ts'
import { certificateFolder } from '../../support/certificates.ts'
import { freePort } from '../../support/database-server.ts'
import { type LdapServer, startLdapServer } from '../../support/ldap-server.ts'
import { AD_BASE, ANNA, ANNA_GUID, adDirectory, adEntries, EDITORS, SALES } from '../../support/played-directory.ts'

let server: LdapServer
beforeAll(async () => {
  server = await startLdapServer(adEntries())
})
afterAll(() => server.stop())

/** @returns each step as `step result: message`; skipped steps have no message */
async function stepsOf(
  more: Partial<Directory> = {},
  username: string | null = null,
  findNamed: FindNamed = async () => undefined,
) {
  const steps = await createDirectoryTest(createConnections(1000), findNamed)(adDirectory(server, more), username)
  expect(JSON.stringify(steps)).not.toContain('secret of')
  return steps.map(({ step, result, message }) => `${step} ${result}${result === 'skipped' ? '' : `: ${message}`}`)
}

const CONNECTED = () =>
  `connection ok: ldap://127.0.0.1:${server.port}: connected to a server on this machine, without encryption.`
const BOUND = `bind ok: The directory accepts the bind account CN=searcher,OU=Service,${AD_BASE}.`

test('directory test: each step reports what it found', async () => {
  expect(await stepsOf()).toEqual([
    CONNECTED(),
    BOUND,
    `base ok: ${AD_BASE} exists.`,
    'groups ok: All mapped groups exist.',
    'person skipped',
    'membership skipped',
  ])
  expect((await stepsOf({}, 'anna')).slice(4)).toEqual([
    `person ok: Found ${ANNA}: username anna (Anna Berg, anna@corp.test), id ${ANNA_GUID.text}.`,
    `membership ok: Member of ${SALES}; ${EDITORS}. Permissions: Users; Editors@crm.`,
  ])
})

test('directory test: it fails if another user has the name, because the host would not ask the directory about the password', async () => {
  const person = `Found ${ANNA}: username anna (Anna Berg, anna@corp.test), id ${ANNA_GUID.text}.`
  const failed = `person failed: ${person} But the users table contains another user named "anna", who doesn’t belong to this entry, so this person can’t sign in. Rename or delete that user.`
  const ofEntry = { directory: 'corp', directory_id: ANNA_GUID.text }
  for (const other of [
    { directory: null, directory_id: null },
    { ...ofEntry, directory: 'other' },
    { ...ofEntry, directory_id: 'of another entry' },
  ]) {
    const [said, membership] = (await stepsOf({}, 'anna', async () => other)).slice(4)
    expect([said, membership?.startsWith('membership ok')]).toEqual([failed, true])
  }
  expect((await stepsOf({}, 'anna', async () => ofEntry)).slice(4, 5)).toEqual([`person ok: ${person}`])
  const onlyTyped: FindNamed = async (name) => (name === 'ANNA' ? { directory: null, directory_id: null } : undefined)
  expect((await stepsOf({}, 'ANNA', onlyTyped))[4]).toContain('another user named "ANNA"')
})

test('directory test: a connection that is closed right after StartTLS, with TLS data on its way, does not crash the process', async () => {
  using certificates = await certificateFolder()
  await certificates.issue('localhost')
  const certificate = { cert: certificates.bytes('localhost.pem'), key: certificates.bytes('localhost-key.pem') }
  const secure = await startLdapServer(adEntries(), { mode: 'start-tls', certificate })
  try {
    const url = `ldap://127.0.0.1:${secure.port}`
    const directory = adDirectory(secure, { ca: certificates.bytes('ca.pem').toString(), startTls: true })
    const connections = createConnections(5000)
    // The bug caused a crash only rarely, so try several times.
    for (let at = 0; at < 10; at++) {
      expect(await connections.probe(directory, url)).toBe('connected with StartTLS; the certificate is valid.')
    }
    await expect.poll(secure.connections).toBe(0)
  } finally {
    await secure.stop()
  }
})

test('directory test: a step that fails says why, and the steps that need it are skipped', async () => {
  const port = await freePort()
  const down = `ldap://127.0.0.1:${port}`
  expect(await stepsOf({ urls: [down] })).toEqual([
    `connection failed: The directory "corp" (${down}) is unreachable: connect ECONNREFUSED 127.0.0.1:${port}`,
    ...['bind', 'base', 'groups', 'person', 'membership'].map((step) => `${step} skipped`),
  ])
  const [connection, bind] = await stepsOf({ urls: [down, `ldap://127.0.0.1:${server.port}`] })
  expect([connection?.startsWith('connection failed'), bind]).toEqual([true, BOUND])
  expect((await stepsOf({ bindPassword: 'wrong' })).slice(1, 3)).toEqual([
    expect.stringMatching(
      /^bind failed: The directory "corp" .* rejected the host’s request: invalid credentials \(LDAP result code 49\)/,
    ),
    'base skipped',
  ])
  expect((await stepsOf({ base: 'DC=none,DC=test' })).slice(2, 4)).toEqual([
    'base failed: The entry DC=none,DC=test doesn’t exist, or the bind account isn’t allowed to read it. Fix the base, or give the account read access.',
    'groups skipped',
  ])
  const groups = [{ dn: `CN=Gone,${AD_BASE}`, permissions: ['Users'] }]
  expect((await stepsOf({ groups }, 'anna')).slice(3)).toEqual([
    `groups failed: These groups don’t exist, or the bind account isn’t allowed to read them: CN=Gone,${AD_BASE}. Fix their names, or give the account read access.`,
    expect.stringMatching(/^person ok/),
    'membership failed: This person isn’t a member of any mapped group, so they can’t sign in. Add them to a mapped group, or map one of their groups.',
  ])
})

test.each([
  [
    'nobody',
    'person failed: No entry below the base matches the filter for this username. Check the username, the filter and the base.',
  ],
  [
    'twin',
    'person failed: Several entries match the filter for this username. Change the filter so that only one entry matches.',
  ],
  [
    'carla',
    `person failed: The account CN=Carla,OU=People,${AD_BASE} is disabled or has expired. Enable or renew it in the directory.`,
  ],
])('directory test: the person %s can’t sign in', async (username, step) => {
  expect((await stepsOf({}, username)).slice(4)).toEqual([step, 'membership skipped'])
})
