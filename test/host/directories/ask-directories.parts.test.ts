import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { AuditEntry } from '../../../host/access/audit.ts'
import { createAskDirectories } from '../../../host/directories/ask-directories.ts'
import { createConnections } from '../../../host/directories/connection.ts'
import type { Directory } from '../../../host/directories/directories.ts'
import { type CertificateFolder, certificateFolder } from '../../support/certificates.ts'
import { freePort } from '../../support/database-server.ts'
import { type LdapServer, startLdapServer, WELL_BEHAVED } from '../../support/ldap-server.ts'
import { AD_BASE, ANNA, ANNA_GUID, adDirectory, adEntries, adPerson, SALES } from '../../support/played-directory.ts'
import { waitUntil } from '../../support/wait-until.ts'

let server: LdapServer
let certificates: CertificateFolder
beforeAll(async () => {
  server = await startLdapServer(adEntries())
  certificates = await certificateFolder()
  await certificates.issue('localhost')
  await certificates.issue('elsewhere', { names: 'DNS:elsewhere.example.test' })
})
afterAll(async () => {
  await server.stop()
  certificates[Symbol.dispose]()
})
beforeEach(() => {
  Object.assign(server.play, { ...WELL_BEHAVED, entries: adEntries() })
})

const noted: string[] = []
const logged: string[] = []

/** @param time the time limit in ms */
function asking(directories: readonly Directory[], time?: number) {
  noted.length = 0
  logged.length = 0
  return createAskDirectories({
    directories: { all: async () => directories, list: never, put: never, remove: never, noteTest: never },
    connections: createConnections(time),
    audit: { noteOnce: ({ actor, target }: AuditEntry) => noted.push(`${actor} ${target}`) > 0 },
    log: { warn: (_about, message) => void logged.push(message) },
  })
}
const never = () => Promise.reject(new Error('not needed here'))

const codeOf = (work: Promise<unknown>) => work.then(() => null).catch((error: { code?: string }) => error.code)

/** Returns the requests that the server receives during `work`. */
async function askedDuring(work: () => Promise<unknown>, of = server): Promise<readonly string[]> {
  const before = of.asked.length
  await work()
  return of.asked.slice(before)
}

const ANNA_HERE = {
  directory: 'corp',
  id: ANNA_GUID.text,
  username: 'anna',
  displayName: 'Anna Berg',
  email: 'anna@corp.test',
  permissions: ['Users', { name: 'Editors', solution: 'crm' }],
}

test('directories: a user signs in with the password of their Active Directory entry, and gets its id and its groups’ permissions', async () => {
  const ask = asking([adDirectory(server)])
  expect(await ask.authenticate('ANNA', 'password of Anna Berg', null)).toEqual(ANNA_HERE)
  expect(await ask.authenticate('anna', 'password of anna berg', null)).toBeNull()
  expect(await ask.lookUp('corp', ANNA_GUID.text)).toEqual(ANNA_HERE)
  expect(await ask.lookUp('corp', '00112233-4455-6677-8899-aabbccddee00')).toBeNull()
  expect(await ask.lookUp('removed', ANNA_GUID.text)).toBeNull()
})

test('directories: members of a group inside a mapped group count only with nestedGroups', async () => {
  const login = ['bram', 'password of Bram', null] as const
  expect(await asking([adDirectory(server)]).authenticate(...login)).toBeNull()
  expect(noted).toEqual(['user:bram directory:corp (no mapped group)'])
  const nested = asking([adDirectory(server, { nestedGroups: true })])
  expect(await nested.authenticate(...login)).toMatchObject({ username: 'bram', permissions: ['Users'] })
})

test.each([
  ['carla', 'Carla', 'disabled'],
  ['dora', 'Dora', 'disabled'],
  ['twin', 'Twin', 'several entries'],
])(
  'directories: %s is refused although the password is right, and the audit log says why: %s, %s',
  async (username, name, reason) => {
    expect(await asking([adDirectory(server)]).authenticate(username, `password of ${name}`, null)).toBeNull()
    expect(noted).toEqual([`user:${username} directory:corp (${reason})`])
  },
)

test('directories: an entry without an id or a username is refused', async () => {
  const ask = asking([adDirectory(server)])
  server.play.entries.push({ ...adPerson('Fay', '00', {}), password: 'right' })
  expect(await ask.authenticate('fay', 'right', null)).toBeNull()
  const byMail = asking([adDirectory(server, { filter: '(mail={name})' })])
  server.play.entries.push({
    ...adPerson('Gus', ANNA_GUID.hex, { sAMAccountName: [], mail: ['gus@corp.test'] }),
    password: 'right',
  })
  expect(await byMail.authenticate('gus@corp.test', 'right', null)).toBeNull()
  expect(noted).toEqual(['user: directory:corp (no username)'])
})

test('directories: an empty password is refused without asking the server, which would accept it', async () => {
  const ask = asking([adDirectory(server)])
  expect(await askedDuring(() => ask.authenticate('anna', '', null))).toEqual([])
  expect(await ask.authenticate('anna', '', null)).toBeNull()
  expect(await askedDuring(() => ask.authenticate(' ', 'x', null))).toEqual([])
  expect(await askedDuring(() => ask.authenticate('anna\0', 'password of Anna Berg', null))).toEqual([])
  expect(await askedDuring(() => ask.authenticate('anna', 'x'.repeat(1001), null))).toEqual([])
})

test('directories: an unknown name causes the same requests as a wrong password', async () => {
  const ask = asking([adDirectory(server)])
  const kinds = (asked: readonly string[]) => asked.map((one) => one.split(' ')[0])
  const wrong = await askedDuring(() => ask.authenticate('anna', 'wrong', null))
  const unknown = await askedDuring(() => ask.authenticate('nobody', 'wrong', null))
  expect(kinds(wrong)).toEqual(['bind', 'search', 'bind'])
  expect(kinds(unknown)).toEqual(kinds(wrong))
})

test.each([
  '*',
  'a*',
  'anna)(sAMAccountName=*',
  '*)(objectClass=*',
  'x)(|(sAMAccountName=anna)',
  'anna))(&(objectClass=user',
  'anna\\2a',
  'ANNA\\00',
  '(anna)',
  '\\',
  '{name}',
  '$&',
])('directories: the name %s is searched as it is written, and finds nobody', async (name) => {
  const ask = asking([adDirectory(server)])
  const asked = await askedDuring(async () => {
    expect(await ask.authenticate(name, 'password of Anna Berg', null)).toBeNull()
  })
  const value = name.replace(/[*()\\]/g, (one) => `\\${one.charCodeAt(0).toString(16)}`)
  expect(asked[1]).toBe(`search ${AD_BASE} (&(objectClass=user)(sAMAccountName=${value}))`)
  expect(asked.filter((one) => one.startsWith('bind'))).not.toContain(`bind ${ANNA}`)
})

test('directories: names with special characters and letters beyond ASCII find their own entry', async () => {
  const ask = asking([adDirectory(server)])
  expect(await ask.authenticate('star*', 'password of Star*', null)).toMatchObject({ username: 'star*' })
  const dn = `CN=Zoë,OU=People,${AD_BASE}`
  server.play.entries.push(adPerson('Zoë', '6102030405060708090a0b0c0d0e0f10'))
  server.play.entries.push({ dn: `CN=All,${AD_BASE}`, attributes: { member: [dn] } })
  const mapped = { groups: [{ dn: `CN=All,${AD_BASE}`, permissions: ['Users'] }] }
  const other = asking([adDirectory(server, mapped)])
  expect(await other.authenticate('zoë', 'password of Zoë', null)).toMatchObject({ username: 'zoë' })
})

test('directories: referrals are not followed', async () => {
  const trap = await startLdapServer(adEntries())
  try {
    const ask = asking([adDirectory(server)])
    server.play.references = [`ldap://127.0.0.1:${trap.port}/${AD_BASE}`]
    expect(await ask.authenticate('anna', 'password of Anna Berg', null)).toEqual(ANNA_HERE)
    server.play.referral = `ldap://127.0.0.1:${trap.port}/${AD_BASE}`
    expect(await codeOf(ask.authenticate('anna', 'password of Anna Berg', null))).toBe('ERR_DIRECTORY_REFUSED')
    expect(trap.asked).toEqual([])
  } finally {
    await trap.stop()
  }
})

test('directories: a wrong bind password or base is reported as refused, without the password', async () => {
  for (const wrong of [{ bindPassword: 'wrong secret' }, { base: 'DC=other,DC=test' }]) {
    const ask = asking([adDirectory(server, wrong)])
    expect(await codeOf(ask.authenticate('anna', 'password of Anna Berg', null))).toBe('ERR_DIRECTORY_REFUSED')
    expect(logged.join()).toContain('corp')
    expect(logged.join()).not.toMatch(/secret|password of/)
  }
})

test('directories: directories are searched in order, and a name that none of them contains causes one bind', async () => {
  const other = await startLdapServer(adEntries().filter(({ dn }) => dn !== ANNA))
  try {
    const ask = asking([adDirectory(other, { name: 'first' }), adDirectory(server)])
    expect(await ask.authenticate('anna', 'password of Anna Berg', null)).toEqual(ANNA_HERE)
    expect(await ask.authenticate('anna', 'password of Anna Berg', 'first')).toBeNull()
    const binds = async (of: LdapServer) => {
      const asked = await askedDuring(() => ask.authenticate('nobody', 'x', null), of)
      return asked.filter((one) => one.startsWith('bind')).length
    }
    // The bind account binds to both directories. Only the last directory gets another bind request, for the unknown
    // name.
    expect([await binds(other), await binds(server)]).toEqual([1, 2])
  } finally {
    await other.stop()
  }
})

test('directories: the host stops waiting for a server that does not respond, and closes the connection', async () => {
  const ask = asking([adDirectory(server)], 200)
  server.play.isSilent = true
  expect(await codeOf(ask.authenticate('anna', 'password of Anna Berg', null))).toBe('ERR_DIRECTORY_UNREACHABLE')
  expect(await codeOf(ask.lookUp('corp', ANNA_GUID.text))).toBe('ERR_DIRECTORY_UNREACHABLE')
  await waitUntil(() => expect(server.connections()).toBe(0))
  // The time limit is for all responses together. Each of these responses alone would be in time.
  Object.assign(server.play, { isSilent: false, delay: 90 })
  expect(await codeOf(ask.authenticate('anna', 'password of Anna Berg', null))).toBe('ERR_DIRECTORY_UNREACHABLE')
})

test('directories: if the first server is down, the next one is used', async () => {
  const urls = [`ldap://127.0.0.1:${await freePort()}`, `ldap://127.0.0.1:${server.port}`]
  expect(await asking([adDirectory(server, { urls })]).lookUp('corp', ANNA_GUID.text)).toEqual(ANNA_HERE)
  const down = asking([adDirectory(server, { urls: urls.slice(0, 1) })])
  expect(await codeOf(down.lookUp('corp', ANNA_GUID.text))).toBe('ERR_DIRECTORY_UNREACHABLE')
  expect(await codeOf(down.lookUp('corp', ANNA_GUID.text))).toBe('ERR_DIRECTORY_UNREACHABLE')
  // The problem is reported once a minute.
  expect(logged.length).toBe(1)
})

const pem = (name: string) => ({ cert: certificates.bytes(`${name}.pem`), key: certificates.bytes(`${name}-key.pem`) })

test.each(['ldaps', 'start-tls'] as const)(
  'directories: nothing is sent over %s to a server whose certificate is not trusted',
  async (mode) => {
    const scheme = mode === 'ldaps' ? 'ldaps' : 'ldap'
    const ca = certificates.bytes('ca.pem').toString()
    for (const [name, of, isRight] of [
      ['localhost', ca, true],
      ['localhost', null, false],
      ['elsewhere', ca, false],
    ] as const) {
      const secure = await startLdapServer(adEntries(), { mode, certificate: pem(name) })
      try {
        const settings = { urls: [`${scheme}://127.0.0.1:${secure.port}`], ca: of, startTls: true }
        const answer = asking([adDirectory(secure, settings)]).authenticate('anna', 'password of Anna Berg', null)
        if (isRight) expect(await answer).toEqual(ANNA_HERE)
        else expect(await codeOf(answer)).toBe('ERR_DIRECTORY_UNREACHABLE')
        const rest = secure.asked.filter((one) => !one.startsWith('extended'))
        expect(rest.length > 0).toBe(isRight)
      } finally {
        await secure.stop()
      }
    }
  },
)

test.each(['ldaps', 'start-tls'] as const)(
  'directories: a closed connection over %s is not reopened, because it would have neither StartTLS nor a bind',
  async (mode) => {
    const secure = await startLdapServer(adEntries(), { mode, certificate: pem('localhost') })
    try {
      const urls = [`${mode === 'ldaps' ? 'ldaps' : 'ldap'}://127.0.0.1:${secure.port}`]
      const settings = { urls, ca: certificates.bytes('ca.pem').toString(), startTls: true }
      const ask = asking([adDirectory(secure, settings)], 500)
      const found: string[] = []
      const work = ask.lookUpAll('corp', [ANNA_GUID.text, ANNA_GUID.text], async (id) => {
        found.push(id)
        secure.drop()
        await new Promise((resolve) => setTimeout(resolve, 50))
      })
      expect(await codeOf(work)).toBe('ERR_DIRECTORY_UNREACHABLE')
      expect([found.length, secure.opened()]).toEqual([1, 1])
    } finally {
      await secure.stop()
    }
  },
)

// Forged responses to the bind account's sign-in. The second one lacks its last byte, so the first byte of the real
// response would complete it.
test.each(['300c02010361070a010004000400', '300d02010361080a010004000401'])(
  'directories: plain text that follows the response to StartTLS ends the connection: %s',
  async (injected) => {
    const secure = await startLdapServer(adEntries(), { mode: 'start-tls', certificate: pem('localhost') })
    try {
      secure.play.injected = Buffer.from(injected, 'hex')
      const urls = [`ldap://127.0.0.1:${secure.port}`]
      const ask = asking(
        [adDirectory(secure, { urls, ca: certificates.bytes('ca.pem').toString(), startTls: true })],
        500,
      )
      expect(await codeOf(ask.authenticate('anna', 'password of Anna Berg', null))).toBe('ERR_DIRECTORY_UNREACHABLE')
      expect(logged.join()).toContain('the server sent data before encryption started')
      expect(secure.asked.filter((one) => one.startsWith('bind'))).toEqual([])
    } finally {
      await secure.stop()
    }
  },
)

test('directories: if the server does not support StartTLS, nothing else is sent in plain text', async () => {
  const ask = asking([adDirectory(server, { startTls: true })])
  const asked = await askedDuring(async () => {
    expect(await codeOf(ask.authenticate('anna', 'password of Anna Berg', null))).toMatch(/^ERR_DIRECTORY_/)
  })
  expect(asked).toEqual(['extended 1.3.6.1.4.1.1466.20037'])
})

test('directories: the look-ups of many users share a connection, and stop when the directory is down', async () => {
  const ask = asking([adDirectory(server, { groups: [{ dn: SALES, permissions: ['Users'] }] })])
  const found: (string | null)[] = []
  const ids = [ANNA_GUID.text, '04030201-0605-0807-090a-0b0c0d0e0f10']
  const asked = await askedDuring(() =>
    ask.lookUpAll('corp', ids, async (_id, person) => void found.push(person?.username ?? null)),
  )
  expect(found).toEqual(['anna', null])
  expect(asked.filter((one) => one.startsWith('bind')).length).toBe(1)
  server.play.isSilent = true
  const slow = asking([adDirectory(server)], 100)
  expect(await codeOf(slow.lookUpAll('corp', ids, async () => void found.push('nobody')))).toBe(
    'ERR_DIRECTORY_UNREACHABLE',
  )
  expect(found.length).toBe(2)
})
