import { Attribute, Change, Client } from 'ldapts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signInToAdmin } from '../support/admin.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { createPasskeyDevice, passkeyOptionsIn } from '../support/passkey-device.ts'
import { GROUPS, PEOPLE, ROOT, SEARCHER, type Slapd, sharedSlapd } from '../support/slapd.ts'
import { addAuthenticatorSolution, addDefaultSolution, addUser, askAdmin, PASSWORD, visit } from '../support/users.ts'
import { waitUntil } from '../support/wait-until.ts'

let slapd: Slapd
let host: TestHost
let root: Client
beforeAll(async () => {
  slapd = await sharedSlapd()
  root = new Client({ url: slapd.ldaps, tlsOptions: { ca: slapd.ca } })
  await root.bind(ROOT.dn, ROOT.password)
  await addPerson('first')
  for (const name of ['sales', 'editors', 'north']) {
    await root.add(`cn=${name},${GROUPS}`, { objectClass: 'groupOfNames', cn: name, member: dnOf('first') })
  }
  host = await startTestHost({ DIRECTORY_CHECK: '1s', THROTTLE_ACCOUNT_NETWORK: '3' })
  await addDefaultSolution(host, 'crm', { permissions: ['Users', 'Editors'] })
  expect(await askAdmin(host, 'PUT', 'directories/main', settings())).toMatchObject({
    name: 'main',
    hasBindPassword: true,
  })
})
afterAll(async () => {
  await root?.unbind()
  await host?.stop()
})

const settings = () => ({
  urls: [slapd.ldaps],
  ca: slapd.ca,
  bindDn: SEARCHER.dn,
  bindPassword: SEARCHER.password,
  base: PEOPLE,
  filter: '(&(objectClass=inetOrgPerson)(uid={name}))',
  idAttribute: 'entryUUID',
  attributes: { username: 'uid', displayName: 'cn', email: 'mail' },
  groups: [
    { dn: `cn=sales,${GROUPS}`, permissions: ['Users'] },
    { dn: `cn=editors,${GROUPS}`, permissions: [{ name: 'Editors', solution: 'crm' }] },
  ],
})

const dnOf = (uid: string) => `uid=${uid},${PEOPLE}`
const passwordOf = (uid: string) => `the password of ${uid}`

async function addPerson(uid: string, ...groups: string[]): Promise<void> {
  await root.add(dnOf(uid), {
    objectClass: 'inetOrgPerson',
    uid,
    cn: `${uid} of Example`,
    sn: uid,
    mail: `${uid}@example.org`,
    userPassword: passwordOf(uid),
  })
  for (const group of groups) await changeGroup(group, 'add', uid)
}

function changeGroup(group: string, operation: 'add' | 'delete', uid: string): Promise<void> {
  const modification = new Attribute({ type: 'member', values: [dnOf(uid)] })
  return root.modify(`cn=${group},${GROUPS}`, new Change({ operation, modification }))
}

async function signedIn(uid: string, more: Record<string, string> = {}) {
  const browser = await visit(host, 'crm')
  const answer = await browser.signIn(uid, passwordOf(uid), more)
  expect([uid, answer.status]).toEqual([uid, 303])
  return browser
}

const send = (method: string, path: string, body?: unknown) =>
  ask(`${host.url}/admin/api/${path}`, {
    method,
    headers: { authorization: host.admin, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })

async function directoryNotes(): Promise<string[]> {
  const { items } = await askAdmin(host, 'GET', 'audit?limit=50&action=directory')
  return (items as { actor: string; target: string }[]).map(({ actor, target }) => `${actor} ${target}`)
}

test('directories: a person in the directory signs in, becomes a user, and has the permissions of their groups', async () => {
  await addPerson('anna', 'sales', 'editors')
  const browser = await signedIn('anna')
  const session = (await browser.session()).json() as { uid: string }
  expect(session).toMatchObject({ username: 'anna', permissions: ['Editors', 'Users'] })
  expect(await askAdmin(host, 'GET', `users/${session.uid}`)).toMatchObject({
    username: 'anna',
    displayName: 'anna of Example',
    email: 'anna@example.org',
    directory: 'main',
    permissions: ['Users', { name: 'Editors', solution: 'crm' }],
  })
  // The password is in the directory, so it can't be changed here.
  expect((await browser.get('/solution/crm/account')).text).toContain('Your password is stored in the directory')
  expect((await browser.get('/solution/crm/password')).status).toBe(404)
  expect((await (await visit(host, 'crm')).signIn('anna', 'wrong')).status).toBe(401)
  expect((await (await visit(host, 'crm')).signIn('anna', '')).status).toBe(401)
})

test('directories: a person without a mapped group gets the same response over StartTLS as for a wrong password', async () => {
  await askAdmin(host, 'PUT', 'directories/main', { ...settings(), urls: [slapd.ldap] })
  await addPerson('bram', 'north')
  const answer = await (await visit(host, 'crm')).signIn('bram', passwordOf('bram'))
  expect(answer.status).toBe(401)
  expect(answer.text).toContain('Sign-in failed. Check')
  expect(await directoryNotes()).toContain('user:bram directory:main (no mapped group)')
  await addPerson('bea', 'sales')
  await signedIn('bea')
  await askAdmin(host, 'PUT', 'directories/main', settings())
})

test('directories: names that are filters or wildcards sign nobody in', async () => {
  await addPerson('carl', 'sales')
  for (const name of ['*', 'car*', 'carl)(uid=*', '*)(|(uid=carl)', 'carl))(|(uid=*', '\\63arl', 'carl\u0000']) {
    const answer = await (await visit(host, 'crm')).signIn(name, passwordOf('carl'))
    expect([name, answer.status]).toEqual([name, 401])
  }
  await signedIn('carl')
})

test('directories: a local user with the same name signs in only with the local password', async () => {
  await addUser(host, 'dora')
  await addPerson('dora', 'sales')
  expect((await (await visit(host, 'crm')).signIn('dora', passwordOf('dora'))).status).toBe(401)
  expect((await (await visit(host, 'crm')).signIn('dora', PASSWORD)).status).toBe(303)
})

test('directories: someone else who gets the name of a known person is refused, and the audit log says so', async () => {
  await addPerson('eva', 'sales')
  await signedIn('eva')
  await changeGroup('sales', 'delete', 'eva')
  await root.del(dnOf('eva'))
  await addPerson('eva', 'sales')
  expect((await (await visit(host, 'crm')).signIn('eva', passwordOf('eva'))).status).toBe(401)
  expect(await directoryNotes()).toContain('user:eva directory:main (another entry)')
  // Once the operator has deleted the old user, the new person can sign in, with a different account.
  const { items } = await askAdmin(host, 'GET', 'users?search=eva')
  await askAdmin(host, 'DELETE', `users/${(items as { uid: string }[])[0]?.uid}`, undefined, 204)
  const browser = await signedIn('eva')
  expect((await browser.session()).json()).not.toMatchObject({ uid: (items as { uid: string }[])[0]?.uid })
})

test('directories: a person who is renamed in the directory stays the same user', async () => {
  await addPerson('fred', 'sales')
  const { uid } = (await (await signedIn('fred')).session()).json() as { uid: string }
  await changeGroup('sales', 'delete', 'fred')
  await root.modifyDN(dnOf('fred'), dnOf('frederik'))
  await changeGroup('sales', 'add', 'frederik')
  const browser = await visit(host, 'crm')
  expect((await browser.signIn('frederik', passwordOf('fred'))).status).toBe(303)
  expect((await browser.session()).json()).toMatchObject({ username: 'frederik', uid })
})

test('directories: the API refuses to change fields that the directory sets, and can disable the user', async () => {
  await addPerson('gina', 'sales')
  const browser = await signedIn('gina')
  const { uid } = (await browser.session()).json() as { uid: string }
  for (const change of [
    { password: 'nine green tractors' },
    { permissions: ['Editors'] },
    { email: 'x@example.org' },
  ]) {
    const answer = await send('PATCH', `users/${uid}`, change)
    expect([answer.status, answer.text]).toEqual([422, expect.stringContaining('here: edit the user in the directory')])
  }
  const link = await send('POST', `users/${uid}/links`, { kind: 'password', solution: 'crm' })
  expect([link.status, link.text]).toEqual([422, expect.stringContaining('is in the directory')])
  // The user's page has no forms for values that can't be changed here.
  const admin = await signInToAdmin(host)
  const page = await admin.get(`/admin/users/${uid}`)
  expect(page.text).toContain('manages this user. Change their name')
  expect(page.text).not.toMatch(/name="(?:username|permissions|password)"/)
  // The password is in the directory, so the page doesn't say that the user has none and can't sign in.
  expect(page.text).not.toContain('Password set')
  expect((await admin.get('/admin/users?search=gina')).text).toContain('from the directory main')
  const csv = await ask(`${host.url}/admin/api/users.csv`, {
    method: 'POST',
    headers: { authorization: host.admin, 'content-type': 'text/csv' },
    body: 'username,permissions\r\ngina,Editors\r\n',
  })
  expect([csv.status, csv.text]).toEqual([422, expect.stringContaining('cannot change permissions here')])
  await askAdmin(host, 'PATCH', `users/${uid}`, { enabled: false, displayName: 'gina of Example' })
  expect((await browser.session()).status).toBe(401)
  expect((await (await visit(host, 'crm')).signIn('gina', passwordOf('gina'))).status).toBe(401)
})

test('directories: an authenticator script with the users grant can sign in users from a directory, too', async () => {
  await addPerson('hans', 'sales')
  const script = `async function onSolutionOpen(arg, { username, password }) {
    const user = await security.authenticate(username, password)
    if (user) security.login(username, user.uid, user.permissions)
  }`
  await addAuthenticatorSolution(host, 'portal', script, { permissions: ['Users'] })
  await askAdmin(host, 'PUT', 'solutions/portal/grants', { databases: {}, http: [], users: true })
  expect((await (await visit(host, 'portal')).signIn('hans', 'wrong')).status).toBe(401)
  const browser = await visit(host, 'portal')
  expect((await browser.signIn('hans', passwordOf('hans'))).status).toBe(303)
  expect((await browser.session()).json()).toMatchObject({ username: 'hans', permissions: ['Users'] })
})

test('directories: a remembered browser is signed in again only while the directory still accepts its user', async () => {
  await addPerson('ines', 'sales', 'editors')
  const browser = await signedIn('ines', { remember: 'on' })
  browser.close()
  await browser.open()
  expect((await browser.session()).json()).toMatchObject({ username: 'ines', permissions: ['Editors', 'Users'] })
  await changeGroup('sales', 'delete', 'ines')
  await changeGroup('editors', 'delete', 'ines')
  browser.close()
  expect((await browser.open()).text).toContain('name="password"')
  expect((await browser.session()).status).toBe(401)
})

test('directories: a person with a passkey can sign in only while the directory still accepts them', async () => {
  const localhost = `localhost:${new URL(host.url).port}`
  async function withPasskey(uid: string) {
    await addPerson(uid, 'sales')
    const browser = await visit(host, 'crm', { host: localhost })
    expect((await browser.signIn(uid, passwordOf(uid))).status).toBe(303)
    await browser.get('/solution/crm/account')
    const page = await browser.post('/solution/crm/account', { act: 'new-passkey' })
    const device = createPasskeyDevice(`http://${localhost}`)
    const passkey = device.create(passkeyOptionsIn(page.text) ?? expect.fail('the page offers no passkey'))
    expect((await browser.post('/solution/crm/account', { act: 'add-passkey', passkey })).status).toBe(200)
    return async () => {
      const other = await visit(host, 'crm', { host: localhost })
      const options = passkeyOptionsIn((await other.open()).text) ?? expect.fail('the page offers no passkey')
      const answer = await other.post(other.page, { passkey: device.get(options) })
      return { status: answer.status, session: (await other.session()).status }
    }
  }
  const [pia, piet] = [await withPasskey('pia'), await withPasskey('piet')]
  expect([await pia(), await piet()]).toEqual(Array(2).fill({ status: 303, session: 200 }))
  await changeGroup('sales', 'delete', 'pia')
  await root.del(dnOf('piet'))
  expect([await pia(), await piet()]).toEqual(Array(2).fill({ status: 401, session: 401 }))
  // This entry is recorded although other users were refused for the same reason within the last minute.
  expect(await directoryNotes()).toContain('user:pia directory:main (no mapped group)')
  await changeGroup('sales', 'add', 'pia')
  expect(await pia()).toEqual({ status: 303, session: 200 })
  await slapd.kill()
  expect(await pia()).toEqual({ status: 503, session: 401 })
  await slapd.restart()
  await root.bind(ROOT.dn, ROOT.password)
})

test('directories: users whose group or entry is gone are signed out, and those whose directory is down are not', async () => {
  await addPerson('jo', 'sales', 'editors')
  await addPerson('kim', 'sales')
  await addPerson('lea', 'sales')
  const [jo, kim, lea] = [await signedIn('jo'), await signedIn('kim'), await signedIn('lea')]
  await changeGroup('editors', 'delete', 'jo')
  await root.del(dnOf('kim'))
  await waitUntil(async () => expect((await jo.session()).status).toBe(401))
  await waitUntil(async () => expect((await kim.session()).status).toBe(401))
  expect((await lea.session()).status).toBe(200)
  // A user who has lost permissions can sign in again.
  expect((await (await signedIn('jo')).session()).json()).toMatchObject({ permissions: ['Users'] })

  await slapd.kill()
  // The host keeps checking the directory. While the directory is down, the session continues.
  await waitUntil(() => expect(host.logged()).toContain('The directory \\"main\\"'))
  expect((await lea.session()).status).toBe(200)
  await slapd.restart()
  await root.bind(ROOT.dn, ROOT.password)
  await changeGroup('sales', 'delete', 'lea')
  await waitUntil(async () => expect((await lea.session()).status).toBe(401))
})

test('directories: while the directory is down, its users get 503, which doesn’t count as an attempt; local users sign in', async () => {
  await addPerson('max', 'sales')
  await addUser(host, 'nora')
  const remembered = await signedIn('max', { remember: 'on' })
  remembered.close()
  await slapd.kill()
  const languages = {
    en: 'directory can’t be reached',
    nl: 'directory van uw organisatie is op dit moment niet bereikbaar',
    de: 'Verzeichnis Ihrer Organisation ist gerade nicht erreichbar',
    fr: 'annuaire de votre organisation est injoignable',
    es: 'no se puede acceder al directorio',
  }
  for (const [language, text] of Object.entries(languages)) {
    const browser = await visit(host, 'crm', { 'accept-language': language })
    const answer = await browser.signIn('max', passwordOf('max'))
    expect([language, answer.status, answer.headers['retry-after']]).toEqual([language, 503, '5'])
    expect(answer.text).toContain(text)
  }
  expect((await (await visit(host, 'crm')).signIn('unknown', 'x')).status).toBe(503)
  expect((await (await visit(host, 'crm')).signIn('nora')).status).toBe(303)
  const page = await remembered.open()
  expect([page.status, page.text]).toEqual([503, expect.stringContaining('directory can’t be reached')])
  await slapd.restart()
  await remembered.open()
  expect((await remembered.session()).json()).toMatchObject({ username: 'max' })
  // The five attempts with status 503 don't count towards THROTTLE_ACCOUNT_NETWORK, which is 3.
  await signedIn('max')
})

test('directories: after the directory is deleted, its users are signed out and can’t sign in', async () => {
  await root.bind(ROOT.dn, ROOT.password)
  await addPerson('otto', 'sales')
  const browser = await signedIn('otto')
  await askAdmin(host, 'DELETE', 'directories/main', undefined, 204)
  expect((await browser.session()).status).toBe(401)
  expect((await (await visit(host, 'crm')).signIn('otto', passwordOf('otto'))).status).toBe(401)
  expect((await askAdmin(host, 'GET', 'users?search=otto')).items).toMatchObject([{ directory: 'main' }])
  // If the same directory is added again under the same name, its users belong to it again.
  await askAdmin(host, 'PUT', 'directories/main', settings())
  await signedIn('otto')
})

test('directories: neither the log nor the audit log contains a password', async () => {
  const all = JSON.stringify(await askAdmin(host, 'GET', 'audit?limit=1000')) + host.logged()
  for (const secret of ['the password of', SEARCHER.password, 'searcher’s secret']) expect(all).not.toContain(secret)
})
